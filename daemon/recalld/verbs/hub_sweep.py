"""The verb that takes away what left its stream and went into no other."""

from __future__ import annotations

import apsw
import msgspec

from recalld.model import Memory, Status
from recalld.store import hub, hub_items, memories
from recalld.verbs import hub_merge
from recalld.verbs.context import Context
from recalld.verbs.hub_apply import copied
from recalld.verbs.hub_body import leaving, private


class Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to say."""


def sweep(db: apsw.Connection, context: Context, request: Sweep) -> dict[str, int]:
    """Take away the copies of what left its stream and is in no other: how many.

    To be called when all streams were read to their ends. A text that was changed here stays, as this machine's own;
    so does what this member had shared: another of his machines took it off the hub, not from this one.
    """
    streams = hub.streams(db)
    deleted = 0
    for memory_id in hub_items.withdrawn(db):
        here, item = memories.get(db, memory_id), hub_items.item(db, memory_id)
        filed = hub.filed(db, streams, here, item.stream if item else None) if here else None
        if here is None or here.status is Status.DELETED or private(db, context, here):
            hub_items.forget(db, memory_id)
        elif item and (filed is None or filed.stream != item.stream):  # it was moved here, too
            hub_items.unlink(db, memory_id)
        elif item and item.own:
            hub_items.forget(db, memory_id)
            memories.update(db, memory_id, context.now, local_only=True)
        else:
            deleted += 1
            _take_away(db, context, here, hub_merge.read(item.base if item else None))
    return {"deleted": deleted}


def _take_away(db: apsw.Connection, context: Context, here: Memory, base: hub_merge.Known | None) -> None:
    ours = hub_merge.known(leaving(db, context, here, base)).text
    if ours != base.text if base else hub.waits(db, here.id)[0]:
        copy = copied(db, context, here, local_only=True)
        context.follow(db)
        hub_items.hand_over(db, here.id, copy)
        hub.dequeue(db, copy)
    hub_items.drop(db, here.id)
