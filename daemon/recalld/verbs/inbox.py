"""Verbs about what waits for a person's yes or no."""

from __future__ import annotations

import apsw
import msgspec

from recalld import consolidate
from recalld.consolidate import Add, Conflict, Drop, Relate, Supersede, Touch, Update
from recalld.errors import InputError
from recalld.model import MAX_TAGS, Candidate, Memory, Origin, Status, timestamp
from recalld.store import memories
from recalld.store.memories import Filter
from recalld.verbs.context import Context, chosen_projects
from recalld.verbs.memories import Ids, living
from recalld.verbs.near import compared
from recalld.verbs.remember import link, supersede

CONFIRMED = 0.9
"""How sure a memory is, at least, that a person has confirmed."""


class Inbox(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which project."""

    cwd: str = ""
    project: str | None = None


def list_(db: apsw.Connection, context: Context, request: Inbox) -> list[Memory]:
    """What waits to be confirmed, the newest first."""
    projects = chosen_projects(db, context, request.project, request.cwd)
    return memories.listing(db, Filter(projects=projects, statuses=(Status.PENDING,)))


def confirm(db: apsw.Connection, context: Context, request: Ids) -> list[Memory]:
    """Let waiting memories count from now on; returns what holds each of them.

    Where a memory in force says the same already, that is the one. Raises InputError where one does not wait.
    """
    holders = [_admit(db, context, memory) for memory in _waiting(db, request)]
    return [memories.find(db, holder) for holder in dict.fromkeys(holders)]


def reject(db: apsw.Connection, context: Context, request: Ids) -> list[Memory]:
    """Delete waiting memories; their tombstones keep them from being proposed again."""
    refused = _waiting(db, request)
    for memory in refused:
        memories.erase(db, memory.id, context.now)
    return refused


def _waiting(db: apsw.Connection, request: Ids) -> list[Memory]:
    found = [living(db, reference) for reference in dict.fromkeys(request.ids)]
    for memory in found:
        if memory.status is not Status.PENDING:
            raise InputError(
                f"{memory.id} does not wait for anyone: it is {memory.status}; `recalld inbox` lists what does"
            )
    return found


def _admit(db: apsw.Connection, context: Context, memory: Memory) -> str:
    """Let a pending memory count, as a person's own word of now, and return the id of what holds it.

    What it replaces, contradicts or repeats of what is in force by now is judged as if it were said at this moment.
    """
    candidate = Candidate(
        content=memory.content, type=memory.type, scope=memory.scope, confidence=max(memory.confidence, CONFIRMED),
        origin=Origin.USER, tags=memory.tags, aliases=memory.aliases, explicit=True, expires_at=memory.expires_at,
    )  # fmt: skip
    project_id = memories.project_of(db, memory.id)
    near = [n for n in compared(db, context, candidate, project_id) if n.memory.status is Status.ACTIVE]
    holder = memory.id
    for change in consolidate.plan(candidate, near, context.config.conflict, context.now, context.source):
        match change:
            case Add() | Drop():  # what nothing else speaks for is the person's to let count all the same
                added = change if isinstance(change, Add) else Add(candidate=candidate)
                memories.update(
                    db, memory.id, context.now, superseded_by=added.superseded_by, origin=Origin.USER,
                    status=Status.SUPERSEDED if added.superseded_by else Status.ACTIVE, confidence=candidate.confidence,
                    pinned=memory.pinned or added.pinned, last_seen=timestamp(context.now),
                )  # fmt: skip
                link(db, added, memory.id, context)
                holder = added.superseded_by or memory.id
            case Touch() | Update():
                memories.seen(db, change.id, context.now, candidate.confidence)
                if isinstance(change, Update):
                    kept_here = {"local_only": True} if memory.local_only else {}
                    memories.update(db, change.id, context.now, version=change.version, content=change.content,
                                    tags=change.tags[:MAX_TAGS], aliases=change.aliases[:MAX_TAGS], **kept_here)  # fmt: skip
                supersede(db, memory.id, change.id, context)
                holder = change.id
            case Supersede():
                supersede(db, change.id, change.by, context, version=change.version)
            case Relate():
                memories.relate(db, change.id, change.other)
            case Conflict():
                pass  # of two stored memories; a plan opens those through `Add`
    context.follow(db)
    return holder
