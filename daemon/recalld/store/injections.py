"""Receipts: what was put into which session, what was considered, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import apsw
import msgspec

from recalld.model import timestamp


class Considered(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was weighed for an injection.

    given: whether it was put in. reason: why, or why not, in a word or two.
    """

    memory: str
    score: float
    similarity: float
    given: bool
    reason: str


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
    for rank, item in enumerate(receipt.items, 1):
        db.execute(
            """insert into injection_items (injection_id, rank, memory, score, similarity, given, reason)
               values (?, ?, ?, ?, ?, ?, ?)""",
            (injection, rank, item.memory, item.score, item.similarity, int(item.given), item.reason),
        )
        if item.given:
            db.execute(
                "update memories set hit_count = hit_count + 1, last_used = ? where id = ?", (receipt.at, item.memory)
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


def latest(db: apsw.Connection, session_prefix: str | None, project_ids: Sequence[int] | None) -> Receipt | None:
    """The newest receipt of the session whose id starts so, else of these projects, else of all."""
    condition, values = "true", []
    if session_prefix:
        condition, values = "substr(session_id, 1, ?) = ?", [len(session_prefix), session_prefix]
    elif project_ids:
        condition, values = f"project_id in ({','.join('?' * len(project_ids))})", list(project_ids)
    row = db.execute(
        f"""select injection_id, session_id, project_id, prompt_id, event, query, at, tokens, ms
            from injections where {condition} order by injection_id desc limit 1""",
        values,
    ).fetchone()
    if not row:
        return None
    fields = dict(zip(Receipt.__struct_fields__[:-1], row, strict=True))
    items = db.execute(
        "select memory, score, similarity, given, reason from injection_items where injection_id = ? order by rank",
        (fields["injection_id"],),
    )
    return Receipt(
        **fields,
        items=tuple(
            Considered(memory=memory, score=score, similarity=similarity, given=bool(was_given), reason=reason)
            for memory, score, similarity, was_given, reason in items
        ),
    )


def learnt_since_last(db: apsw.Connection, project_id: int | None, now: datetime) -> int:
    """How many memories were learnt from the project's last session before this moment."""
    total: int = db.execute(
        """select count(*) from memories m where m.status = 'active' and m.source_session = (
               select session_id from sessions where project_id is ? and last_event_at < ?
               order by last_event_at desc limit 1)""",
        (project_id, timestamp(now)),
    ).get
    return total
