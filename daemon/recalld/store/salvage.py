"""A damaged database's own rows in a new one, where each table that matters is whole."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import apsw

from recalld.errors import StoreError
from recalld.store import changes, key, search
from recalld.store.connection import ABLE, open_writer, transaction, translated
from recalld.store.migrate import migrate, scripts

_SPARE = ("history", "injections", "injection_items", "usage", "feedback")
"""What was, not what is: better these are lost than all since the last backup."""


def salvaged(database: Path, damaged: Path, part: Path) -> bool:
    """Put the rows of a damaged database into a new one, `part`; False unless each table that matters is whole.

    database: the one whose key both have. Search indexes are the larger part of the file and can be made anew, so this
    often loses nothing.
    """
    db = open_writer(part)
    try:
        migrate(db, part.parent)
        with translated(database):
            if not _attached(db, database, damaged):
                return False
            tables = [name for (name,) in db.execute("select name from main.sqlite_schema where type = 'table'")]
            whole = [table for table in tables if _whole(db, table)]
            if not set(tables) <= {*whole, *_SPARE}:
                return False
            _take_over(db, whole)
    except StoreError:
        return False
    finally:
        db.close()
    return True


def _attached(db: apsw.Connection, database: Path, damaged: Path) -> bool:
    """Have the damaged database beside the new one, as `damaged`, to be read; whether its tables are this program's."""
    secret = key.of(damaged, database, able=ABLE)
    place = f"file:{quote(str(damaged))}?mode=ro"
    db.execute("attach ? as damaged key ?", (place, f"raw:{secret}" if secret else ""))
    return int(db.execute("pragma damaged.user_version").get) == len(scripts())


def _whole(db: apsw.Connection, table: str) -> bool:
    """Whether all rows can be read; its indexes need not be whole."""
    roots = {root for (root,) in db.execute("select rootpage from damaged.sqlite_schema where type = 'index'")}
    try:
        said = [str(row[0]) for row in db.execute(f"pragma damaged.quick_check('{table}')")]
    except apsw.CorruptError:
        return False
    for line in "\n".join(said).splitlines():
        tree = re.match(r"(?:Tree|Page) (\d+)\b", line)
        of_index = int(tree[1]) in roots if tree else " index " in line
        if line != "ok" and not line.startswith("***") and not of_index:
            return False
    return True


def _take_over(db: apsw.Connection, tables: list[str]) -> None:
    db.pragma("foreign_keys", False)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    with transaction(db, durable=True):
        for table in tables:
            db.execute(f"delete from main.{table}")
            # With a condition SQLite copies row by row; without one it copies the indexes as well, as they are.
            db.execute(f"insert into main.{table} select * from damaged.{table} not indexed where true")
        db.execute("delete from main.vectors")  # the worker gives new ones
    db.execute("detach damaged")  # its indexes have the names of ours
    with transaction(db, durable=True):
        for scope, project_id in db.execute("select distinct scope, project_id from memories").fetchall():
            changes.reindex(db, search.partition(str(scope), project_id))  # type: ignore[arg-type]
