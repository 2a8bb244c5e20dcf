"""Counters and shares over time, for `recalld stats`. Days are those of the machine's time zone.

Every function reads only. project_ids None: all projects together, and what belongs to none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from recalld.percentile import place
from recalld.store import jobs
from recalld.store.usage import TOKENS

Projects = Sequence[int] | None


class Memories(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored now. by_type and by_scope count what is in force; by_status all but tombstones."""

    by_type: dict[str, int]
    by_scope: dict[str, int]
    by_status: dict[str, int]
    pinned: int
    conflicts: int


class Latency(msgspec.Struct, frozen=True):
    """Milliseconds: half of them, and 95 and 99 of a hundred, took no longer; 0 where there were none."""

    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0


class Injections(msgspec.Struct, frozen=True, kw_only=True):
    """What was given to Claude.

    events: hooks answered. filled: of these with at least one memory. given: memories given. judged: of these it is
    known whether the answer used them; used: of the judged. share_used: used / judged, None where none is judged.
    """

    events: int
    filled: int
    given: int
    judged: int
    used: int
    share_used: float | None
    tokens: int
    session_start: Latency
    prompt: Latency


class Spending(msgspec.Struct, frozen=True):
    """Model calls of one kind. name: a backend with its model, a project, or an outcome."""

    name: str
    calls: int
    tokens: int
    usd: float


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """Model calls and what they cost. turns: captured."""

    turns: int
    calls: int
    tokens: int
    usd: float
    call: Latency
    by_backend: tuple[Spending, ...]
    by_project: tuple[Spending, ...]
    by_outcome: tuple[Spending, ...]


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One day of the machine's time zone, as 2026-01-31. prompt_*: what the daemon needed to answer a prompt's hook."""

    day: str
    added: int = 0
    turns: int = 0
    injections: int = 0
    given: int = 0
    used: int = 0
    injected_tokens: int = 0
    prompt_p50_ms: float = 0.0
    prompt_p95_ms: float = 0.0
    calls: int = 0
    call_tokens: int = 0
    usd: float = 0.0


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Everything since `since`; memories and jobs as they are now. by_day: days on which something happened."""

    since: str
    memories: Memories
    injections: Injections
    extraction: Extraction
    feedback: dict[str, int]
    jobs: jobs.Counts
    by_day: tuple[Day, ...]


def collect(db: apsw.Connection, since: str, project_ids: Projects) -> Stats:
    """All of it. since: a timestamp."""
    return Stats(
        since=since,
        memories=_memories(db, project_ids),
        injections=_injections(db, since, project_ids),
        extraction=_extraction(db, since, project_ids),
        feedback=_counts(db, "select verdict, count(*) from feedback where at >= ? group by 1", (since,)),
        jobs=jobs.counts(db),
        by_day=_days(db, since, project_ids),
    )


def _memories(db: apsw.Connection, project_ids: Projects) -> Memories:
    inside = f"from memories m where {_of(project_ids, 'm.project_id', shared=True)}"
    active = f"{inside} and m.status = 'active'"
    return Memories(
        by_type=_counts(db, f"select m.type, count(*) {active} group by 1 order by 2 desc"),
        by_scope=_counts(db, f"select m.scope, count(*) {active} group by 1 order by 2 desc"),
        by_status=_counts(
            db, f"select m.status, count(*) {inside} and m.status <> 'deleted' group by 1 order by 2 desc"
        ),
        pinned=_number(db, f"select count(*) {active} and m.pinned = 1"),
        conflicts=_number(
            db,
            f"""select count(*) from conflicts c join memories m on m.id = c.newer where c.settled_at is null
                and m.status = 'active' and {_of(project_ids, "m.project_id", shared=True)}""",
        ),
    )


def _injections(db: apsw.Connection, since: str, project_ids: Projects) -> Injections:
    inside = f"from injections j where j.at >= ? and {_of(project_ids, 'j.project_id')}"
    items = f"from injection_items i join injections j using (injection_id) where i.given = 1 and j.at >= ? and {_of(project_ids, 'j.project_id')}"
    given, judged, used = db.execute(f"select count(*), count(i.used), coalesce(sum(i.used), 0) {items}", (since,)).get
    return Injections(
        events=_number(db, f"select count(*) {inside}", since),
        filled=_number(db, f"select count(distinct i.injection_id) {items}", since),
        given=given,
        judged=judged,
        used=used,
        share_used=used / judged if judged else None,
        tokens=_number(db, f"select coalesce(sum(j.tokens), 0) {inside}", since),
        session_start=_latency(db, f"{inside} and j.event = 'SessionStart'", "j.ms", since),
        prompt=_latency(db, f"{inside} and j.event = 'UserPromptSubmit'", "j.ms", since),
    )


def _extraction(db: apsw.Connection, since: str, project_ids: Projects) -> Extraction:
    inside = (
        f"from usage u left join projects p using (project_id) where u.at >= ? and {_of(project_ids, 'u.project_id')}"
    )
    sums = f"count(*), coalesce(sum({TOKENS}), 0), coalesce(sum(cost_usd), 0.0) {inside}"
    calls, tokens, usd = db.execute(f"select {sums}", (since,)).get

    def by(name: str) -> tuple[Spending, ...]:
        rows: list[tuple[Any, ...]] = db.execute(
            f"select {name}, {sums} group by 1 order by 4 desc, 2 desc, 1", (since,)
        ).fetchall()
        return tuple(Spending(*row) for row in rows)

    turns = f"select count(*) from turns t where t.started_at >= ? and {_of(project_ids, 't.project_id')}"
    return Extraction(
        turns=_number(db, turns, since),
        calls=calls,
        tokens=tokens,
        usd=usd,
        call=_latency(db, inside, "u.ms", since),
        by_backend=by("u.backend || ' ' || u.model"),
        by_project=by("coalesce(p.name, '-')"),
        by_outcome=by("u.outcome"),
    )


def _days(db: apsw.Connection, since: str, project_ids: Projects) -> tuple[Day, ...]:
    days: dict[str, dict[str, Any]] = {}

    def add(names: Sequence[str], query: str) -> None:
        for day, *values in db.execute(query, (since,)):
            days.setdefault(day, {}).update(zip(names, values, strict=True))

    add(
        ("added",),
        f"""select date(m.created_at, 'localtime'), count(*) from memories m
            where m.created_at >= ? and m.status <> 'deleted' and {_of(project_ids, "m.project_id", shared=True)} group by 1""",
    )
    add(
        ("turns",),
        f"""select date(t.started_at, 'localtime'), count(*) from turns t
            where t.started_at >= ? and {_of(project_ids, "t.project_id")} group by 1""",
    )
    add(
        ("injections", "injected_tokens"),
        f"""select date(j.at, 'localtime'), count(*), sum(j.tokens) from injections j
            where j.at >= ? and {_of(project_ids, "j.project_id")} group by 1""",
    )
    add(
        ("given", "used"),
        f"""select date(j.at, 'localtime'), count(*), coalesce(sum(i.used), 0)
            from injection_items i join injections j using (injection_id)
            where j.at >= ? and i.given = 1 and {_of(project_ids, "j.project_id")} group by 1""",
    )
    add(
        ("prompt_p50_ms", "prompt_p95_ms"),
        f"""select day, max(ms) filter (where part <= 0.5), max(ms) filter (where part <= 0.95) from (
                select date(j.at, 'localtime') as day, j.ms,
                    percent_rank() over (partition by date(j.at, 'localtime') order by j.ms) as part
                from injections j where j.at >= ? and j.event = 'UserPromptSubmit' and {_of(project_ids, "j.project_id")}
            ) group by 1""",
    )
    add(
        ("calls", "call_tokens", "usd"),
        f"""select date(u.at, 'localtime'), count(*), sum({TOKENS}), sum(cost_usd) from usage u
            where u.at >= ? and {_of(project_ids, "u.project_id")} group by 1""",
    )
    return tuple(Day(day=day, **values) for day, values in sorted(days.items()))


def _latency(db: apsw.Connection, inside: str, column: str, since: str) -> Latency:
    count = _number(db, f"select count(*) {inside}", since)

    def at(share: float) -> float:
        ordered = f"select {column} {inside} order by 1 limit 1 offset ?"
        return float(db.execute(ordered, (since, place(count, share))).get)

    return Latency(at(0.5), at(0.95), at(0.99)) if count else Latency()


def _of(project_ids: Projects, column: str, *, shared: bool = False) -> str:
    """The condition on a project's column; ids are our own numbers. shared: what belongs to no project, too."""
    if project_ids is None:
        return "true"
    chosen = f"{column} in ({', '.join(str(int(number)) for number in project_ids)})"
    return f"({column} is null or {chosen})" if shared else chosen


def _counts(db: apsw.Connection, query: str, values: tuple[Any, ...] = ()) -> dict[str, int]:
    return {str(name): int(number) for name, number in db.execute(query, values)}


def _number(db: apsw.Connection, query: str, *values: Any) -> int:
    return int(db.execute(query, values).get)
