"""The words of the domain. One class serves row, wire and schema.

Times are ISO 8601 UTC text with milliseconds (`2026-01-31T08:05:00.000Z`), which sorts as it reads.
"""

from __future__ import annotations

import enum
import secrets
from datetime import UTC, datetime

import msgspec

MAX_CONTENT_CHARS = 4_000
"""A memory is a sentence; what is longer is a document."""
MAX_TAGS = 20
MAX_TAG_CHARS = 60


class Type(enum.StrEnum):
    """What kind of statement a memory is."""

    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    LESSON = "lesson"
    PROGRESS = "progress"
    SUMMARY = "summary"


class Scope(enum.StrEnum):
    """Where a memory holds."""

    USER = "user"
    PROJECT = "project"
    ORG = "org"


class Status(enum.StrEnum):
    """Where a memory is in its life. `deleted` is a tombstone: no text, no vector."""

    ACTIVE = "active"
    PENDING = "pending"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    DELETED = "deleted"


class Origin(enum.StrEnum):
    """Who said it."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    IMPORT = "import"


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """One self-contained sentence that holds without the conversation."""

    id: str
    scope: Scope
    project: str | None = None
    type: Type
    content: str
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    source: str = "cli"
    origin: Origin = Origin.USER
    source_session: str | None = None
    confidence: float = 1.0
    status: Status = Status.ACTIVE
    pinned: bool = False
    hit_count: int = 0
    useful_count: int = 0
    first_seen: str
    last_seen: str
    last_used: str | None = None
    created_at: str
    updated_at: str
    expires_at: str | None = None
    version: int = 1
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    related: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    branch: str | None = None
    worktree: str | None = None
    commit: str | None = None
    local_only: bool = False


class Answer(msgspec.Struct, frozen=True):
    """What the person said inside a turn: to a question of Claude's, or in refusing a tool call."""

    question: str
    answer: str


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One user prompt and what the assistant answered. Texts are already redacted.

    prompt_id: Claude Code's id of the prompt; forks and resumes keep it.
    context: the turn before, prompt and answer, to resolve "it" and "use that"; never extracted from.
    """

    prompt_id: str
    session_id: str
    prompt: str
    answer: str = ""
    answers: tuple[Answer, ...] = ()
    interrupted: bool = False
    context: str = ""
    started_at: str
    ended_at: str | None = None


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A proposed memory, or only the wish to drop one.

    content: the sentence; empty where the turn only revokes something.
    revokes: what is explicitly given up ("scrap the polling" -> "the polling"), in the turn's words; empty if nothing.
    replaces: the statement says that it changes an earlier value ("now", "raised to", "instead"), without naming it.
    explicit: the person asked for it to be remembered (`remember ...`, `recalld add`): it may bring back a deleted one.
    """

    content: str
    type: Type = Type.FACT
    scope: Scope = Scope.PROJECT
    confidence: float = 0.9
    origin: Origin = Origin.USER
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    revokes: str = ""
    replaces: bool = False
    explicit: bool = False
    expires_at: str | None = None
    prompt_id: str | None = None


class Neighbour(msgspec.Struct, frozen=True):
    """A stored memory near a candidate; both measures are 0..1.

    cosine: of the embeddings. lexical: bm25 divided by the candidate's own (its full self-match).
    """

    memory: Memory
    cosine: float
    lexical: float


def new_id() -> str:
    """A new memory id: `m-` and 20 hex digits (80 random bits)."""
    return "m-" + secrets.token_hex(10)


def timestamp(moment: datetime) -> str:
    """`moment` (aware) as the text kept in the database."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The aware time that a stored `text` stands for.

    The owner may have written one by hand: without a zone it is UTC (as sqlite's `datetime('now')`), and what is no
    time at all is long ago, so that nothing waits for it or ranks by it.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
