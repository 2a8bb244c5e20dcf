"""Bringing a database to the schema of this program: numbered `.sql` files, each applied once.

A file that was released is never edited again. Work on data (re-embedding) is a job, not a migration.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

import apsw

from recalld.errors import DamagedError, StoreError
from recalld.store.connection import transaction


class NewerDatabaseError(StoreError):
    """The database was written by a newer recalld; this one must not touch it."""


@cache
def scripts() -> tuple[str, ...]:
    """The DDL of each version, in order: the first takes an empty file to version 1."""
    folder = resources.files("recalld.store") / "migrations"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return tuple(file.read_text(encoding="utf-8") for file in files)


def migrate(db: apsw.Connection, backups: Path) -> int:
    """Apply what is missing and return the schema's version. Safe when many processes start at once.

    A database that already holds something is copied into `backups` first.
    Raises NewerDatabaseError, StoreError.
    """
    known = len(scripts())
    if (version := _version(db)) == known:
        return known
    if version > known:
        raise NewerDatabaseError(
            f"{db.filename}: written by a newer recalld (schema {version}, this program knows {known}); "
            "upgrade recalld, or restore a backup of that time"
        )
    if version > 0:
        backup(db, backups / f"before-schema-{known}-from-{version}.db")
    with transaction(db, durable=True):
        for number, script in enumerate(scripts()[_version(db) :], _version(db) + 1):
            db.execute(script)
            db.pragma("user_version", number)
    return known


def backup(db: apsw.Connection, target: Path) -> None:
    """A consistent copy of the database in `target`, made while others go on working; replaces an older one.

    Raises DamagedError where the copy is not sound, and leaves the older one.
    """
    unfinished = target.with_name(target.name + ".part")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    copy = apsw.Connection(str(unfinished))
    try:
        with copy.backup("main", db, "main") as work:
            work.step()
        copy.pragma("journal_mode", "delete")
        said = copy.execute("pragma quick_check(1)").get
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    finally:
        copy.close()
    if said != "ok":
        unfinished.unlink()
        raise DamagedError(f"{db.filename}: the database is damaged ({said}); `recalld doctor --fix` mends it")
    unfinished.replace(target)


def _version(db: apsw.Connection) -> int:
    return int(db.pragma("user_version"))
