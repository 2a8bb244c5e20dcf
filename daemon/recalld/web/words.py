"""What requests say, as types that check it. Over HTTP there is no working directory: `project` is `all` unless named."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from recalld.model import MAX_CONTENT_CHARS, MAX_TAG_CHARS, MAX_TAGS, Scope, Status, Type

_STATUS = "|".join((*Status, "all"))
_TIME = r"^([0-9]{1,5}[hdw]|[0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-5][0-9](:[0-5][0-9])?(Z|[+-][01][0-9]:[0-5][0-9])?)?)$"

Id = Annotated[str, Meta(pattern=r"^(m-)?[0-9a-f]{1,20}$", description="A memory's id, or the beginning of it")]
Number = Annotated[int, Meta(ge=1, lt=1 << 53)]
ProjectName = Annotated[
    str, Meta(min_length=1, max_length=4096, description="A project's NAME, a PATH in it, or `all`")
]
OneProject = Annotated[str, Meta(min_length=1, max_length=4096, description="A project's NAME, or a PATH in it")]
Statuses = Annotated[
    str,
    Meta(pattern=f"^({_STATUS})(,({_STATUS}))*$", description="One, several with commas, or `all` but deleted ones"),
]
Tag = Annotated[str, Meta(min_length=1, max_length=MAX_TAG_CHARS)]
Tags = Annotated[tuple[Tag, ...], Meta(max_length=MAX_TAGS)]
Content = Annotated[str, Meta(min_length=1, max_length=MAX_CONTENT_CHARS, description="One self-contained sentence")]
Since = Annotated[str, Meta(pattern=_TIME, max_length=40, description="`2026-01-31`, or `90d` back")]
Expires = Annotated[str, Meta(pattern=_TIME, max_length=40, description="`2026-12-31`, or `90d` from now")]
Cursor = Annotated[
    str, Meta(min_length=1, max_length=500, pattern="^[A-Za-z0-9_-]+$", description="`next_cursor` of the page before")
]
Limit = Annotated[int, Meta(ge=1, le=500)]


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No parameters."""


class InProject(Query, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which project."""

    project: ProjectName = "all"


class Searched(InProject, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question, and which memories may answer it."""

    q: Annotated[str, Meta(min_length=1, max_length=10_000, description="A question, or words")]
    scope: Scope | None = None
    type: Type | None = None
    status: Statuses = "active"
    tag: Tag | None = None
    since: Since | None = None
    until: Since | None = None
    limit: Limit = 20


class Listing(InProject, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memories, in which order."""

    scope: Scope | None = None
    type: Type | None = None
    status: Statuses = "active"
    tag: Tag | None = None
    pinned: bool | None = None
    sort: Literal["newest", "oldest", "used"] = "newest"
    cursor: Cursor | None = None
    limit: Limit = 50


class Receipted(InProject, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which receipts."""

    session: (
        Annotated[str, Meta(min_length=1, max_length=200, description="A session's id, or the beginning of it")] | None
    ) = None
    cursor: (
        Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,14}$", description="`next_cursor` of the page before")] | None
    ) = None
    limit: Limit = 50


class Counted(InProject, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Over how many days, today among them."""

    days: Annotated[int, Meta(ge=1, le=3650)] = 30


class Exported(InProject, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In which form; markdown is for reading only."""

    format: Literal["json", "jsonl", "markdown"] = "json"


class Imported(Query, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """dry_run: only tell what would come in."""

    dry_run: bool = False


class Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new memory. scope: `project` where a project is named, else `user`."""

    content: Content
    type: Type = Type.FACT
    scope: Scope | None = None
    tags: Tags = ()
    project: OneProject | None = None
    pin: bool = False
    expires: Expires | None = None


class Changed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes another; what is left out stays. version: the one that was seen, unless `If-Match` says it.

    expires: null for no end.
    """

    version: Number | None = None
    content: Content | UnsetType = UNSET
    type: Type | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    scope: Scope | UnsetType = UNSET
    project: OneProject | UnsetType = UNSET
    expires: Expires | UnsetType | None = UNSET


class Judged(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said of a memory. missed: it should have been given to the last prompt."""

    verdict: Literal["useful", "useless", "missed"]


class Bulk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing done to several memories, to all or to none. project, scope: for `move`; tags: for `tag`, `untag`."""

    action: Literal["pin", "unpin", "delete", "archive", "restore", "confirm", "reject", "move", "tag", "untag"]
    ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=500)]
    project: OneProject | None = None
    scope: Scope | None = None
    tags: Tags = ()


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to keep of a conflict: A is the older memory, B the newer one."""

    keep: Literal["A", "B", "both"]


class Code(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A login code, for one use within a minute."""

    code: Annotated[str, Meta(min_length=1, max_length=200)]
