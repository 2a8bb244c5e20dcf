"""A memory as it goes to the hub and as it comes from there."""

from __future__ import annotations

from collections.abc import Collection

import apsw
import msgspec

from recalld import carried, redact
from recalld.carried import Carried, Step
from recalld.hubwire import MAX_LINKS, MAX_STEPS, Body, Row, body_of, checked
from recalld.model import MAX_TAGS, Memory, Scope, Status, timestamp
from recalld.store import hub_items, memories
from recalld.store.hub import Stream
from recalld.verbs.context import Context
from recalld.verbs.hub_merge import Known
from recalld.verbs.transfer import masked


class UnfitError(Exception):
    """A row that cannot be taken in, and why."""


def private(db: apsw.Connection, context: Context, memory: Memory) -> bool:
    """Whether it must not leave this machine: it is kept here, or nobody has confirmed it yet."""
    if memory.local_only or memory.status is Status.PENDING:
        return True
    return context.local_only(db, memories.project_of(db, memory.id))


def leaving(db: apsw.Connection, context: Context, memory: Memory, base: Known | None) -> Body:
    """What of `memory` goes to the hub: masked, with no character that PostgreSQL cannot hold.

    Links to memories that were never here stay as they are known to be, since nothing can be said of them; those to
    memories of another place stay here.
    """
    clean = masked(context, Carried(**msgspec.structs.asdict(memory)))
    there = base.fields if base else {}
    elsewhere = {one for one in there.get("conflicts", ()) if memories.get(db, one) is None}
    return msgspec.structs.replace(
        body_of(clean),
        conflicts=_few({*_beside(db, memory, memory.conflicts), *elsewhere}),
        related=_few({*_beside(db, memory, memory.related), *there.get("related", ())}),
    )


def _few(ids: Collection[str]) -> tuple[str, ...]:
    """The first of them: each costs whoever takes the memory in."""
    return tuple(sorted(ids)[:MAX_LINKS])


def _beside(db: apsw.Connection, memory: Memory, others: Collection[str]) -> Collection[str]:
    """Those of the others that are in the memory's own place, and may leave it with it."""
    return others and hub_items.beside(db, memory.scope, memories.project_of(db, memory.id), others)


def masked_line(context: Context, text: str) -> str:
    """A text of a memory's history as it may leave."""
    return " ".join(context.redact(redact.public(text)).split())


def arriving(context: Context, stream: Stream, row: Row) -> Carried:
    """A row as this store keeps it: checked, masked, of the stream's own scope, and nothing of it in the future.

    Raises UnfitError.
    """
    if row.body is None:
        raise UnfitError("it cannot be read here")
    try:
        body = _without_nul(checked(row.body))
    except msgspec.ValidationError as error:
        raise UnfitError(f"it is not as this program knows it: {error}") from error
    scope, _ = stream.place
    now = timestamp(context.now)
    past = {name: min(getattr(body, name), now) for name in ("first_seen", "last_seen", "created_at", "updated_at")}
    few = {"tags": body.tags[:MAX_TAGS], "related": _few(body.related), "conflicts": _few(body.conflicts)}
    fields = msgspec.structs.asdict(body) | past | few | {"scope": scope}
    if body.status is Status.ACTIVE:
        fields["superseded_by"] = None
    item = Carried(id=row.id, project_ref=0 if scope is Scope.PROJECT else None, **fields)
    if item.status not in (Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED):
        raise UnfitError(f"status {item.status}: such a memory does not travel")
    if (wrong := carried.problem(item)) is not None:
        raise UnfitError(wrong)
    steps = (msgspec.structs.replace(item, history=(_step(step),)) for step in row.steps[-MAX_STEPS:])
    sound = tuple(one.history[0] for one in steps if carried.problem(one) is None)
    return masked(context, msgspec.structs.replace(item, history=sound))


def _without_nul(body: Body) -> Body:
    texts = {name: value.replace("\0", "") for name in ("content", "source") if (value := getattr(body, name))}
    return msgspec.structs.replace(body, **texts)


def _step(step: Step) -> Step:
    return msgspec.structs.replace(step, actor=f"hub:{step.actor}", content=step.content.replace("\0", ""))


def actor(row: Row) -> str:
    """Who, for the history."""
    return f"hub:{row.member}/{row.device}"
