"""Verbs about what this device shares with the team's hub. They only note it here; the next synchronisation does it."""

from __future__ import annotations

from typing import Literal

import apsw
import msgspec

from recalld.errors import InputError
from recalld.hubwire import ORG, project_stream, user_stream
from recalld.store import hub, meta, projects
from recalld.store.hub import Joined, Stream
from recalld.verbs.context import Context, one_project
from recalld.verbs.hub_take import takes


class Nothing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to say."""


class StreamState(msgspec.Struct, frozen=True, kw_only=True):
    """A stream here. receives: it is pulled. memories: those in it that are not deleted."""

    stream: str
    project: str | None
    sends: bool
    receives: bool
    announced: bool
    delete_mine: bool
    cursor: int
    memories: int


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A change that the hub does not take, or a row that could not be taken in here."""

    id: str
    reason: str


class State(msgspec.Struct, frozen=True, kw_only=True):
    """How this device stands to the hub.

    outbox: changes that wait. sealed: there is a key of the own stream. mark: see `Mark`. outgrown: rows were skipped by
    another version of this program.
    """

    joined: bool
    org_id: str = ""
    org: str = ""
    member_id: str = ""
    member: str = ""
    role: str = ""
    device_id: str = ""
    device: str = ""
    streams: tuple[StreamState, ...] = ()
    outbox: int = 0
    refused: tuple[Refused, ...] = ()
    refused_count: int = 0
    skipped: int = 0
    skipped_rows: tuple[Refused, ...] = ()
    sealed: bool = False
    mark: str = ""
    outgrown: bool = False


SHOWN = 20
"""So many of the refused and of the skipped are named."""


def state(db: apsw.Connection, context: Context, request: Nothing) -> State:
    """What is shared, how far it has come, and what waits."""
    who = hub.joined(db)
    if who is None:
        return State(joined=False)
    refused, passed_over = hub.refused(db), hub.skipped(db)
    skipped = passed_over.rows
    return State(
        joined=True, **msgspec.structs.asdict(who),
        streams=tuple(_told(db, context, one) for one in hub.streams(db) if one.receives or not one.announced),
        outbox=hub.waiting(db),
        refused_count=len(refused),
        refused=tuple(Refused(id=one, reason=reason) for one, reason in refused[:SHOWN]),
        skipped=len(skipped),
        skipped_rows=tuple(Refused(id=one, reason=reason) for one, reason in list(skipped.items())[:SHOWN]),
        sealed=meta.get(db, hub.KEY) is not None, mark=meta.get(db, hub.MARK) or "",
        outgrown=passed_over.outgrown,
    )  # fmt: skip


def _told(db: apsw.Connection, context: Context, one: Stream) -> StreamState:
    return StreamState(
        stream=one.stream, project=projects.name(db, one.project_id), sends=one.sends,
        receives=takes(db, context, one), announced=one.announced, delete_mine=one.delete_mine, cursor=one.cursor,
        memories=hub.held(db, one),
    )  # fmt: skip


class Join(Joined, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who this device is at the hub."""


def join(db: apsw.Connection, context: Context, request: Join) -> State:
    """Be that device from now on. Raises InputError where it is one of another member or organisation."""
    who = hub.joined(db)
    if who and (who.org_id, who.member_id) != (request.org_id, request.member_id):
        raise InputError(f"this machine is {who.member} of {who.org}; `recalld hub leave` ends that first")
    hub.join(db, Joined(**msgspec.structs.asdict(request)))
    if who and who.role != request.role:
        hub.retry(db)
    return state(db, context, Nothing())


def leave(db: apsw.Connection, context: Context, request: Nothing) -> State:
    """Forget the hub; all memories stay."""
    hub.leave(db)
    return State(joined=False)


class Share(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to share: all of the user's own, one project, or what is the organisation's."""

    scope: Literal["user", "project", "org"]
    project: str | None = None
    cwd: str = ""


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """memories: how many there are of it here."""

    stream: str
    memories: int


def share(db: apsw.Connection, context: Context, request: Share) -> Shared:
    """Send from now on what is of this scope, and what was of it before. Raises InputError."""
    name, project_id = _stream(db, context, request)
    hub.share(db, name, project_id)
    return _counted(db, name)


class Unshare(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to share no longer. delete_mine: what this member put there is to go from the hub."""

    scope: Literal["user", "project", "org"]
    project: str | None = None
    cwd: str = ""
    delete_mine: bool = False


def unshare(db: apsw.Connection, context: Context, request: Unshare) -> Shared:
    """Send no more of it. What is here stays here. Raises InputError where it is not shared."""
    what = Share(scope=request.scope, project=request.project, cwd=request.cwd)
    name, _ = _stream(db, context, what)
    if (known := hub.stream(db, name)) is None or not known.sends:
        raise InputError(f"{name} is not shared; `recalld hub status` shows what is")
    hub.unshare(db, name, delete_mine=request.delete_mine)
    return _counted(db, name)


def _counted(db: apsw.Connection, name: str) -> Shared:
    found = hub.stream(db, name)
    assert found is not None
    return Shared(stream=name, memories=hub.held(db, found))


def _stream(db: apsw.Connection, context: Context, request: Share) -> tuple[str, int | None]:
    """The stream and the project that are meant. Raises InputError."""
    who = hub.joined(db)
    if who is None:
        raise InputError("this machine belongs to no hub; `recalld hub join` first")
    if request.scope != "project":
        return (ORG if request.scope == "org" else user_stream(who.member_id)), None
    number = one_project(db, context, request.project, request.cwd).project_id
    if number is None:
        raise InputError("this folder is no project; name one with --project")
    for one in hub.streams(db):
        if one.project_id == number:
            return one.stream, number
    if context.local_only(db, number):
        raise InputError(f"{projects.name(db, number)} is local_only in the settings; it goes to no hub")
    if (identity := hub.identity(db, number)) is None:
        raise InputError(
            f"{projects.name(db, number)} has no git remote by which others could know it; "
            '`project = "NAME"` in .recalld.toml gives it a name'
        )
    return project_stream(identity), number


class Announced(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stream of which the hub knows now whether it is shared."""

    stream: str


def announced(db: apsw.Connection, context: Context, request: Announced) -> State:
    """Note that the hub knows."""
    hub.announced(db, request.stream)
    return state(db, context, Nothing())


class Mark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sign of what the hub knows now; none: it does not know the last one, so it is not the hub of before."""

    mark: str = ""


def mark(db: apsw.Connection, context: Context, request: Mark) -> State:
    """Keep the sign, or begin anew."""
    if not request.mark:
        hub.begin_anew(db)
    meta.put(db, hub.MARK, request.mark)
    return state(db, context, Nothing())


def fold(db: apsw.Connection, context: Context, request: Nothing) -> None:
    """Nothing by itself: what was erased here before is in no file when this is done, see `registry.Verb`."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What the member's own stream is sealed with, in hex; None where it is not."""

    key: str | None


def key(db: apsw.Connection, context: Context, request: Nothing) -> Key:
    """The key of the member's own stream."""
    return Key(key=meta.get(db, hub.KEY))


class Seal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key of 32 bytes, in hex."""

    key: str


def seal(db: apsw.Connection, context: Context, request: Seal) -> Key:
    """Seal the member's own stream with this key from now on: all of it is sent and read once more."""
    who = hub.joined(db)
    if who is None:
        raise InputError("this machine belongs to no hub; `recalld hub join` first")
    hub.seal(db, request.key, user_stream(who.member_id))
    return Key(key=request.key)
