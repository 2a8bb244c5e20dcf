"""Bringing a database to the schema of this program: numbered `.sql` files, each applied once.

A file that was released is never edited again. Work on data (re-embedding) is a job, not a migration.
"""

from __future__ import annotations

import contextlib
import logging
from functools import cache
from importlib import resources
from pathlib import Path

import apsw

from recalld.errors import StoreError
from recalld.store import meta, shape
from recalld.store.connection import BUSY_TIMEOUT_MS, open_reader, transaction
from recalld.store.copying import backup

log = logging.getLogger(__name__)

MIGRATION_MS = 60_000
"""How long one waits for another process to copy the database and bring it up to date."""


class NewerDatabaseError(StoreError):
    """The database was written by a newer recalld; this one must not touch it."""


class MigrationError(StoreError):
    """A script of ours fails on this database, so trying again cannot help; nothing of it was changed."""


@cache
def scripts() -> tuple[str, ...]:
    """The DDL of each version, in order: the first takes an empty file to version 1."""
    folder = resources.files("recalld.store") / "migrations"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return tuple(file.read_text(encoding="utf-8") for file in files)


def migrate(db: apsw.Connection, backups: Path) -> int:
    """Apply what is missing and return the schema's version. Safe when many processes start at once.

    A database that already holds something is copied into `backups` first. One whose schema is not what its version
    promises (a script applied in part, a dump, a column removed by hand) is completed, and its owner told.
    Raises NewerDatabaseError, MigrationError, DamagedError, StoreError.
    """
    known = len(scripts())
    if _complete(db):
        return known
    db.set_busy_timeout(MIGRATION_MS)
    db.pragma("foreign_keys", False)  # else a table that goes takes others' rows along
    try:
        with transaction(db, durable=True):
            if _complete(db):  # who was quicker has done it all
                return known
            version = _version(db)
            copy = backups / f"before-schema-{known}-from-{version}.db"
            if db.execute("select exists (select 1 from sqlite_schema)").get:
                # On a connection of its own: SQLite copies nothing out of one that writes.
                with contextlib.closing(open_reader(Path(db.filename))) as before:
                    backup(before, copy)
            try:
                _apply(db, version)
                if lacking := shape.missing(db, scripts()):
                    shape.complete(db, scripts())
                    meta.put(db, meta.RESCUED, _told(lacking, copy))
            except apsw.SQLError as error:
                raise MigrationError(
                    f"{db.filename}: cannot be brought from schema {version} to {known} ({error}) and is as it was; "
                    f"go back to the recalld of before; a copy is {copy}"
                ) from error
            db.pragma("user_version", known)
    finally:
        db.pragma("foreign_keys", True)
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
    return known


def _complete(db: apsw.Connection) -> bool:
    """Whether the schema is this program's. Raises NewerDatabaseError."""
    return _version(db) == len(scripts()) and not shape.missing(db, scripts())


def _apply(db: apsw.Connection, version: int) -> None:
    """Run the scripts behind `version`; one that was applied in part already leaves it at that."""
    try:
        with db:
            for script in scripts()[version:]:
                db.execute(script)
    except apsw.SQLError as error:
        log.info("the schema is not that of version %d: %s", version, error)


def _told(lacking: list[str], copy: Path) -> str:
    what = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
    return f"the database lacked parts of its schema ({what}), which were added; {copy.name} is a copy from before"


def _version(db: apsw.Connection) -> int:
    """The schema that the database has. Raises NewerDatabaseError."""
    version, known = int(db.pragma("user_version")), len(scripts())
    if version > known:
        raise NewerDatabaseError(
            f"{db.filename}: written by a newer recalld (schema {version}, this program knows {known}); "
            "upgrade recalld, or restore a backup of that time"
        )
    return version
