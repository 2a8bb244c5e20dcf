"""Verbs that change memories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw
import msgspec

from recalld import redact
from recalld.answers import Undone
from recalld.errors import InputError, NotFoundError
from recalld.model import MAX_CONTENT_CHARS, MAX_TAG_CHARS, Memory, Scope, Status, Type, timestamp
from recalld.store import memories, meta
from recalld.verbs import remember
from recalld.verbs.context import Context, one_project


class Add(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sentence, and where it belongs. expires: see `expiry`."""

    text: str
    cwd: str = ""
    project: str | None = None
    scope: Scope = Scope.PROJECT
    type: Type = Type.FACT
    tags: tuple[str, ...] = ()
    pin: bool = False
    expires: str | None = None


def add(db: apsw.Connection, context: Context, request: Add) -> Memory:
    """Store a sentence as the owner gave it; one that is known already is only seen again."""
    where = one_project(db, context, request.project, request.cwd)
    content = sentence(context, request.text)
    ends = expiry(request.expires, context.now)
    stated = remember.stated(content, request.type, request.scope, tag_names(context, request.tags), ends)
    taken = remember.take(db, context, stated, remember.Said(where=where, at=context.now))
    if taken.memory_id is None:
        raise InputError("nothing was stored: there is no statement left in the text")
    if request.pin:
        memories.update(db, taken.memory_id, context.now, pinned=True)
    return memories.find(db, taken.memory_id)


class Edit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory's new sentence. version: the one that the writer saw."""

    id: str
    text: str
    version: int | None = None


def edit(db: apsw.Connection, context: Context, request: Edit) -> Memory:
    """Put another sentence in a memory's place; the old one stays in its history."""
    memory = living(db, request.id)
    memories.update(db, memory.id, context.now, version=request.version, content=sentence(context, request.text))
    return memories.find(db, memory.id)


class Ids(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Memories, by id or its beginning."""

    ids: tuple[str, ...]


def delete(db: apsw.Connection, context: Context, request: Ids) -> list[Memory]:
    """Delete memories for good: text, vector and history go, a tombstone keeps them from coming back."""
    doomed = [living(db, reference) for reference in dict.fromkeys(request.ids)]
    for memory in doomed:
        memories.erase(db, memory.id, context.now)
    return doomed


def pin(db: apsw.Connection, context: Context, request: Ids) -> list[Memory]:
    """Have memories given to every session of their scope, first of all."""
    return _set_pinned(db, context, request, pinned=True)


def unpin(db: apsw.Connection, context: Context, request: Ids) -> list[Memory]:
    """Take `pin` back."""
    return _set_pinned(db, context, request, pinned=False)


class Undo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to say."""


def undo(db: apsw.Connection, context: Context, request: Undo) -> Undone:
    """Take back what was learnt last: new memories go, changed ones become what they were.

    Raises InputError where nothing is left to take back.
    """
    batch = db.execute(
        """select batch from history where batch is not null
           and batch not in (select value from meta where key glob 'undone:*') order by history_id desc limit 1"""
    ).get
    if batch is None:
        raise InputError(
            "there is nothing to undo: that is for what was learnt; `recalld delete ID` removes what was added"
        )
    steps: Sequence[tuple[Any, ...]] = db.execute(
        """select memory, action, content, status from history
           where batch = ? group by memory having history_id = min(history_id)""",
        (batch,),
    ).fetchall()
    removed, restored, kept = [], [], []
    for memory_id, action, content, status in steps:
        memory = memories.get(db, memory_id)
        if memory is None or memory.status is Status.DELETED:
            continue
        if _changed_since(db, memory_id, batch):
            kept.append(memory)
        elif action == "insert":
            memories.erase(db, memory_id, context.now)
            removed.append(memory)
        else:
            memories.update(
                db, memory_id, context.now, status=Status(status), superseded_by=None, content=content or memory.content
            )
            restored.append(memory_id)
    meta.put(db, f"undone:{batch}", batch)
    context.follow(db)
    return Undone(tuple(removed), tuple(memories.find(db, memory_id) for memory_id in restored), tuple(kept))


def _changed_since(db: apsw.Connection, memory_id: str, batch: str) -> bool:
    """Whether anyone changed the memory after this batch did."""
    return bool(
        db.execute(
            """select exists (select 1 from history where memory = ?1 and history_id >
                   (select max(history_id) from history where memory = ?1 and batch = ?2))""",
            (memory_id, batch),
        ).get
    )


def sentence(context: Context, text: str) -> str:
    """`text` as it is stored: without private parts, masked, on one line. Raises InputError for what is no sentence."""
    content = " ".join(context.redact(redact.public(text)).split())
    if not content:
        raise InputError("the text is empty (what stands in <private> is never stored)")
    if len(content) > MAX_CONTENT_CHARS:
        raise InputError(f"the text has {len(content)} characters; a memory has at most {MAX_CONTENT_CHARS}")
    return content


def expiry(text: str | None, now: datetime) -> str | None:
    """When a memory ends: a time ahead as `point` reads it. Raises InputError."""
    if not text:
        return None
    end = point(text, now, 1)
    if end <= now:
        raise InputError(f"{text} is past; a memory's end lies ahead")
    return timestamp(end)


def point(text: str, now: datetime, direction: int) -> datetime:
    """A point in time: `2026-12-31`, an ISO time (the owner's zone where it has none), or `90d`, `12h`, `2w` from now.

    direction: 1 where a period lies ahead, -1 where it is past. Raises InputError.
    """
    if period := re.fullmatch(r"(\d{1,5})([hdw])", text.strip()):
        return now + direction * timedelta(hours=int(period[1]) * {"h": 1, "d": 24, "w": 168}[period[2]])
    try:
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{text!r} is no time; write 2026-12-31, 90d or 12h") from error


def _set_pinned(db: apsw.Connection, context: Context, request: Ids, *, pinned: bool) -> list[Memory]:
    found = [living(db, reference) for reference in dict.fromkeys(request.ids)]
    for memory in found:
        if memory.pinned != pinned:
            memories.update(db, memory.id, context.now, pinned=pinned)
    return [memories.find(db, memory.id) for memory in found]


def living(db: apsw.Connection, reference: str) -> Memory:
    """The memory that `reference` begins. Raises InputError for an unknown one and a tombstone."""
    memory = memories.find(db, reference)
    if memory.status is Status.DELETED:
        raise NotFoundError(f"{memory.id} was deleted and its text is gone for good; `recalld add` stores it anew")
    return memory


def tag_names(context: Context, tags: tuple[str, ...]) -> tuple[str, ...]:
    """Tags as they are stored: masked, lower case, single blanks, none twice."""
    names = (" ".join(context.redact(redact.public(tag)).split()).lower()[:MAX_TAG_CHARS] for tag in tags)
    return tuple(dict.fromkeys(name for name in names if name))
