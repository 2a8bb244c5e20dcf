"""Rows of `memories` and what hangs on them: links, provenance, history.

The indexes, the history and the tombstones are not touched here: they follow from the `changes` that the triggers
write, see store/changes.py. So whoever changes a row, by whatever door, leaves the same traces.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw
import msgspec

from recalld.errors import ConflictError, InputError, NotFoundError
from recalld.model import Memory, Scope, Status, Type, timestamp

_COLUMNS = """m.id, m.scope, p.name as project, m.type, m.content, m.tags, m.aliases, m.source, m.origin,
    m.source_session, m.confidence, m.status, m.pinned, m.hit_count, m.useful_count, m.first_seen, m.last_seen,
    m.last_used, m.created_at, m.updated_at, m.expires_at, m.version, m.superseded_by, m.branch, m.worktree,
    m."commit", m.local_only,
    (select json_group_array(o.id) from memories o where o.superseded_by = m.id) as supersedes,
    (select json_group_array(id) from (select b as id from related where a = m.id
                                       union all select a from related where b = m.id)) as related,
    (select json_group_array(id) from (select newer as id from conflicts where older = m.id and settled_at is null
                                       union all
                                       select older from conflicts where newer = m.id and settled_at is null))
        as conflicts"""
_FROM = "from memories m left join projects p using (project_id)"
_JSON = {"tags", "aliases", "supersedes", "related", "conflicts"}
_BOOL = {"pinned", "local_only"}

MAX_LISTED = 100_000
"""Bound on one listing."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories; an empty field does not limit.

    projects: ids; with them, memories of other projects are left out, those of user and org scope are not.
    since, until: bounds on last_seen, as timestamps.
    """

    projects: tuple[int, ...] | None = None
    scope: Scope | None = None
    type: Type | None = None
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    tag: str | None = None
    pinned: bool | None = None
    since: str | None = None
    until: str | None = None

    def sql(self) -> tuple[str, list[Any]]:
        """The condition on `m` and its bindings."""
        parts: list[str] = []
        values: list[Any] = []

        def limit(condition: str, *bound: Any) -> None:
            parts.append(condition)
            values.extend(bound)

        if self.statuses:
            limit(f"m.status in ({','.join('?' * len(self.statuses))})", *self.statuses)
        if self.projects is not None:
            limit(
                f"""((m.scope in ('user', 'org') and m.project_id is null)
                     or (m.scope = 'project' and m.project_id in ({",".join("?" * len(self.projects))})))""",
                *self.projects,
            )
        if self.scope:
            limit("m.scope = ?", self.scope)
        if self.type:
            limit("m.type = ?", self.type)
        if self.tag:
            limit("exists (select 1 from json_each(m.tags) where value = ? collate nocase)", self.tag)
        if self.pinned is not None:
            limit("m.pinned = ?", int(self.pinned))
        if self.since:
            limit("m.last_seen >= ?", self.since)
        if self.until:
            limit("m.last_seen < ?", self.until)
        return " and ".join(parts) or "true", values


def get(db: apsw.Connection, memory_id: str) -> Memory | None:
    """The memory of exactly this id, tombstones among them."""
    return next(_memories(db, "where m.id = ?", (memory_id,)), None)


def by_seq(db: apsw.Connection, seqs: Iterable[int]) -> dict[int, Memory]:
    """The memories of these row numbers, in bulk."""
    wanted = json.dumps(list(seqs))
    rows = db.execute(f"select m.seq, {_COLUMNS} {_FROM} where m.seq in (select value from json_each(?))", (wanted,))
    names = [column[0] for column in rows.get_description()] if wanted != "[]" else []
    return {row[0]: _memory(names[1:], row[1:]) for row in rows}


def find(db: apsw.Connection, reference: str) -> Memory:
    """The memory whose id starts with `reference`, as in git; `m-` may be left out.

    Raises InputError where none or several do.
    """
    prefix = reference.strip().lower()
    prefix = prefix if prefix.startswith("m-") else f"m-{prefix}"
    if not prefix[2:] or not set(prefix[2:]) <= set("0123456789abcdef"):
        raise InputError(f"{reference!r} is no memory id; `recalld list` shows them")
    ids = [
        row[0] for row in db.execute("select id from memories where id between ? and ? limit 3", (prefix, prefix + "g"))
    ]
    if not ids:
        raise NotFoundError(f"no memory {prefix}; `recalld list --status all` shows them")
    if len(ids) > 1:
        raise InputError(f"{prefix} stands for several memories ({', '.join(ids)}); give more digits")
    memory = get(db, ids[0])
    assert memory is not None
    return memory


def listing(db: apsw.Connection, wanted: Filter, limit: int = MAX_LISTED) -> list[Memory]:
    """The memories that `wanted` lets through: pinned ones first, then the newest said."""
    condition, values = wanted.sql()
    order = "order by m.pinned desc, m.last_seen desc, m.seq desc limit ?"
    return list(_memories(db, f"where {condition} {order}", (*values, min(limit, MAX_LISTED))))


class Order(msgspec.Struct, frozen=True):
    """An order to page through memories in: by `column`, then by id, with an index that serves both."""

    column: str
    descending: bool
    index: str


ORDERS: Mapping[str, Order] = {
    "newest": Order("last_seen", True, "memories_by_seen"),
    "oldest": Order("last_seen", False, "memories_by_seen"),
    "used": Order("hit_count", True, "memories_by_hits"),
}

FEW = 2_000
"""So many rows are sorted faster than an index of all memories is gone through for them."""


def page(
    db: apsw.Connection, wanted: Filter, order: Order, after: tuple[Any, str] | None, limit: int, total: int
) -> list[Memory]:
    """The next `limit` memories behind `after`, the place of the one before: its value in the order, and its id.

    total: how many `wanted` lets through, from which follows what is faster.
    """
    condition, values = wanted.sql()
    few = "+" if total <= FEW else ""  # keeps the index of the order out
    way = "" if few else f"indexed by {order.index}"
    if after:
        condition += f" and (m.{order.column}, m.id) {'<' if order.descending else '>'} (?, ?)"
        values += after
    by = ", ".join(f"{{0}}m.{column}{' desc' if order.descending else ''}" for column in (order.column, "id"))
    chosen = f"select m.seq from memories m {way} where {condition} order by {by.format(few)} limit ?"
    return list(_memories(db, f"where m.seq in ({chosen}) order by {by.format('')}", (*values, limit)))


def count(db: apsw.Connection, wanted: Filter) -> int:
    """How many memories `wanted` lets through."""
    condition, values = wanted.sql()
    return int(db.execute(f"select count(*) from memories m where {condition}", values).get)


def insert(db: apsw.Connection, memory: Memory, project_id: int | None) -> Memory:
    """Store a new memory as it is. `project_id` belongs to scope `project` alone."""
    row = _row(memory) | {"project_id": project_id if memory.scope is Scope.PROJECT else None}
    columns = ", ".join(f'"{name}"' for name in row)
    db.execute(f"insert into memories ({columns}) values ({', '.join('?' * len(row))})", tuple(row.values()))
    return memory


def update(db: apsw.Connection, memory_id: str, now: datetime, *, version: int | None = None, **fields: Any) -> None:
    """Change `fields` of a memory and count its version up.

    version: the version the writer saw. Raises ConflictError where the stored one is another.
    """
    values = {name: _plain(value) for name, value in fields.items()}
    assignments = ", ".join(f'"{name}" = ?' for name in values)
    condition, bound = ("and version = ?", [version]) if version is not None else ("", [])
    db.execute(
        f"update memories set {assignments}, version = version + 1, updated_at = ? where id = ? {condition}",
        (*values.values(), timestamp(now), memory_id, *bound),
    )
    if not db.changes():
        raise stale(memory_id, version)


def stale(memory_id: str, version: int | None) -> ConflictError:
    """What to raise where the stored version is not the one that the writer saw."""
    return ConflictError(f"{memory_id} has changed since version {version}; look at it again and repeat")


def erase(db: apsw.Connection, memory_id: str, now: datetime) -> None:
    """Turn a memory into a tombstone: its text goes at once, its id stays and blocks its return."""
    update(
        db, memory_id, now, status=Status.DELETED, content="", tags=(), aliases=(), pinned=False,
        branch=None, worktree=None, commit=None, expires_at=None,
    )  # fmt: skip


def seen(db: apsw.Connection, memory_id: str, now: datetime, confidence: float) -> None:
    """It was said again: no new version, only later and perhaps surer."""
    db.execute(
        "update memories set last_seen = max(last_seen, ?), confidence = max(confidence, ?) where id = ?",
        (timestamp(now), confidence, memory_id),
    )


def add_source(db: apsw.Connection, memory_id: str, prompt_id: str, now: datetime) -> None:
    """Record that a turn said this."""
    db.execute("insert or ignore into memory_sources values (?, ?, ?)", (memory_id, prompt_id, timestamp(now)))


def relate(db: apsw.Connection, one: str, other: str) -> None:
    """Link two memories that are about the same thing."""
    if one != other:
        db.execute("insert or ignore into related values (?, ?)", (min(one, other), max(one, other)))


def project_of(db: apsw.Connection, memory_id: str) -> int | None:
    """The id of the project that a memory belongs to; None for user and org scope."""
    found: int | None = db.execute("select project_id from memories where id = ?", (memory_id,)).get
    return found


def note(db: apsw.Connection, memory_id: str, action: str, actor: str, now: datetime, batch: str | None = None) -> None:
    """Write into a memory's history what did not change its row."""
    db.execute(
        """insert into history (memory, version, action, actor, content, type, status, at, batch)
           select id, version, ?, ?, '', type, status, ?, ? from memories where id = ?""",
        (action, actor, timestamp(now), batch, memory_id),
    )


class Event(msgspec.Struct, frozen=True):
    """One step of a memory's history: what it was before, what was done, by whom."""

    version: int
    action: str
    actor: str
    content: str
    type: Type
    status: Status
    at: str


def history(db: apsw.Connection, memory_id: str) -> list[Event]:
    """The steps of a memory's life, oldest first."""
    rows = db.execute(
        "select version, action, actor, content, type, status, at from history where memory = ? order by history_id",
        (memory_id,),
    )
    return [msgspec.convert(row, Event) for row in (dict(zip(Event.__struct_fields__, r, strict=True)) for r in rows)]


def _memories(db: apsw.Connection, where: str, values: Sequence[Any]) -> Iterator[Memory]:
    rows = db.execute(f"select {_COLUMNS} {_FROM} {where}", values)
    names: list[str] = []
    for row in rows:
        names = names or [column[0] for column in rows.get_description()]
        yield _memory(names, row)


def _memory(names: Sequence[str], row: Sequence[Any]) -> Memory:
    fields = dict(zip(names, row, strict=True))
    fields |= {name: strings(fields[name]) for name in _JSON}
    fields |= {name: bool(fields[name]) for name in _BOOL}
    return msgspec.convert(fields, Memory)


def strings(text: str) -> list[str]:
    """The strings in a JSON list; whoever edits the database by hand may have left something else there."""
    value = json.loads(text)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _row(memory: Memory) -> dict[str, Any]:
    derived = {"project", "supersedes", "related", "conflicts"}
    fields = msgspec.structs.asdict(memory)
    return {name: _plain(value) for name, value in fields.items() if name not in derived}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return int(value) if isinstance(value, bool) else value
