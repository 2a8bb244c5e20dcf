"""The shape of a database: whether all is there that its version promises, and making what is not.

Migrations are whole transactions, so nothing of ours leaves half of one. But a database may come out of a dump, which
forgets the version, from a tool that applied a script line by line, or from its owner's hands.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import apsw

from recalld.errors import DamagedError

_ASIDE = "{}_before"


class _Part(NamedTuple):
    """A table, index or trigger. columns: of a table."""

    type: str
    name: str
    sql: str
    columns: tuple[str, ...]


def missing(db: apsw.Connection, scripts: tuple[str, ...]) -> list[str]:
    """What a database made by these scripts has and `db` has not: names of tables, `table.column`s, indexes, triggers."""
    wanted = _parts_of(scripts)
    there = _there(db, wanted)
    return [
        lacking
        for part in wanted
        for lacking in (_lacking(db, part) if (part.type, part.name) in there else [part.name])
    ]


def complete(db: apsw.Connection, scripts: tuple[str, ...]) -> None:
    """Make what is missing; each row keeps what it has. Within a transaction, with foreign keys off.

    Raises DamagedError where that cannot be done.
    """
    wanted = _parts_of(scripts)
    try:
        there = _there(db, wanted)
        for part in wanted:
            if (part.type, part.name) not in there:
                if part.type == "table":
                    db.execute(part.sql)
            elif _lacking(db, part):
                _made_anew(db, part)
        there = _there(db, wanted)  # what belonged to a table made anew went with the old one
        for part in wanted:
            if (part.type, part.name) not in there:
                db.execute(part.sql)
    except (apsw.SQLError, apsw.ConstraintError) as error:
        raise DamagedError(f"{db.filename}: its schema is not whole and cannot be completed ({error})") from error


def _made_anew(db: apsw.Connection, table: _Part) -> None:
    """The table as it should be, with the rows of the one that lacks columns."""
    aside = _ASIDE.format(table.name)
    common = ", ".join(f'"{name}"' for name in table.columns if name in _columns(db, table.name))
    db.pragma("legacy_alter_table", True)  # else what refers to the table would follow it aside
    db.execute(f"alter table {table.name} rename to {aside}")
    db.pragma("legacy_alter_table", False)
    db.execute(table.sql)
    db.execute(f"insert into {table.name} ({common}) select {common} from {aside}")
    db.execute(f"drop table {aside}")


@cache
def _parts_of(scripts: tuple[str, ...]) -> tuple[_Part, ...]:
    """What the scripts make of an empty database, in their order."""
    db = apsw.Connection(":memory:")
    try:
        for script in scripts:
            db.execute(script)
        rows = db.execute("select type, name, sql from sqlite_schema where sql is not null order by rowid").fetchall()
        return tuple(
            _Part(str(kind), str(name), str(sql), _columns(db, str(name)) if kind == "table" else ())
            for kind, name, sql in rows
        )
    finally:
        db.close()


def _there(db: apsw.Connection, wanted: Sequence[_Part]) -> set[tuple[str, str]]:
    """Those of the parts, by type and name, that `db` has."""
    names = json.dumps([part.name for part in wanted])
    rows = db.execute("select type, name from sqlite_schema where name in (select value from json_each(?))", (names,))
    return {(str(kind), str(name)) for kind, name in rows}


def _lacking(db: apsw.Connection, part: _Part) -> list[str]:
    """The columns that a table should have and has not."""
    there = _columns(db, part.name) if part.columns else ()
    return [f"{part.name}.{column}" for column in part.columns if column not in there]


def _columns(db: apsw.Connection, table: str) -> tuple[str, ...]:
    return tuple(str(row[0]) for row in db.execute("select name from pragma_table_info(?)", (table,)))
