"""What travels between a device and the hub, in types that stand between the local verbs and the PostgreSQL side.

A **stream** is a text: `user:<member id>`, `org`, or `project:<identity>`. What comes down is untrusted: `Row.body` is
plain JSON until `checked` has seen it, so that one row that a later client wrote differently spoils no page.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

from recalld.carried import Step
from recalld.errors import RecalldError
from recalld.model import Memory, Origin, Scope, Status, Type

MAX_BODY_BYTES = 64 * 1024
"""Of one body, as JSON in UTF-8."""
MAX_SEALED_BYTES = 96 * 1024
MAX_STEPS = 50
"""So many of a memory's last steps travel with one change, and are taken in with one."""
MAX_LINKS = 32
"""So many related memories, and as many open conflicts, of one memory travel."""
MAX_STEPS_BYTES = 256 * 1024
"""Of one item's steps, as JSON in UTF-8."""
MAX_ITEMS = 1_000
"""Of one push, one withdrawal or one page."""

ORG = "org"
Outcome = Literal["stored", "same", "stale", "gone", "refused"]
Role = Literal["member", "maintainer", "owner"]


class HubError(RecalldError):
    """The hub cannot be reached or does not allow it; the text holds no password.

    away: it is not reachable now, and later it may be.
    """

    def __init__(self, message: str, *, away: bool = False) -> None:
        super().__init__(message)
        self.away = away


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a memory that travel; unknown ones are ignored, so that old and new clients get along."""

    scope: Scope
    type: Type
    content: str
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    source: str
    origin: Origin
    confidence: float
    status: Status
    pinned: bool = False
    first_seen: str
    last_seen: str
    created_at: str
    updated_at: str
    expires_at: str | None = None
    superseded_by: str | None = None
    related: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    branch: str | None = None
    commit: str | None = None


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A memory on its way up.

    base_version: the hub's version that the change is based on; 0 for a new one. body, steps: in the clear; or sealed,
    sealed_steps: what only the owner's devices can read. A deleted one has none of them. client: the memory's source.
    steps: what happened to it here since the last push.
    """

    id: str
    stream: str
    base_version: int
    deleted: bool = False
    body: Body | None = None
    sealed: bytes | None = None
    digest: bytes
    client: str = ""
    steps: tuple[Step, ...] = ()
    sealed_steps: bytes | None = None


class SealedSteps(msgspec.Struct, frozen=True):
    """Steps of one push that only the owner's devices can read. who: `member/device`."""

    who: str
    sealed: bytes


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A memory on its way down.

    member, device, client: of the last change. steps: what happened to it behind the asked cursor, oldest first, each
    with the actor `member/device:actor`.
    """

    id: str
    stream: str
    seq: int
    version: int
    deleted: bool = False
    body: dict[str, Any] | None = None
    sealed: bytes | None = None
    digest: bytes
    member: str
    device: str
    client: str = ""
    steps: tuple[Step, ...] = ()
    sealed_steps: tuple[SealedSteps, ...] = ()


class Withdrawn(msgspec.Struct, frozen=True):
    """A memory that left the stream: it moved, was made private, or was taken along.

    mine: it was the asking member who shared it first.
    """

    id: str
    seq: int
    mine: bool = False


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a stream. begins: the cursor asked for. rows and withdrawn: each in the order of seq, to be merged.

    cursor: where the next page begins. more: whether it holds something.
    """

    stream: str
    begins: int
    rows: tuple[Row, ...] = ()
    withdrawn: tuple[Withdrawn, ...] = ()
    cursor: int
    more: bool = False


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an item. version: the hub's now (0: it has none). reason: why it was refused."""

    id: str
    outcome: Outcome
    version: int = 0
    reason: str = ""


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the hub takes this device for.

    device: its name there. sealed: the seal check, where the `user` scope is sealed.
    """

    org_id: str
    org: str
    member_id: str
    member: str
    role: Role
    device_id: str | None = None
    device: str | None = None
    sealed: bytes | None = None

    @property
    def stream(self) -> str:
        """The member's own stream."""
        return user_stream(self.member_id)


def user_stream(member_id: str) -> str:
    """The stream of one member's devices."""
    return f"user:{member_id}"


def project_stream(identity: str) -> str:
    """The stream of a project; `identity` as in the local table of project identities."""
    return f"project:{identity}"


def body_of(memory: Memory) -> Body:
    """What of `memory` travels."""
    return Body(**{name: getattr(memory, name) for name in Body.__struct_fields__})


def checked(body: dict[str, Any]) -> Body:
    """The body that came down, in its types. Raises msgspec.ValidationError."""
    return msgspec.convert(body, Body)


def digest(body: Body) -> bytes:
    """What is equal for bodies that say the same."""
    fields = msgspec.to_builtins(body)
    plain = {name: value for name, value in fields.items() if name not in ("updated_at", "last_seen")}
    return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).digest()
