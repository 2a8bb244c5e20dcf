"""What consolidation decides: one tagged union, the same for the rules and for a model's operations.

Whatever involves the new memory sits in `Add`, so that no change has to name an id that does not exist yet.
"""

from __future__ import annotations

import msgspec

from recalld.model import Candidate, Memory, Status


class Add(msgspec.Struct, frozen=True, kw_only=True, tag="add"):
    """A new memory, and what it does to those already there.

    related, conflicts: ids it is linked with, ids it contradicts. supersedes: ids that it takes the place of.
    superseded_by: the memory that won against it; the new one is then kept only as the loser.
    pinned: it takes the place of a pinned memory.
    """

    candidate: Candidate
    status: Status = Status.ACTIVE
    related: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    pinned: bool = False


class Touch(msgspec.Struct, frozen=True, kw_only=True, tag="touch"):
    """A memory was said again: `last_seen` and its sources; confidence is the new one, never below the old."""

    id: str
    confidence: float
    prompt_id: str | None = None


class Update(msgspec.Struct, frozen=True, kw_only=True, tag="update"):
    """A memory said more precisely: a new text and version, the old text goes into the history.

    version: the one that was compared with; the write must fail if the memory has moved on.
    """

    id: str
    version: int
    content: str
    confidence: float
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    prompt_id: str | None = None


class Supersede(msgspec.Struct, frozen=True, kw_only=True, tag="supersede"):
    """A stored memory no longer holds. by: the stored memory in its place; None where it was just given up."""

    id: str
    version: int
    by: str | None = None
    prompt_id: str | None = None


class Conflict(msgspec.Struct, frozen=True, kw_only=True, tag="conflict"):
    """Two stored memories cannot both hold; `older` was there first."""

    older: str
    newer: str


class Relate(msgspec.Struct, frozen=True, kw_only=True, tag="relate"):
    """Two stored memories speak of the same thing."""

    id: str
    other: str


class Drop(msgspec.Struct, frozen=True, kw_only=True, tag="drop"):
    """Nothing is stored, and why not."""

    reason: str
    content: str = ""


Change = Add | Touch | Update | Supersede | Conflict | Relate | Drop


class Past(msgspec.Struct, frozen=True):
    """A memory that the candidate's own turn has led to before, and its earlier texts, in any order."""

    memory: Memory
    texts: tuple[str, ...] = ()
