"""All verbs that work on the database, by name. A door decodes, calls, encodes; it knows nothing else of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from recalld.errors import InputError, UnavailableError
from recalld.store.connection import fold
from recalld.store.store import Store
from recalld.verbs import (
    adopt,
    bounds,
    browse,
    complete,
    conflicts,
    feedback,
    handed,
    hub,
    hub_send,
    hub_sweep,
    hub_take,
    inbox,
    labels,
    line,
    memories,
    past,
    patch,
    placing,
    projects,
    receipts,
    see,
    stats,
    tags,
    transfer,
)
from recalld.verbs.context import Context

MAX_INTEGER = (1 << 63) - 1
"""SQLite's; a larger one is an OverflowError there."""


@dataclass(frozen=True)
class Verb:
    """`run(db, context, request)`.

    writes: it needs a write transaction. erases: what it removes must be in no file afterwards.
    """

    request: type[msgspec.Struct]
    run: Callable[..., Any]
    writes: bool
    erases: bool = False


VERBS: Mapping[str, Verb] = {
    "list": Verb(see.List, see.list_, writes=False),
    "browse": Verb(browse.Browse, browse.browse, writes=False),
    "revision": Verb(browse.Now, browse.revision, writes=False),
    "search": Verb(see.Search, see.search_, writes=False),
    "show": Verb(see.One, see.show, writes=False),
    "history": Verb(see.One, see.history, writes=False),
    "why": Verb(see.Why, see.why, writes=False),
    "receipts": Verb(receipts.Injections, receipts.list_, writes=False),
    "receipt": Verb(receipts.Number, receipts.one, writes=False),
    "add": Verb(memories.Add, memories.add, writes=True),
    "edit": Verb(memories.Edit, memories.edit, writes=True),
    "patch": Verb(patch.Patch, patch.patch, writes=True),
    "delete": Verb(memories.Ids, memories.delete, writes=True, erases=True),
    "pin": Verb(memories.Ids, memories.pin, writes=True),
    "unpin": Verb(memories.Ids, memories.unpin, writes=True),
    "undo": Verb(memories.Undo, memories.undo, writes=True, erases=True),
    "conflicts": Verb(conflicts.Conflicts, conflicts.list_, writes=False),
    "resolve": Verb(conflicts.Resolve, conflicts.resolve, writes=True),
    "inbox": Verb(inbox.Inbox, inbox.list_, writes=False),
    "confirm": Verb(memories.Ids, inbox.confirm, writes=True),
    "reject": Verb(memories.Ids, inbox.reject, writes=True, erases=True),
    "tag": Verb(tags.Tag, tags.tag, writes=True),
    "retag": Verb(tags.Retag, tags.retag, writes=True),
    "tags": Verb(tags.Tags, tags.list_, writes=False),
    "tags-rename": Verb(tags.Rename, tags.rename, writes=True),
    "archive": Verb(memories.Ids, placing.archive, writes=True),
    "restore": Verb(memories.Ids, placing.restore, writes=True),
    "move": Verb(placing.Move, placing.move, writes=True),
    "complete": Verb(complete.Complete, complete.complete, writes=False),
    "stats": Verb(stats.Count, stats.count, writes=False),
    "handed": Verb(handed.Latest, handed.handed, writes=False),
    "line": Verb(line.Line, line.line, writes=False),
    "labels": Verb(labels.Labels, labels.labels_, writes=False),
    "feedback": Verb(feedback.Feedback, feedback.feedback, writes=True),
    "export": Verb(transfer.Export, transfer.export, writes=False),
    "import": Verb(transfer.Import, transfer.take_in, writes=True),
    "import-rehearse": Verb(transfer.Import, transfer.rehearse, writes=False),
    "adopt": Verb(adopt.Adopt, adopt.adopt, writes=True),
    "past": Verb(past.Past, past.take, writes=True),
    "past-look": Verb(past.Look, past.look, writes=False),
    "past-offsets": Verb(past.Offsets, past.offsets, writes=False),
    "which": Verb(bounds.Which, bounds.which, writes=False),
    "visible": Verb(bounds.Visible, bounds.visible, writes=False),
    "projects": Verb(projects.Projects, projects.list_, writes=False),
    "projects-change": Verb(projects.Change, projects.change, writes=True, erases=True),
    "hub-state": Verb(hub.Nothing, hub.state, writes=False),
    "hub-join": Verb(hub.Join, hub.join, writes=True),
    "hub-leave": Verb(hub.Nothing, hub.leave, writes=True),
    "hub-share": Verb(hub.Share, hub.share, writes=True),
    "hub-unshare": Verb(hub.Unshare, hub.unshare, writes=True),
    "hub-announced": Verb(hub.Announced, hub.announced, writes=True),
    "hub-mark": Verb(hub.Mark, hub.mark, writes=True),
    "hub-key": Verb(hub.Nothing, hub.key, writes=False),
    "hub-seal": Verb(hub.Seal, hub.seal, writes=True),
    "hub-outbox": Verb(hub_send.Outbox, hub_send.outbox, writes=True),
    "hub-settle": Verb(hub_send.Settle, hub_send.settle, writes=True),
    "hub-fold": Verb(hub.Nothing, hub.fold, writes=True, erases=True),
    "hub-sweep": Verb(hub_sweep.Sweep, hub_sweep.sweep, writes=True),
    "hub-take": Verb(hub_take.Take, hub_take.take, writes=True),
}


async def call(store: Store, context: Context, name: str, arguments: dict[str, Any]) -> Any:
    """What the verb `name` answers. Raises UnavailableError for an unknown verb, InputError for wrong arguments."""
    verb = VERBS.get(name)
    if verb is None:
        raise UnavailableError(f"{name}: the running daemon does not know this; `recalld restart` it after an upgrade")
    try:
        request = msgspec.convert(arguments, verb.request)
    except msgspec.ValidationError as error:
        raise InputError(f"{name}: {error}") from error
    if large := [value for value in arguments.values() if isinstance(value, int) and abs(value) > MAX_INTEGER]:
        raise InputError(f"{name}: {large[0]} is larger than any number here")
    if not verb.writes:
        return await store.look(verb.run, context, request)
    result = await store.act(context.actor, context.batch, True, verb.run, context, request)
    if verb.erases:
        await store.outside(fold)
    return result
