"""Verbs about memories that cannot both hold."""

from __future__ import annotations

from typing import Literal

import apsw
import msgspec

from recalld.answers import Resolved
from recalld.errors import NotFoundError
from recalld.store import conflicts, memories
from recalld.store.conflicts import Conflict
from recalld.store.memories import Filter
from recalld.verbs import remember
from recalld.verbs.context import Context, chosen_projects


class Conflicts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which project."""

    cwd: str = ""
    project: str | None = None


def list_(db: apsw.Connection, context: Context, request: Conflicts) -> list[Conflict]:
    """The conflicts that wait to be settled, by number."""
    wanted = Filter(projects=chosen_projects(db, context, request.project, request.cwd))
    return conflicts.unsettled(db, wanted)


class Resolve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conflict by its number, and what to keep: A is the older memory, B the newer one."""

    conflict: int
    keep: Literal["A", "B", "both"]


def resolve(db: apsw.Connection, context: Context, request: Resolve) -> Resolved:
    """Settle a conflict for good. Raises NotFoundError where it is not open."""
    open_one = conflicts.numbered(db, request.conflict)
    if open_one is None:
        raise NotFoundError(f"no open conflict {request.conflict}; `recalld conflicts --project all` lists them")
    older, newer = open_one.older.id, open_one.newer.id
    if request.keep == "both":
        conflicts.settle_both(db, older, newer, context.now)
        memories.relate(db, older, newer)
        for memory_id in (older, newer):
            memories.note(db, memory_id, "settled", context.actor, context.now, context.batch)
        return Resolved((memories.find(db, older), memories.find(db, newer)), ())
    winner, loser = (older, newer) if request.keep == "A" else (newer, older)
    if memories.find(db, loser).pinned:
        memories.update(db, winner, context.now, pinned=True)
    remember.supersede(db, loser, winner, context)
    memories.note(db, winner, "settled", context.actor, context.now, context.batch)
    return Resolved((memories.find(db, winner),), (memories.find(db, loser),))
