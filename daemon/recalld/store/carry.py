"""What can still be read of a damaged database, carried into the backup that takes its place.

Rows are known by what names them everywhere (a memory's id, a prompt's id), so that carrying twice changes nothing. The
damaged database is the later one: what it says holds, and what was deleted in it stays deleted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from recalld.model import timestamp
from recalld.store import changes, jobs, memories, meta
from recalld.store.remains import Remains, Row

_HANGING = {
    "memory_sources": ("memory",), "questions": ("memory",), "tombstones": ("memory",),
    "related": ("a", "b"), "conflicts": ("older", "newer"),
}  # fmt: skip
_KEPT = ("secret", meta.PAUSED, meta.PAUSES)
"""Of `meta`: the key of the tombstones, and when nothing was to be learnt."""


def carry(db: apsw.Connection, found: Sequence[Remains], deleted: set[str], now: datetime) -> tuple[int, int]:
    """Take over from `found`, in a transaction, what `db` does not have or has older; deletions win.

    deleted: memories that are known to be deleted since, unless they can be read. Returns how many memories and turns
    that were. To be followed by what jobs they left.
    """
    for one in found:
        _take_settings(db, one)
    told: set[str] = set()
    alive: set[str] = set()
    carried: set[str] = set()
    for one in found:
        projects = _projects(db, one, now)
        told |= _memories(db, one, projects, alive, now)
        carried |= _turns(db, one, projects, now)
    for memory_id in deleted - alive:
        if db.execute("select status <> 'deleted' from memories where id = ?", (memory_id,)).get:
            memories.erase(db, memory_id, now)
    changes.follow(db, None, "recalld", None, now)
    whole = any("memories" not in one.missed for one in found)
    for one in found:
        _jobs(db, one, whole=whole)
    if found and all("jobs" in one.missed for one in found):
        for prompt_id in carried:
            if db.execute("select state <> 'open' from turns where prompt_id = ?", (prompt_id,)).get:
                jobs.enqueue(db, "extract", prompt_id, now)
    return len(told), len(carried)


def _take_settings(db: apsw.Connection, one: Remains) -> None:
    for name in _KEPT:
        for row in one.of("meta", "key", name):
            if name != "secret" or meta.get(db, name) is None:
                meta.put(db, name, row["value"])
    if "meta" not in one.missed and not one.of("meta", "key", meta.PAUSED):
        meta.remove(db, meta.PAUSED)


def _projects(db: apsw.Connection, one: Remains, now: datetime) -> dict[int, int]:
    """The projects that can be read, by their number there: the number here."""
    numbers: dict[int, int] = {}
    for row in one.rows("projects", _last(db, "projects")):
        identities = one.of("project_identities", "project_id", row["project_id"])
        mine = _mine(db, "projects", "project_id", row["project_id"])
        if mine and mine["created_at"] == row["created_at"]:
            number = row["project_id"]
        else:
            number = _known_by(db, identities) or _put(db, "projects", row, "project_id")
        if number is None:
            continue
        numbers[row["project_id"]] = number
        for place in (*identities, *one.of("project_places", "project_id", row["project_id"])):
            table = "project_identities" if "identity" in place else "project_places"
            _put(db, table, place | {"project_id": number})
    return numbers


def _known_by(db: apsw.Connection, identities: Sequence[Row]) -> int | None:
    for identity in identities:
        if mine := _mine(db, "project_identities", "identity", identity["identity"]):
            return int(mine["project_id"])
    return None


def _number(db: apsw.Connection, numbers: dict[int, int], project_id: int | None, now: datetime) -> int | None:
    """A project's number here; one that cannot be read is made, without what it is known by."""
    if project_id is not None and project_id not in numbers:
        at = timestamp(now)
        db.execute("insert or ignore into projects values (?, 'rescued', ?, ?)", (project_id, at, at))
        numbers[project_id] = project_id
    return None if project_id is None else numbers[project_id]


def _memories(db: apsw.Connection, one: Remains, numbers: dict[int, int], alive: set[str], now: datetime) -> set[str]:
    """The ids of those taken over; those that are in the damaged one and not deleted go into `alive`."""
    taken: set[str] = set()
    for read in one.rows("memories", _last(db, "memories")):
        row = read | {"project_id": _number(db, numbers, read["project_id"], now)}
        if row["status"] != "deleted":
            alive.add(row["id"])
        if _take(db, row, now):
            taken.add(row["id"])
    for memory_id in taken:
        for table, columns in _HANGING.items():
            for column in columns:
                for row in one.of(table, column, memory_id):
                    _put(db, table, row, "conflict_id" if table == "conflicts" else "")
    return taken


def _take(db: apsw.Connection, row: Row, now: datetime) -> bool:
    """Have one memory as the damaged database has it; whether that changed anything."""
    mine = _mine(db, "memories", "id", row["id"])
    if mine is None:
        return _put(db, "memories", row, "seq") is not None
    if mine["status"] == "deleted" or row["version"] < mine["version"] or not _differ(row, mine, "seq"):
        return False
    if row["status"] == "deleted":
        memories.erase(db, row["id"], now)
    else:
        _update(db, "memories", row, "seq", mine["seq"])
    return True


def _turns(db: apsw.Connection, one: Remains, numbers: dict[int, int], now: datetime) -> set[str]:
    """The prompt ids of the turns that were not there yet, or not to their end."""
    taken: set[str] = set()
    for read in one.rows("turns", _last(db, "turns")):
        row = read | {"project_id": _number(db, numbers, read["project_id"], now)}
        mine = _mine(db, "turns", "prompt_id", row["prompt_id"])
        if mine is None:
            _session(db, one, row, numbers, now)
            if _put(db, "turns", row, "turn_id") is not None:
                taken.add(row["prompt_id"])
        elif _differ(row, mine, "turn_id"):
            _update(db, "turns", row | {"session_id": mine["session_id"]}, "turn_id", mine["turn_id"])
            taken.add(row["prompt_id"])
    return taken


def _session(db: apsw.Connection, one: Remains, turn: Row, numbers: dict[int, int], now: datetime) -> None:
    """Have a turn's session; of one that cannot be read only what the turn says is known."""
    if _mine(db, "sessions", "session_id", turn["session_id"]):
        return
    for row in one.of("sessions", "session_id", turn["session_id"]):
        if _put(db, "sessions", row | {"project_id": _number(db, numbers, row["project_id"], now)}) is not None:
            return
    told = {"session_id": turn["session_id"], "project_id": turn["project_id"], "cwd": ""}
    _put(db, "sessions", told | {"started_at": turn["started_at"], "last_event_at": timestamp(now)})


def _jobs(db: apsw.Connection, one: Remains, *, whole: bool) -> None:
    """What is to be done. whole: all memories were read; if not, what was learnt since the backup is learnt again."""
    for read in one.rows("jobs", _last(db, "jobs")):
        row = read | ({"state": "ready", "owner": None} if read["state"] == "running" else {})
        if row["kind"] == "extract" and not _mine(db, "turns", "prompt_id", row["key"]):
            continue
        mine = db.execute("select job_id, state from jobs where kind = ? and key = ?", (row["kind"], row["key"])).get
        if row["state"] == "done" and not whole:
            row |= {"state": "ready", "attempts": 0, "payload": "{}", "finished_at": None}
            if mine is not None:
                continue
        if mine is None:
            _put(db, "jobs", row, "job_id")
        else:
            _update(db, "jobs", row, "job_id", mine[0])


def _last(db: apsw.Connection, table: str) -> int:
    return int(db.execute(f"select max(rowid) from {table}").get or 0)


def _mine(db: apsw.Connection, table: str, column: str, value: Any) -> Row | None:
    found = db.execute(f"select * from {table} where {column} = ?", (value,))
    for row in found:
        return dict(zip((column[0] for column in found.get_description()), row, strict=True))
    return None


def _differ(one: Row, other: Row, number: str) -> bool:
    return any(value != other[name] for name, value in one.items() if name != number)


def _put(db: apsw.Connection, table: str, row: Row, number: str = "") -> int | None:
    """Insert a row, under its own number if that is free; None where it is there or is not what the table takes."""
    if number and _mine(db, table, number, row[number]):
        row = row | {number: None}
    names = ", ".join(f'"{name}"' for name in row)
    with contextlib.suppress(apsw.ConstraintError, apsw.MismatchError):
        db.execute(f"insert into {table} ({names}) values ({', '.join('?' * len(row))})", tuple(row.values()))
        return db.last_insert_rowid()
    return None


def _update(db: apsw.Connection, table: str, row: Row, number: str, value: int) -> None:
    """Make a row what the damaged database says, but for its number."""
    changed = {name: held for name, held in row.items() if name != number}
    assignments = ", ".join(f'"{name}" = ?' for name in changed)
    with contextlib.suppress(apsw.ConstraintError, apsw.MismatchError):
        db.execute(f"update {table} set {assignments} where {number} = ?", (*changed.values(), value))
