"""What verbs answer with, beyond memories themselves: for the verbs, and for the library that reads their answers.

Here, and not beside the verbs, so that a client program need not load what only the daemon needs.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recalld.carried import Carried, Conflict, Head, Project
from recalld.model import Memory
from recalld.store.injections import Receipt
from recalld.store.jobs import Counts
from recalld.store.receipts import Summary
from recalld.store.usage import Spend


class Found(msgspec.Struct, frozen=True):
    """A memory and how well it fits the question: similarity 0..1, calibrated; score as in injection."""

    memory: Memory
    score: float
    similarity: float


class Explained(msgspec.Struct, frozen=True):
    """A receipt, and the memories it speaks of as they are now."""

    receipt: Receipt
    memories: dict[str, Memory]
    project: str | None = None


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A page of memories. next_cursor: where the next one begins, None on the last. total: of all pages together."""

    items: tuple[Memory, ...]
    next_cursor: str | None
    total: int


class Receipts(msgspec.Struct, frozen=True, kw_only=True):
    """A page of receipts. next: the number before which the next one begins, None on the last."""

    items: tuple[Summary, ...]
    next: int | None


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """How often memories changed, the number of the last receipt, and how many projects there are."""

    memories: int
    receipts: int
    projects: int


class Undone(msgspec.Struct, frozen=True):
    """What `undo` took back: memories that are gone, and those that are as they were before.

    kept: those that were changed again since, which `undo` leaves alone.
    """

    removed: tuple[Memory, ...]
    restored: tuple[Memory, ...]
    kept: tuple[Memory, ...]


class Resolved(msgspec.Struct, frozen=True):
    """What holds now, and what was superseded by it."""

    kept: tuple[Memory, ...]
    superseded: tuple[Memory, ...]


class TagCount(msgspec.Struct, frozen=True):
    """A tag, and how many memories in force have it."""

    tag: str
    memories: int


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an export. head, projects, conflicts: with the first page only. next: None on the last one."""

    head: Head | None = None
    projects: tuple[Project, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    memories: tuple[Carried, ...] = ()
    total: int
    next: int | None


class Became(msgspec.Struct, frozen=True):
    """What would become of one item of a file."""

    content: str
    outcome: str


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """How many memories were added, brought up to date, known already, or stay deleted; and how many projects are new.

    items: each one's own outcome, where that is only a rehearsal.
    """

    added: int = 0
    updated: int = 0
    known: int = 0
    deleted_here: int = 0
    projects: int = 0
    items: tuple[Became, ...] = ()


class Adopted(msgspec.Struct, frozen=True, kw_only=True):
    """How many were added (pending: of these, waiting to be confirmed), changed one here, or were known.

    left_out: how many, by reason. items: as in `Imported`.
    """

    added: int = 0
    pending: int = 0
    updated: int = 0
    known: int = 0
    left_out: dict[str, int] = {}
    items: tuple[Became, ...] = ()


class DaemonStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon says of itself. model: {id, state}. spool: hooks' files that wait. rss_mib: MiB of memory.

    runaway, trouble, rescued, last_error: what the owner should know; None where all is well.
    queue_age_s: seconds that the longest due job has been due. hooks: event -> count, sum_ms, p50_ms, p95_ms, p99_ms.
    """

    pid: int
    version: str
    uptime_s: float
    paused: bool
    healthy: bool = True
    backend: str
    backend_reason: str = ""
    model: dict[str, Any]
    memories: int
    pending: int = 0
    projects: int = 0
    jobs: Counts
    spool: int
    spend: Spend
    runaway: str | None = None
    trouble: str | None = None
    rescued: str | None = None
    last_error: str | None
    watch: str = "off"
    home: str = ""
    rss_mib: float | None = None
    http: dict[str, Any] | None = None
    hub: dict[str, Any] | None = None
    queue_age_s: float = 0.0
    hooks: dict[str, dict[str, Any]] = {}
