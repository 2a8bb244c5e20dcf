"""What was put into which session, what was considered, and what of it proved useful. Looking at it: store/receipts.py."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw
import msgspec

from recalld.model import Turn, timestamp

LEAST_USEFUL = -3
"""So far feedback lowers: later uses must make up for it before the memory counts as used at all."""


class Considered(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was weighed for an injection.

    given: whether it was put in. reason: why, or why not, in a word or two. used: whether the answer used it, None
    where that is not known.
    """

    memory: str
    score: float
    similarity: float
    given: bool
    reason: str
    used: bool | None = None


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """One injection. `event` is Claude Code's name of the hook; `ms` what the daemon needed."""

    injection_id: int = 0
    session_id: str
    project_id: int | None
    prompt_id: str | None
    event: str
    query: str
    at: str
    tokens: int
    ms: float
    items: tuple[Considered, ...]


def record(db: apsw.Connection, receipt: Receipt) -> None:
    """Store a receipt, and count what it gave."""
    db.execute(
        """insert into injections (session_id, project_id, prompt_id, event, query, at, tokens, ms)
           values (?, ?, ?, ?, ?, ?, ?, ?)""",
        (receipt.session_id, receipt.project_id, receipt.prompt_id, receipt.event, receipt.query, receipt.at,
         receipt.tokens, receipt.ms),
    )  # fmt: skip
    injection = db.last_insert_rowid()
    db.executemany(
        """insert into injection_items (injection_id, rank, memory, score, similarity, given, reason)
           values (?, ?, ?, ?, ?, ?, ?)""",
        (
            (injection, rank, item.memory, item.score, item.similarity, int(item.given), item.reason)
            for rank, item in enumerate(receipt.items, 1)
        ),
    )
    db.executemany(
        "update memories set hit_count = hit_count + 1, last_used = ? where id = ?",
        ((receipt.at, item.memory) for item in receipt.items if item.given),
    )


def given(db: apsw.Connection, session_id: str) -> set[str]:
    """The ids that this session still has in its context: given since its last compaction."""
    rows = db.execute(
        """select distinct i.memory from injection_items i join injections j using (injection_id)
           join sessions s using (session_id)
           where j.session_id = ? and i.given = 1 and j.at >= coalesce(s.compacted_at, '')""",
        (session_id,),
    )
    return {row[0] for row in rows}


def tokens_given(db: apsw.Connection, session_id: str) -> int:
    """The tokens put into this session since its last compaction."""
    total: int = db.execute(
        """select coalesce(sum(j.tokens), 0) from injections j join sessions s using (session_id)
           where j.session_id = ? and j.at >= coalesce(s.compacted_at, '')""",
        (session_id,),
    ).get
    return total


def contents(db: apsw.Connection, session_id: str) -> list[str]:
    """The texts of all memories that this session was ever given, as they are now; long ones first."""
    rows = db.execute(
        """select distinct m.content from injection_items i join injections j using (injection_id)
           join memories m on m.id = i.memory
           where j.session_id = ? and i.given = 1 and m.content <> '' order by length(m.content) desc""",
        (session_id,),
    )
    return [row[0] for row in rows]


class Given(msgspec.Struct, frozen=True):
    """A memory that a session was given, as it is now."""

    injection_id: int
    memory: str
    content: str


def unused(db: apsw.Connection, turn: Turn) -> list[Given]:
    """What was in the session's context when this turn ended, and was not used by an earlier answer."""
    rows: Sequence[tuple[Any, ...]] = db.execute(
        """select i.injection_id, i.memory, m.content from injection_items i join injections j using (injection_id)
           join sessions s using (session_id) join memories m on m.id = i.memory
           where j.session_id = ?1 and i.given = 1 and i.used is not 1 and m.content <> ''
             and (j.prompt_id = ?2 or j.at < coalesce(?4, ?3))
             and (s.compacted_at is null or s.compacted_at > ?3 or j.at >= s.compacted_at)""",
        (turn.session_id, turn.prompt_id, turn.started_at, turn.ended_at),
    ).fetchall()
    return [Given(*row) for row in rows]


def judged(db: apsw.Connection, given: Sequence[Given], used: Sequence[bool]) -> None:
    """Record whether an answer used what was given; each memory's use counts once an injection."""
    for item, was_used in zip(given, used, strict=True):
        db.execute(
            "update injection_items set used = ? where injection_id = ? and memory = ? and given = 1",
            (int(was_used), item.injection_id, item.memory),
        )
        if was_used:
            count_use(db, item.memory, 1)


def count_use(db: apsw.Connection, memory_id: str, by: int) -> None:
    """Count a real use of a memory, or (-1) that it was useless; never below LEAST_USEFUL."""
    db.execute(
        "update memories set useful_count = max(?, useful_count + ?) where id = ?", (LEAST_USEFUL, by, memory_id)
    )


def latest_with(db: apsw.Connection, memory_id: str, project_ids: Sequence[int] | None, *, given: bool) -> int | None:
    """The newest injection that gave this memory; or, not `given`, that into a prompt of these projects that did not."""
    if given:
        row = db.execute(
            "select max(injection_id) from injection_items where memory = ? and given = 1", (memory_id,)
        ).fetchone()
    else:
        row = db.execute(
            """select max(injection_id) from injections j
               where event = 'UserPromptSubmit' and (? is null or project_id in (select value from json_each(?)))
               and not exists (select 1 from injection_items i
                               where i.injection_id = j.injection_id and memory = ? and given = 1)""",
            (None if project_ids is None else "", json.dumps(project_ids or []), memory_id),
        ).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def judge(db: apsw.Connection, memory_id: str, verdict: str, injection_id: int | None, now: datetime) -> None:
    """Record what a person says of a memory: `useful`, `useless`, or `missed` where it should have been given."""
    db.execute(
        "insert into feedback (memory, verdict, injection_id, at) values (?, ?, ?, ?)",
        (memory_id, verdict, injection_id, timestamp(now)),
    )
    if by := {"useful": 1, "useless": -1}.get(verdict):
        count_use(db, memory_id, by)


def learnt_since_last(db: apsw.Connection, project_id: int | None, now: datetime) -> int:
    """How many memories were learnt from the project's last session before this moment."""
    total: int = db.execute(
        """select count(*) from memories m where m.status = 'active' and m.source_session = (
               select session_id from sessions where project_id is ? and last_event_at < ?
               order by last_event_at desc limit 1)""",
        (project_id, timestamp(now)),
    ).get
    return total
