"""Receipts of past injections, to be looked at: one in full, a page of them in short, what a transcript must show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from recalld.store.injections import Considered, Receipt


def latest(db: apsw.Connection, session_prefix: str | None, project_ids: Sequence[int] | None) -> Receipt | None:
    """The newest receipt of the session whose id starts so and of these projects (none: of no project; None: all)."""
    return _receipt(db, *_of(session_prefix, project_ids))


def numbered(db: apsw.Connection, number: int) -> Receipt | None:
    """The receipt of this number."""
    return _receipt(db, "injection_id = ?", [number])


def _of(session_prefix: str | None, project_ids: Sequence[int] | None) -> tuple[str, list[Any]]:
    """The condition on `injections j` for those of a session and of projects, and its bindings."""
    parts: list[str] = []
    values: list[Any] = []
    if session_prefix:
        parts.append("substr(j.session_id, 1, ?) = ?")
        values += [len(session_prefix), session_prefix]
    if project_ids is not None:
        parts.append(f"j.project_id in ({','.join('?' * len(project_ids))})" if project_ids else "j.project_id is null")
        values += project_ids
    return " and ".join(parts) or "true", values


def _receipt(db: apsw.Connection, condition: str, values: Sequence[Any]) -> Receipt | None:
    """The newest receipt that fits."""
    row = db.execute(
        f"""select injection_id, session_id, project_id, prompt_id, event, query, at, tokens, ms
            from injections j where {condition} order by injection_id desc limit 1""",
        values,
    ).fetchone()
    if not row:
        return None
    fields = dict(zip(Receipt.__struct_fields__[:-1], row, strict=True))
    items = db.execute(
        "select memory, score, similarity, given, reason, used from injection_items where injection_id = ? order by rank",
        (fields["injection_id"],),
    )
    return Receipt(
        **fields,
        items=tuple(
            Considered(
                memory=memory, score=score, similarity=similarity, given=bool(was_given), reason=reason,
                used=None if used is None else bool(used),
            )
            for memory, score, similarity, was_given, reason, used in items
        ),
    )  # fmt: skip


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A receipt in short. considered, given, used: how many memories; used is None where none is judged yet."""

    injection_id: int
    session_id: str
    project: str | None
    event: str
    query: str
    at: str
    tokens: int
    ms: float
    considered: int
    given: int
    used: int | None


def page(
    db: apsw.Connection, session_prefix: str | None, project_ids: Sequence[int] | None, before: int | None, limit: int
) -> list[Summary]:
    """The newest receipts of the session and of these projects (none: of no project; None: all) older than `before`."""
    condition, values = _of(session_prefix, project_ids)
    if before is not None:
        condition, values = f"{condition} and j.injection_id < ?", [*values, before]
    rows = db.execute(
        f"""select j.injection_id, j.session_id, p.name as project, j.event, j.query, j.at, j.tokens, j.ms,
                (select count(*) from injection_items i where i.injection_id = j.injection_id) as considered,
                (select count(*) from injection_items i where i.injection_id = j.injection_id and given = 1) as given,
                (select sum(used) from injection_items i where i.injection_id = j.injection_id and given = 1) as used
            from injections j left join projects p using (project_id)
            where {condition} order by j.injection_id desc limit ?""",
        (*values, limit),
    )
    return [Summary(**dict(zip(Summary.__struct_fields__, row, strict=True))) for row in rows]


class Handed(msgspec.Struct, frozen=True):
    """What a hook gave Claude Code for a session, and the transcript that has to show that it was taken."""

    transcript: str
    event: str
    at: str
    memories: tuple[str, ...]


def handed(db: apsw.Connection, limit: int) -> list[Handed]:
    """The newest injections into sessions with a transcript, where a turn has ended since."""
    rows: Sequence[tuple[Any, ...]] = db.execute(
        """select s.transcript_path, j.event, j.at, (select json_group_array(memory) from injection_items i
                  where i.injection_id = j.injection_id and given = 1)
           from injections j join sessions s using (session_id)
           where s.transcript_path is not null
             and exists (select 1 from injection_items i where i.injection_id = j.injection_id and given = 1)
             and exists (select 1 from turns t where t.session_id = j.session_id and t.state = 'ended'
                         and t.ended_at > j.at)
           order by j.injection_id desc limit ?""",
        (limit,),
    ).fetchall()
    return [Handed(path, event, at, tuple(json.loads(ids))) for path, event, at, ids in rows]
