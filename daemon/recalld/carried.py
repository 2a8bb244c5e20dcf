"""What an export file holds: memories and all that belongs to them, in types that also check what comes in.

Format `recalld`, version 1. As JSON: one object {format, version, exported_at, key, projects, memories, conflicts}. As
JSON lines: the same without the three lists, then a line {"project": ...}, {"memory": ...} or {"conflict": ...} each.
Not in it: turns, receipts, jobs, the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from recalld.model import MAX_CONTENT_CHARS, Memory, Scope, Status, Type

FORMAT = "recalld"
VERSION = 1
LISTS = {"projects": "project", "conflicts": "conflict", "memories": "memory"}
"""The lists in their order, each with the key of one of its items as a line."""

MAX_SHORT_CHARS = 1_000
_ID = re.compile(r"m-[0-9a-f]{20}")
_HEX = re.compile(r"(?:[0-9a-f]{2})*")


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a project was seen; see the table project_places."""

    path: str
    device: int
    inode: int
    first_commit: str | None = None
    last_seen_at: str


class Project(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A project under the number that the file's memories name."""

    ref: int
    name: str
    identities: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    created_at: str
    last_seen_at: str


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step of a memory's history."""

    version: int
    action: str
    actor: str
    content: str = ""
    type: Type
    status: Status
    at: str


class Carried(Memory, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory with what hangs on it.

    project_ref: its project in the file. sources: (prompt id, when) of the turns that said it. asked_at: when its owner
    was asked about it. fingerprint: of a tombstone, in hex, under the file's key.
    """

    project_ref: int | None = None
    sources: tuple[tuple[str, str], ...] = ()
    history: tuple[Step, ...] = ()
    asked_at: str | None = None
    fingerprint: str | None = None
    deleted_at: str | None = None


class Conflict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two memories that cannot both hold, settled or not."""

    older: str
    newer: str
    opened_at: str
    settled_at: str | None = None
    kept: str | None = None


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an export begins with. key: of the tombstones' fingerprints."""

    format: str
    version: int
    exported_at: str = ""
    key: str | None = None


class File(Head, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole export, as JSON has it."""

    projects: tuple[Project, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    memories: tuple[Carried, ...] = ()


def schema() -> dict[str, Any]:
    """The JSON Schema of `File` in this version. What no schema says, `problem` and `cycle` check."""
    made = msgspec.json.schema(File)
    whole = made["$defs"]["File"]
    whole["properties"] |= {"format": {"const": FORMAT}, "version": {"const": VERSION}}
    for name in ("Carried", "Conflict"):
        for field, kind in made["$defs"][name]["properties"].items():
            if field in ("id", "older", "newer"):
                kind["pattern"] = f"^{_ID.pattern}$"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"An export of recalld, version {VERSION}",
        **made,
    }


def cycle(items: Iterable[Carried]) -> str | None:
    """The id of a memory that takes, by way of others, its own place; None where there is none."""
    followed_by = {item.id: item.superseded_by for item in items if item.superseded_by}
    sound: set[str] = set()
    for start in followed_by:
        path: dict[str, None] = {}
        at: str | None = start
        while at in followed_by and at not in sound:
            if at in path:
                return at
            path[at] = None
            at = followed_by[at]
        sound.update(path)
    return None


def problem(item: Carried | Project | Conflict) -> str | None:
    """Why an item of a file cannot be taken in, or None."""
    match item:
        case Carried():
            return _of_memory(item)
        case Project():
            times = [item.created_at, item.last_seen_at, *(place.last_seen_at for place in item.places)]
            long = _long([item.name, *item.identities, *(place.path for place in item.places)])
            if any(not 0 <= number < 1 << 63 for place in item.places for number in (place.device, place.inode)):
                return "device and inode: whole numbers that are not negative"
            return _times(times) or long or (None if item.name.strip() else "a project without a name")
        case Conflict():
            if item.older == item.newer or not (_ID.fullmatch(item.older) and _ID.fullmatch(item.newer)):
                return "a conflict needs the ids of two memories"
            if item.kept not in (None, "older", "newer", "both") or (item.kept is None) != (item.settled_at is None):
                return "kept: older, newer or both, where settled_at says when"
            return _times([item.opened_at, item.settled_at])


def _of_memory(item: Carried) -> str | None:
    if not _ID.fullmatch(item.id):
        return f"{item.id[:40]!r} is no memory id"
    deleted = item.status is Status.DELETED
    if deleted != (not item.content):
        return "a deleted memory has no text, and any other has one"
    if len(item.content) > MAX_CONTENT_CHARS:
        return f"the text has {len(item.content)} characters; a memory has at most {MAX_CONTENT_CHARS}"
    if not 0 <= item.confidence <= 1:
        return f"confidence {item.confidence}: from 0 to 1"
    if item.version < 1 or item.hit_count < 0 or not _small([item.version, item.hit_count, item.useful_count]):
        return "version, hit_count and useful_count: whole numbers that are not negative"
    if (item.scope is Scope.PROJECT) != (item.project_ref is not None):
        return "project_ref: for scope project, and only there"
    if item.superseded_by is not None and not _ID.fullmatch(item.superseded_by):
        return "superseded_by is no memory id"
    if item.fingerprint is not None and (not deleted or not _HEX.fullmatch(item.fingerprint)):
        return "fingerprint: hex digits, of a deleted memory"
    times = (
        item.first_seen, item.last_seen, item.last_used, item.created_at, item.updated_at, item.expires_at,
        item.asked_at, item.deleted_at, *(at for _, at in item.sources), *(step.at for step in item.history),
    )  # fmt: skip
    words = (
        item.source, item.source_session or "", item.branch or "", item.worktree or "", item.commit or "", *item.tags,
        *item.aliases, *(prompt for prompt, _ in item.sources), *(step.action + step.actor for step in item.history),
    )  # fmt: skip
    return _times(times) or _long(words) or _of_texts(item) or (None if item.source else "source is empty")


def _of_texts(item: Carried) -> str | None:
    if any(len(step.content) > MAX_CONTENT_CHARS for step in item.history):
        return f"a step of the history has more than {MAX_CONTENT_CHARS} characters"
    if any("\0" in text for text in (item.content, *(step.content for step in item.history))):
        return "a text holds the character NUL"
    return None


def _times(stamps: Iterable[str | None]) -> str | None:
    """Times are kept as text that sorts as it reads, so the form matters."""
    for stamp in stamps:
        if stamp is None:
            continue
        if not _STAMP.fullmatch(stamp):
            return f"{stamp[:40]!r} is no time as 2026-01-31T08:05:00.000Z"
        try:
            datetime.fromisoformat(stamp)
        except ValueError:
            return f"{stamp!r} is no time"
    return None


_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def _long(words: Sequence[str]) -> str | None:
    if any("\0" in word for word in words):
        return "a text holds the character NUL"
    return next((f"{word[:40]!r}... is too long" for word in words if len(word) > MAX_SHORT_CHARS), None)


def _small(numbers: Iterable[int]) -> bool:
    return all(abs(number) < 1 << 31 for number in numbers)


def as_memory(item: Carried) -> Memory:
    """The memory alone."""
    return Memory(**{name: getattr(item, name) for name in Memory.__struct_fields__})
