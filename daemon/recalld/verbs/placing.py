"""Verbs that take memories out of force, bring them back, and move them elsewhere."""

from __future__ import annotations

import apsw
import msgspec

from recalld.errors import InputError
from recalld.model import Memory, Scope, Status, Type, timestamp
from recalld.store import conflicts, memories
from recalld.verbs.context import Context, one_project
from recalld.verbs.memories import Ids, living


def archive(db: apsw.Connection, context: Context, request: Ids) -> list[Memory]:
    """Take memories out of force; they stay readable, and `restore` brings them back."""
    found = [living(db, reference) for reference in dict.fromkeys(request.ids)]
    for memory in found:
        if memory.status in (Status.ACTIVE, Status.PENDING):
            memories.update(db, memory.id, context.now, status=Status.ARCHIVED)
            conflicts.settle_against(db, memory.id, context.now)
    return [memories.find(db, memory.id) for memory in found]


def restore(db: apsw.Connection, context: Context, request: Ids) -> list[Memory]:
    """Bring archived and superseded memories back into force.

    What took a memory's place stays, too: the two are an open conflict then. Raises InputError for what was deleted
    and for what waits in the inbox.
    """
    found = [_out_of_force(db, reference) for reference in dict.fromkeys(request.ids)]
    for memory in found:
        if memory.status is Status.ACTIVE:
            continue
        ended = memory.expires_at is not None and memory.expires_at <= timestamp(context.now)
        memories.update(
            db, memory.id, context.now, status=Status.ACTIVE, superseded_by=None, last_seen=timestamp(context.now),
            expires_at=None if ended else memory.expires_at,
        )  # fmt: skip
        conflicts.reopen(db, memory.id, context.now)
        _beside(db, memory, context)
    return [memories.find(db, memory.id) for memory in found]


def _beside(db: apsw.Connection, memory: Memory, context: Context) -> None:
    """What took the place of a memory that is back contradicts it, unless both only say how far work is."""
    successor = memories.get(db, memory.superseded_by) if memory.superseded_by else None
    if successor is None or successor.status is not Status.ACTIVE or memory.id in successor.conflicts:
        return
    if Type.PROGRESS not in {memory.type, successor.type}:
        conflicts.add(db, memory.id, successor.id, context.now)


def _out_of_force(db: apsw.Connection, reference: str) -> Memory:
    memory = living(db, reference)
    if memory.status is Status.PENDING:
        raise InputError(f"{memory.id} waits in the inbox; `recalld confirm {memory.id[:8]}` lets it count")
    return memory


class Move(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Memories, and the project or scope that they are to belong to."""

    ids: tuple[str, ...]
    project: str | None = None
    scope: Scope | None = None
    cwd: str = ""


def move(db: apsw.Connection, context: Context, request: Move) -> list[Memory]:
    """Let memories hold elsewhere: in another project, everywhere, or for the team."""
    if request.project and request.scope not in (None, Scope.PROJECT):
        raise InputError(f"scope {request.scope} belongs to no project; give project or scope")
    if not request.project and request.scope is None:
        raise InputError("say where to: a project, or scope user, project or org")
    found = [living(db, reference) for reference in dict.fromkeys(request.ids)]
    scope, project_id = request.scope or Scope.PROJECT, None
    if scope is Scope.PROJECT:
        project_id = one_project(db, context, request.project, request.cwd).project_id
        if project_id is None:
            raise InputError("this folder is no project; name one")
    for memory in found:
        if (memory.scope, memories.project_of(db, memory.id)) != (scope, project_id):
            memories.update(db, memory.id, context.now, scope=scope, project_id=project_id)
            part(db, memory, context)
    return [memories.find(db, memory.id) for memory in found]


def part(db: apsw.Connection, memory: Memory, context: Context) -> None:
    """Two memories of different projects contradict each other no longer."""
    here = memories.project_of(db, memory.id)
    for other in memory.conflicts:
        there = memories.project_of(db, other)
        if here is not None and there is not None and here != there:
            conflicts.settle_both(db, memory.id, other, context.now)
