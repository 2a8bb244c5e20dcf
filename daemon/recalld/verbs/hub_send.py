"""The verbs that say what is to go to the hub, and that hear what became of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import apsw
import msgspec

from recalld.carried import Step
from recalld.hubwire import MAX_ITEMS, MAX_STEPS, MAX_STEPS_BYTES, Item, Outcome, digest
from recalld.model import Memory, Status
from recalld.store import hub, hub_items, memories
from recalld.store.hub import Stream
from recalld.verbs import hub_merge
from recalld.verbs.context import Context
from recalld.verbs.hub_body import leaving, masked_line, private

DELETED = bytes(32)
"""The digest of a deletion."""


class Outbox(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The next changes behind number `after`, without those of the streams in `hold`."""

    limit: int = 500
    after: int = 0
    hold: tuple[str, ...] = ()


class Sending(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be sent. withdrawals: (stream, id). left: how many changes wait in all. next: `after` of the next call."""

    items: tuple[Item, ...]
    withdrawals: tuple[tuple[str, str], ...]
    left: int
    next: int | None


class _Withdrawal(NamedTuple):
    stream: str
    id: str


@dataclass(frozen=True)
class _Desk:
    db: apsw.Connection
    context: Context
    streams: tuple[Stream, ...]


def outbox(db: apsw.Connection, context: Context, request: Outbox) -> Sending:
    """What waits to be sent, noted as about to be sent. What turns out not to be a change leaves the outbox."""
    desk = _Desk(db, context, tuple(hub.streams(db)))
    limit = max(1, min(request.limit, MAX_ITEMS))
    if not request.after:
        for one in desk.streams:  # the settings may have come to keep a project here since it was shared
            if one.sends and context.local_only(db, one.project_id):
                hub.enqueue_known(db, one.stream)
    waiting = hub.outbox(db, request.after, limit)
    items: list[Item] = []
    withdrawals: list[tuple[str, str]] = []
    for _, memory_id in waiting:
        if (known := hub_items.item(db, memory_id)) and known.withdrawn:  # it is not settled yet where it went
            continue
        if request.hold and _streams_of(desk, memory_id) & {*request.hold}:
            continue
        match _leaves(desk, memory_id):
            case Item() as item:
                items.append(item)
            case _Withdrawal() as withdrawal:
                withdrawals.append(withdrawal)
            case None:
                hub.dequeue(db, memory_id)
    following = waiting[-1][0] if len(waiting) == limit else None
    return Sending(items=tuple(items), withdrawals=tuple(withdrawals), left=hub.waiting(db), next=following)


def _filed(desk: _Desk, memory: Memory, item: hub_items.Item | None) -> Stream | None:
    return hub.filed(desk.db, desk.streams, memory, item.stream if item else None)


def _streams_of(desk: _Desk, memory_id: str) -> set[str]:
    """The streams that the memory is in, here or at the hub."""
    memory, item = memories.get(desk.db, memory_id), hub_items.item(desk.db, memory_id)
    filed = _filed(desk, memory, item) if memory else None
    return {one.stream for one in (item, filed) if one}


def _leaves(desk: _Desk, memory_id: str) -> Item | _Withdrawal | None:
    """The memory as it goes to the hub; or that it has to leave a stream; or None, where there is nothing to send."""
    memory, item = memories.get(desk.db, memory_id), hub_items.item(desk.db, memory_id)
    there = next((one for one in desk.streams if item and one.stream == item.stream and one.sends), None)
    if memory is None:
        return None
    if memory.status is Status.DELETED:
        return _deletion(memory, item) if item and there else None
    filed = _filed(desk, memory, item)
    if filed and filed.sends and not private(desk.db, desk.context, memory):
        return _change(desk, memory, item, filed)
    left = there and (filed is not there or private(desk.db, desk.context, memory))
    return _Withdrawal(there.stream, memory_id) if there and left else None


def _deletion(memory: Memory, item: hub_items.Item) -> Item:
    return Item(
        id=memory.id, stream=item.stream, base_version=item.version, deleted=True, digest=DELETED, client=memory.source
    )


def _change(desk: _Desk, memory: Memory, item: hub_items.Item | None, filed: Stream) -> Item | None:
    """The memory for its stream, noted as about to be sent; None where the hub has it as it is."""
    db = desk.db
    base = hub_merge.read(item.base if item else None)
    body = leaving(db, desk.context, memory, base)
    if item and item.stream == filed.stream and hub_merge.known(body) == base:
        return None
    sign = digest(body)
    hub_items.sending(
        db, memory.id, filed.stream, sign, hub_items.Sent(hub_merge.base_of(body), hub_items.last_step(db, memory.id))
    )
    return Item(
        id=memory.id, stream=filed.stream, base_version=item.version if item else 0, body=body, digest=sign,
        client=body.source, steps=_steps(desk, memory, item),
    )  # fmt: skip


def _steps(desk: _Desk, memory: Memory, item: hub_items.Item | None) -> tuple[Step, ...]:
    """What happened to it here since the hub heard of it; nothing of before it first went there, or of another place."""
    if item is None or item.steps is None:
        return ()
    found = [
        msgspec.structs.replace(step, content=masked_line(desk.context, step.content))
        for step in hub_items.steps(desk.db, memory.id, item.steps, MAX_STEPS)
    ]
    while len(msgspec.json.encode(found)) > MAX_STEPS_BYTES:
        found = found[1:]
    return tuple(found)


class Settled(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a change. digest: of what was sent."""

    id: str
    stream: str
    digest: bytes
    outcome: Outcome
    version: int = 0
    reason: str = ""


class Settle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of changes, and of withdrawals. reread: since their first try all streams were read to their ends."""

    settled: tuple[Settled, ...] = ()
    withdrawn: tuple[Settled, ...] = ()
    reread: bool = False


def settle(db: apsw.Connection, context: Context, request: Settle) -> dict[str, int]:
    """Note what the hub said: how often each outcome. A memory that was deleted there goes here, too."""
    desk = _Desk(db, context, tuple(hub.streams(db)))
    counts: Counter[str] = Counter()
    for one in request.settled:
        counts[one.outcome] += 1
        match one.outcome:
            case "stored" | "same":
                _arrived(desk, one)
            case "stale" if request.reread:
                _fell_behind(db, one)
            case "refused":
                _refused(desk, one)
            case "gone":
                _deleted(desk, one.id)
    for one in request.withdrawn:
        counts["withdrawn" if one.outcome in ("stored", "same") else one.outcome] += 1
        _left(desk, one)
    return dict(counts)


def _arrived(desk: _Desk, one: Settled) -> None:
    """The hub has it. What was changed since it was sent stays in the outbox."""
    db = desk.db
    memory, item, sent = memories.get(db, one.id), hub_items.item(db, one.id), hub_items.sent(db, one.id, one.digest)
    arrived = hub_items.Item(stream=one.stream, version=one.version, base=None, steps=None)
    if one.digest == DELETED:
        hub_items.forget(db, one.id)
    elif memory and item is None and private(db, desk.context, memory):  # it was on its way when it was kept back
        hub_items.settle(db, one.id, arrived)
        hub.enqueue(db, one.id)
    elif memory and item and sent and one.version > item.version:
        hub_items.settle(db, one.id, msgspec.structs.replace(arrived, base=sent.base, steps=sent.steps))
        if _as_sent(desk, memory, one.stream, hub_merge.read(sent.base)):
            hub.dequeue(db, one.id)


def _as_sent(desk: _Desk, memory: Memory, stream: str, base: hub_merge.Known | None) -> bool:
    """Whether the memory is still what was sent, and where it was."""
    filed = hub.filed(desk.db, desk.streams, memory, stream)
    if filed is None or filed.stream != stream or memory.status is Status.DELETED:
        return False
    return (
        not private(desk.db, desk.context, memory)
        and hub_merge.known(leaving(desk.db, desk.context, memory, base)) == base
    )


def _fell_behind(db: apsw.Connection, one: Settled) -> None:
    """The hub has an older version than was here before: it was restored from a copy. It gets the memory once more."""
    item = hub_items.item(db, one.id)
    if item and item.version == 0:
        hub.refuse(db, one.id, "the hub has another memory under this id, in a place that is not shared here")
    elif item and one.version < item.version:
        hub_items.settle(db, one.id, hub_items.Item(stream=item.stream, version=one.version, base=None, steps=None))


def _refused(desk: _Desk, one: Settled) -> None:
    """The hub does not take it. Where it was to move there, it is none of its old stream's here any more."""
    item = hub_items.item(desk.db, one.id)
    if item and item.stream != one.stream:
        hub_items.unlink(desk.db, one.id)
    hub.refuse(desk.db, one.id, one.reason)


def _deleted(desk: _Desk, memory_id: str) -> None:
    memory = memories.get(desk.db, memory_id)
    if memory and memory.status is not Status.DELETED:
        memories.erase(desk.db, memory_id, desk.context.now)
        desk.context.follow(desk.db)
    hub_items.forget(desk.db, memory_id)


def _left(desk: _Desk, one: Settled) -> None:
    """What was to leave its stream has left it; or it stays there for the others, who had it from another member."""
    db = desk.db
    memory, item = memories.get(db, one.id), hub_items.item(db, one.id)
    filed = _filed(desk, memory, item) if memory else None
    if one.outcome == "gone":
        _deleted(desk, one.id)
    elif memory and filed and filed.stream == one.stream and not private(db, desk.context, memory):
        hub.enqueue(db, one.id)  # it was moved back meanwhile
        hub_items.settle(db, one.id, hub_items.Item(stream=one.stream, version=one.version, base=None, steps=None))
    else:
        hub_items.unlink(db, one.id)
