"""Taking a candidate into the store: near memories, consolidation, its changes. One way for all doors."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import apsw
import msgspec

from recalld import consolidate, fingerprint
from recalld.consolidate import Add, Change, Conflict, Drop, Past, Relate, Supersede, Touch, Update
from recalld.consolidate.trust import Confirm
from recalld.llm.protocol import Operation
from recalld.model import MAX_TAGS, Candidate, Memory, Neighbour, Origin, Scope, Status, Type, new_id, timestamp
from recalld.store import conflicts, memories, meta
from recalld.store.turns import Where
from recalld.verbs.context import Context
from recalld.verbs.near import compared

OUTSIDE: Confirm = "all"
"""What is said of a project where none is (in $HOME, say) would hold in each one: a person has to confirm that first."""


class Taken(msgspec.Struct, frozen=True):
    """What became of a candidate: the changes made, and the memory that holds it now (None: nothing was stored)."""

    changes: tuple[Change, ...]
    memory_id: str | None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """The occasion on which something was said.

    at: when, if not now; an old turn never overrules what was said later.
    """

    where: Where
    at: datetime
    session_id: str | None = None


def take(db: apsw.Connection, context: Context, candidate: Candidate, said: Said) -> Taken:
    """Consolidate one candidate with what is stored, and make the changes. Its text must be redacted."""
    confirm = context.config.memory.confirm
    if candidate.scope is Scope.PROJECT and said.where.project_id is None:
        candidate, confirm = msgspec.structs.replace(candidate, scope=Scope.USER), OUTSIDE
    near, policy = compared(db, context, candidate, said.where.project_id), context.config.conflict
    changes = consolidate.plan(
        candidate, near, policy, said.at, context.source,
        past=_past(db, candidate.prompt_id), blocked=blocked(db, candidate, said.where.project_id), confirm=confirm,
    )  # fmt: skip
    return _apply(db, context, changes, said)


def carry_out(db: apsw.Connection, context: Context, operation: Operation, shown: Collection[str], said: Said) -> Taken:
    """Consolidate what a model proposes. `shown`: the ids it was shown; it may speak of no others."""
    candidate, confirm = consolidate.candidate(operation), context.config.memory.confirm
    if candidate.scope is Scope.PROJECT and said.where.project_id is None:
        operation, confirm = msgspec.structs.replace(operation, scope=Scope.USER), OUTSIDE
    near = compared(db, context, candidate, said.where.project_id)
    if operation.id in shown and operation.id not in {n.memory.id for n in near}:
        named = memories.get(db, operation.id)
        near = [*near, Neighbour(named, 0.0, 0.0)] if named else near
    elif operation.id not in shown:
        near = [n for n in near if n.memory.id != operation.id]
    policy = context.config.conflict
    changes = consolidate.check(
        operation, near, policy, said.at, context.source,
        past=_past(db, candidate.prompt_id), blocked=blocked(db, candidate, said.where.project_id), confirm=confirm,
    )  # fmt: skip
    return _apply(db, context, changes, said)


def _apply(db: apsw.Connection, context: Context, changes: Sequence[Change], said: Said) -> Taken:
    """Make these changes, and let the indexes follow."""
    holder = None
    kept_here = {"local_only": True} if context.local_only(db, said.where.project_id) else {}
    for change in changes:
        match change:
            case Add():
                holder = _add(db, context, change, said)
            case Touch():
                memories.seen(db, change.id, said.at, change.confidence)
                holder = change.id
            case Update():
                memories.update(
                    db, change.id, context.now, version=change.version, content=change.content,
                    confidence=change.confidence, tags=change.tags[:MAX_TAGS], aliases=change.aliases[:MAX_TAGS],
                    last_seen=timestamp(said.at), **kept_here,
                )  # fmt: skip
                holder = change.id
            case Supersede():
                supersede(db, change.id, change.by, context, version=change.version)
            case Conflict():
                conflicts.add(db, change.older, change.newer, context.now)
            case Relate():
                memories.relate(db, change.id, change.other)
            case Drop():
                pass
        if isinstance(change, Touch | Update | Supersede) and change.prompt_id:
            memories.add_source(db, change.id, change.prompt_id, said.at)
    context.follow(db)
    return Taken(tuple(changes), holder)


def _past(db: apsw.Connection, prompt_id: str | None) -> list[Past]:
    """What this very turn has led to before, with the earlier texts."""
    if prompt_id is None:
        return []
    rows: Sequence[tuple[Any, ...]] = db.execute(
        """select m.id from memory_sources s join memories m on m.id = s.memory
           where s.prompt_id = ? and m.status <> 'deleted'""",
        (prompt_id,),
    ).fetchall()
    past = []
    for (memory_id,) in rows:
        memory = memories.get(db, memory_id)
        texts = tuple(event.content for event in memories.history(db, memory_id) if event.content)
        if memory:
            past.append(Past(memory, texts))
    return past


def blocked(db: apsw.Connection, candidate: Candidate, project_id: int | None) -> bool:
    """Whether a tombstone stands against storing `candidate` there."""
    rows: Sequence[tuple[Any, ...]] = db.execute(
        """select t.fingerprint, json_group_array(s.prompt_id) filter (where s.prompt_id is not null)
           from tombstones t join memories m on m.id = t.memory left join memory_sources s on s.memory = t.memory
           where m.project_id is null or m.project_id is ? group by t.memory""",
        (project_id,),
    ).fetchall()
    if not rows:
        return False
    stones = (fingerprint.Tombstone(terms, frozenset(json.loads(prompts))) for terms, prompts in rows)
    return fingerprint.blocks(candidate, stones, meta.secret(db))


def _add(db: apsw.Connection, context: Context, change: Add, said: Said) -> str:
    candidate, where = change.candidate, said.where
    memory = Memory(
        id=new_id(), scope=candidate.scope, type=candidate.type, content=candidate.content,
        tags=candidate.tags[:MAX_TAGS], aliases=candidate.aliases[:MAX_TAGS], source=context.source,
        origin=candidate.origin, source_session=said.session_id, confidence=candidate.confidence,
        status=Status.SUPERSEDED if change.superseded_by else change.status, pinned=change.pinned,
        first_seen=timestamp(said.at), last_seen=timestamp(said.at), created_at=timestamp(context.now),
        updated_at=timestamp(context.now), expires_at=candidate.expires_at, superseded_by=change.superseded_by,
        branch=where.branch, worktree=where.worktree, commit=where.commit,
        local_only=context.local_only(db, where.project_id),
    )  # fmt: skip
    memories.insert(db, memory, where.project_id)
    if candidate.prompt_id:
        memories.add_source(db, memory.id, candidate.prompt_id, said.at)
    link(db, change, memory.id, context)
    return memory.id


def link(db: apsw.Connection, change: Add, memory_id: str, context: Context) -> None:
    """What the new memory replaces, is related to, and contradicts."""
    for other in change.supersedes:
        supersede(db, other, memory_id, context)
    for other in change.related:
        memories.relate(db, memory_id, other)
    for other in change.conflicts:
        conflicts.add(db, other, memory_id, context.now)


def supersede(
    db: apsw.Connection, memory_id: str, by: str | None, context: Context, *, version: int | None = None
) -> None:
    """`memory_id` no longer holds; `by` stands in its place. What it was in conflict about is settled with that."""
    memories.update(
        db, memory_id, context.now, version=version, status=Status.SUPERSEDED, superseded_by=by, pinned=False
    )
    conflicts.settle_against(db, memory_id, context.now)


def stated(text: str, type_: Type, scope: Scope, tags: tuple[str, ...], expires_at: str | None) -> Candidate:
    """The candidate for a sentence that the owner asked to be remembered, word for word."""
    return Candidate(
        content=text, type=type_, scope=scope, confidence=1.0, origin=Origin.USER, tags=tags, explicit=True,
        expires_at=expires_at,
    )  # fmt: skip
