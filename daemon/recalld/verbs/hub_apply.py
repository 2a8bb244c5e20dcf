"""What a row of the hub does to the memories here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import apsw
import msgspec

from recalld.carried import Carried, Conflict, Step, as_memory
from recalld.hubwire import Body, Row
from recalld.model import Memory, Status, timestamp
from recalld.store import conflicts, hub_items, memories, transfer
from recalld.store.hub import Stream
from recalld.verbs import hub_merge, remember
from recalld.verbs.context import Context
from recalld.verbs.hub_body import actor


@dataclass(frozen=True)
class Taking:
    """What all rows of a page have in common. context: without vectors; the worker gives them later."""

    db: apsw.Connection
    context: Context
    stream: Stream
    streams: tuple[Stream, ...]
    own: str
    skipped: dict[str, str]

    def by(self, row: Row) -> Context:
        """The same in the name of who changed the row last."""
        return replace(self.context, actor=actor(row))


def put(taking: Taking, row: Row, theirs: Carried) -> None:
    """Store a memory that was not here, with its history in the place of the one that this makes."""
    memories.insert(taking.db, as_memory(theirs), taking.stream.place[1])
    taking.by(row).follow(taking.db)
    if theirs.history:
        transfer.put_history(taking.db, theirs)
    _tie(taking, row, theirs, None)


def bring_up(taking: Taking, row: Row, theirs: Carried, here: Memory, *, stays: bool = False) -> None:
    """Make the memory what it is at the hub. stays: but leave it where it is here."""
    db, item = taking.db, hub_items.item(taking.db, row.id)
    own = f"hub:{taking.own}:"
    transfer.add_steps(db, row.id, [one for one in theirs.history if _unknown(one, own, here)])
    scope, project_id = taking.stream.place
    wanted = {name: getattr(theirs, name) for name in _FIELDS} | {"last_seen": max(here.last_seen, theirs.last_seen)}
    if not stays:
        wanted |= {"scope": scope, "project_id": project_id}
    stored = msgspec.structs.asdict(here) | {"project_id": memories.project_of(db, row.id)}
    if changed := {name: value for name, value in wanted.items() if value != stored[name]}:
        memories.update(db, row.id, taking.context.now, **changed)
        taking.by(row).follow(db)
    _tie(taking, row, theirs, hub_merge.read(item.base if item else None))


_OWN = ("content", *(name for name in hub_merge.FIELDS if name not in ("related", "conflicts")))
"""What stands in the memory's own row."""
_FIELDS = (*_OWN, "origin")


def _unknown(step: Step, own: str, here: Memory) -> bool:
    """Whether a step is not in the history here: it is nobody's but another device's, and not the one made now."""
    return not step.actor.startswith(own) and step.content not in ("", here.content)


def change(taking: Taking, memory_id: str, result: Body) -> None:
    """What of `result` is not so yet, as a change made here, which is to be sent."""
    db = taking.db
    stored = memories.get(db, memory_id)
    changed = {name: getattr(result, name) for name in _OWN if getattr(result, name) != getattr(stored, name)}
    if changed:
        memories.update(db, memory_id, taking.context.now, **changed)
        taking.context.follow(db)


def _tie(taking: Taking, row: Row, theirs: Carried, base: hub_merge.Known | None) -> None:
    """Links and conflicts as the hub has them, as far as both memories are here; and no circle of successors."""
    db, context = taking.db, taking.context
    for other in theirs.related:
        if memories.get(db, other):
            memories.relate(db, row.id, other)
    for other in theirs.conflicts:
        _open(taking, theirs, other)
    for other in base.fields["conflicts"] if base else ():
        if other not in theirs.conflicts:
            conflicts.settle_both(db, row.id, other, context.now)
    if theirs.status is not Status.ACTIVE:
        conflicts.settle_against(db, row.id, context.now)
    if theirs.superseded_by:
        _break_circle(taking, row.id)


def _open(taking: Taking, theirs: Carried, other_id: str) -> None:
    other = memories.get(taking.db, other_id) if other_id != theirs.id else None
    if other is None or Status.ACTIVE is not theirs.status or other.status is not Status.ACTIVE:
        return
    older, newer = sorted((theirs, other), key=lambda one: (one.created_at, one.id))
    transfer.put_conflict(taking.db, Conflict(older=older.id, newer=newer.id, opened_at=timestamp(taking.context.now)))


def _break_circle(taking: Taking, memory_id: str) -> None:
    """Two devices may each have put one of two memories in the other's place: the smaller id holds again."""
    db = taking.db
    path: list[str] = []
    at: str | None = memory_id
    while at is not None and at not in path:
        path.append(at)
        at = db.execute("select superseded_by from memories where id = ?", (at,)).get
    if at is not None:
        kept = min(path[path.index(at) :])
        memories.update(db, kept, taking.context.now, status=Status.ACTIVE, superseded_by=None)
        taking.context.follow(db)


def one_sentence(taking: Taking, row: Row) -> None:
    """The same sentence under two ids in one place: the smaller one holds, the other is superseded by it."""
    db = taking.db
    memory = memories.get(db, row.id)
    if memory is None or memory.status is not Status.ACTIVE:
        return
    twins = [
        other for other, content in hub_items.alike(db, memory, memories.project_of(db, row.id))
        if hub_merge.same_sentence(content, memory.content)
    ]  # fmt: skip
    kept, *others = sorted([row.id, *twins])
    for other in others:
        if memories.find(db, other).pinned and not memories.find(db, kept).pinned:
            memories.update(db, kept, taking.context.now, pinned=True)
        remember.supersede(db, other, kept, taking.context)
    if others:
        taking.context.follow(db)


def keep_beside(taking: Taking, memory_id: str, here: Memory) -> None:
    """Our text as a memory of its own, in open conflict with what stands in its place."""
    stands = memories.find(taking.db, memory_id)
    copy = copied(taking.db, taking.context, here, scope=stands.scope)
    if stands.status is Status.ACTIVE:
        conflicts.add(taking.db, memory_id, copy, taking.context.now)


def copied(db: apsw.Connection, context: Context, here: Memory, **changed: Any) -> str:
    """The id of a memory that says what `here` said; made if it is not there yet."""
    turn = 0
    while (known := memories.get(db, hub_merge.copy_id(here.id, here.content, turn))) is not None:
        if known.content == here.content:
            return known.id
        turn += 1
    at = timestamp(context.now)
    made = msgspec.structs.replace(
        here, id=hub_merge.copy_id(here.id, here.content, turn), version=1, hit_count=0, useful_count=0, created_at=at,
        updated_at=at, superseded_by=None, **changed,
    )  # fmt: skip
    memories.insert(db, made, memories.project_of(db, here.id))
    return made.id
