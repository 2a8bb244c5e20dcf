"""The verb that takes in a page of what the hub has. One transaction: either all of it, with the cursor, or nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

import apsw
import msgspec

from recalld.carried import Carried
from recalld.hubwire import Body, Page, Row, Withdrawn, body_of
from recalld.model import Memory, Scope, Status
from recalld.store import hub, hub_items, memories
from recalld.store.hub import Stream
from recalld.store.hub_items import Item
from recalld.verbs import hub_apply, hub_merge
from recalld.verbs.context import Context
from recalld.verbs.hub_apply import Taking
from recalld.verbs.hub_body import UnfitError, arriving, leaving, private

Outcome = Literal["taken", "known", "conflict", "deleted", "skipped"]


class Take(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page of a stream."""

    page: Page


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the page's rows. cursor: where the next page has to begin."""

    taken: int = 0
    conflicts: int = 0
    deleted: int = 0
    skipped: int = 0
    cursor: int = 0


def take(db: apsw.Connection, context: Context, request: Take) -> Taken:
    """Bring the memories here up to the page's, unless it begins elsewhere than where the stream was left."""
    page, streams = request.page, tuple(hub.streams(db))
    stream = next((one for one in streams if one.stream == page.stream), None)
    if stream is None or page.begins != stream.cursor or not takes(db, context, stream):
        return Taken(cursor=stream.cursor if stream else 0)
    context.follow(db)
    me, skipped = hub.joined(db), hub.skipped(db).rows
    own = f"{me.member}/{me.device}" if me else ""
    taking = Taking(db, replace(context, vectors=None), stream, streams, own, dict(skipped))
    counts: Counter[Outcome] = Counter()
    changes: list[Row | Withdrawn] = [*page.rows, *page.withdrawn]
    for change in sorted(changes, key=lambda one: one.seq):
        counts[_alone(taking, change)] += 1
    if taking.skipped != skipped:
        hub.skip(db, taking.skipped)
    hub.move_cursor(db, stream.stream, page.cursor)
    return Taken(
        taken=counts["taken"], conflicts=counts["conflict"], deleted=counts["deleted"], skipped=counts["skipped"],
        cursor=page.cursor,
    )  # fmt: skip


def takes(db: apsw.Connection, context: Context, stream: Stream) -> bool:
    """Whether this stream is taken in: it has a place here, which is not kept from the hub."""
    scope, project_id = stream.place
    known = scope is not Scope.PROJECT or project_id is not None
    before_it_goes = stream.delete_mine and not stream.announced
    return (stream.receives or before_it_goes) and known and not context.local_only(db, project_id)


def _alone(taking: Taking, change: Row | Withdrawn) -> Outcome:
    """Take in one row, in a savepoint: one that this store does not hold must not keep the others away."""
    db = taking.db
    db.execute("savepoint row")
    try:
        outcome = _withdrawn(taking, change) if isinstance(change, Withdrawn) else _row(taking, change)
        taking.skipped.pop(change.id, None)
    except (UnfitError, apsw.ConstraintError, ValueError) as error:
        db.execute("rollback to row")
        taking.skipped[change.id] = str(error)
        if isinstance(change, Row):
            _passed_over(taking, change)
        outcome = "skipped"
    finally:
        db.execute("release row")
    return outcome


def _passed_over(taking: Taking, row: Row) -> None:
    """A row that does not fit: what is here stays, and its next change goes on top of it."""
    item = hub_items.item(taking.db, row.id)
    if item and item.stream == row.stream and row.version > item.version:
        _settled(taking, row, None, item.steps)


def _row(taking: Taking, row: Row) -> Outcome:
    db = taking.db
    here, item = memories.get(db, row.id), hub_items.item(db, row.id)
    if here and item is None and private(db, taking.context, here):
        return _kept_back(taking, row)
    alive = here is not None and here.status is not Status.DELETED
    if here and alive and _not_told(taking, row, item) and _place(db, here) != taking.stream.place:
        return _kept_back(taking, row)  # of another place here, and never told of: no stream's to change
    if row.deleted:
        return _deleted(taking, row, here)
    if here and item and item.stream == row.stream and row.version <= item.version:
        return "known"
    theirs = arriving(taking.context, taking.stream, row)
    if here is None:
        hub_apply.put(taking, row, theirs)
    elif here.status is Status.DELETED:
        return _stays_deleted(taking, row)
    elif private(db, taking.context, here):
        _settled(taking, row, None, None)
        return "known"
    else:
        return _meet(taking, row, theirs, here, item)
    return _agreed(taking, row, theirs)


def _not_told(taking: Taking, row: Row, item: Item | None) -> bool:
    """Whether the hub has nothing from here of this memory: what was sent did not arrive, and the row is not that."""
    return item is None or (item.version == 0 and hub_items.sent(taking.db, row.id, row.digest) is None)


def _place(db: apsw.Connection, memory: Memory) -> tuple[Scope, int | None]:
    return memory.scope, memories.project_of(db, memory.id)


def _kept_back(taking: Taking, row: Row) -> Outcome:
    """A memory that is this machine's own; where this machine sent it all the same, on its way before, it goes back."""
    if f"{row.member}/{row.device}" == taking.own and not row.deleted:
        _settled(taking, row, None, None)
        hub.enqueue(taking.db, row.id)
    return "known"


def _agreed(taking: Taking, row: Row, theirs: Carried) -> Outcome:
    """The memory is here what it is at the hub."""
    _settled(taking, row, hub_merge.base_of(body_of(theirs)), hub_items.last_step(taking.db, row.id))
    hub.dequeue(taking.db, row.id)
    hub_apply.one_sentence(taking, row)
    return "taken"


def _settled(taking: Taking, row: Row, base: str | None, steps: int | None) -> None:
    """Note what both have in common now; steps: how far the hub knows what was done to it here."""
    item = Item(stream=row.stream, version=row.version, base=base, steps=steps)
    hub_items.settle(taking.db, row.id, item)


def _deleted(taking: Taking, row: Row, here: Memory | None) -> Outcome:
    """Deletions win over whatever was done here."""
    if here and here.status is not Status.DELETED:
        memories.erase(taking.db, row.id, taking.context.now)
        taking.by(row).follow(taking.db)
    hub_items.forget(taking.db, row.id)
    return "deleted" if here else "known"


def _stays_deleted(taking: Taking, row: Row) -> Outcome:
    """What was deleted here does not come back; the hub is to learn of it."""
    _settled(taking, row, None, None)
    hub.enqueue(taking.db, row.id)
    return "known"


def _meet(taking: Taking, row: Row, theirs: Carried, here: Memory, item: Item | None) -> Outcome:
    """A row about a memory that is here, and perhaps was changed here, too."""
    db, context = taking.db, taking.context
    waiting, refused = hub.waits(db, row.id)
    if (sent := hub_items.sent(db, row.id, row.digest)) is not None:  # our own words
        _settled(taking, row, sent.base, sent.steps)
        return "known"
    base = hub_merge.read(item.base if item else None)
    ours, news = leaving(db, context, here, base), body_of(theirs)
    elsewhere = _moved_here(taking, here, item)
    clean = not waiting or refused is not None or not taking.stream.sends
    if clean or (base is not None and hub_merge.known(ours) == base and not elsewhere):
        hub_apply.bring_up(taking, row, theirs, here)
        return _agreed(taking, row, theirs)
    return _both(taking, row, theirs, here, _Sides(ours, news, base, elsewhere))


def _moved_here(taking: Taking, here: Memory, item: Item | None) -> bool:
    """Whether the memory was moved here alone, out of the stream that it still is in at the hub."""
    filed = hub.filed(taking.db, taking.streams, here, item.stream if item else None)
    stayed = item is not None and item.stream == taking.stream.stream
    return stayed and (filed is None or filed.stream != taking.stream.stream)


@dataclass(frozen=True)
class _Sides:
    """What a memory is here, what it is at the hub, what it was when both were equal; and whether it moved here."""

    ours: Body
    theirs: Body
    base: hub_merge.Known | None
    moved: bool


def _both(taking: Taking, row: Row, theirs: Carried, here: Memory, sides: _Sides) -> Outcome:
    """Both sides changed it: what only one changed holds; of two texts the owner's policy chooses."""
    db, context = taking.db, taking.context
    later = sides.base is None and hub_items.said_before(db, row.id, theirs.content)
    news = not later and hub_merge.ours_is_news(sides.ours, sides.theirs, sides.base, row.steps)
    ours_wins = news and hub_merge.ours_wins(sides.ours, sides.theirs, context.config.conflict)
    ours_stays = ours_wins or later or hub_merge.text_is_ours(sides.ours, sides.theirs, sides.base, row.steps)
    content = here.content if ours_stays else theirs.content
    result = hub_merge.merged(sides.ours, sides.theirs, sides.base, content)
    hub_apply.bring_up(taking, row, theirs, here, stays=sides.moved)
    item = hub_items.item(db, row.id)  # where it has just moved, what was said before stays here: see the trigger
    _settled(taking, row, hub_merge.base_of(body_of(theirs)), item.steps if item else None)
    hub_apply.change(taking, row.id, result)
    if news and not ours_wins and context.config.conflict.policy == "merge-mark" and here.status is Status.ACTIVE:
        hub_apply.keep_beside(taking, row.id, here)
    context.follow(db)
    hub_apply.one_sentence(taking, row)
    return "conflict" if news else "taken"


def _withdrawn(taking: Taking, change: Withdrawn) -> Outcome:
    """It left the stream. Whether it went into another that is taken here, too, is known when all have been read."""
    item = hub_items.item(taking.db, change.id)
    if item is not None and item.stream == taking.stream.stream:
        hub_items.withdraw(taking.db, change.id, own=change.mine)
    return "known"
