"""What the model is asked to return, what its child process is sent and sends back, and how both fail."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from recalld.config import PrivacyConfig
from recalld.errors import PermanentError, RecalldError, TransientError, UnavailableError
from recalld.model import Origin, Scope, Type
from recalld.redact import Redactor

TOOL = "record"
"""The one tool the model is given: calling it is the answer."""

MAX_OPERATIONS = 40
"""More than this from one batch of turns is noise, not memory."""

Line = Annotated[str, Meta(max_length=600)]
Label = Annotated[str, Meta(max_length=60)]


class Action(enum.StrEnum):
    """What a statement of the dialogue does to the store. Nothing to do is an empty list."""

    ADD = "add"
    UPDATE = "update"
    SUPERSEDE = "supersede"
    TOUCH = "touch"
    CONFLICT = "conflict"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed change.

    id: the stored memory meant; empty for `add`. content: the new sentence; empty for `touch`, and for a `supersede`
    that gives something up without a successor. evidence: the words of the dialogue that say so.
    prompt_id: the turn the evidence stands in; ours, never the model's.
    """

    op: Action
    evidence: str
    id: str = ""
    content: str = ""
    type: Type = Type.FACT
    scope: Scope = Scope.PROJECT
    confidence: float = 0.8
    hedged: bool = False
    origin: Origin = Origin.USER
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    prompt_id: str = ""


class ProposedType(enum.StrEnum):
    """The types a model may propose; summaries are made by us."""

    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    LESSON = "lesson"
    PROGRESS = "progress"


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """One operation as the model writes it; from this class come both the schema and the check."""

    op: Action
    evidence: Annotated[str, Meta(max_length=2000, description="Short literal quote from the dialogue that says this.")]
    id: Annotated[str, Meta(max_length=40, description="Stored memory this is about; empty for add.")] = ""
    content: Annotated[Line, Meta(description="The self-contained sentence; empty for touch.")] = ""
    type: ProposedType = ProposedType.FACT
    scope: Literal["user", "project"] = "project"
    confidence: Annotated[float, Meta(ge=0, le=1)] = 0.8
    hedged: bool = False
    origin: Literal["user", "assistant"] = "user"
    tags: Annotated[list[Label], Meta(max_length=6)] = []
    aliases: Annotated[list[Label], Meta(max_length=6, description="Other words someone may search by.")] = []


class Proposals(msgspec.Struct, frozen=True):
    """The whole answer of the model."""

    operations: Annotated[list[Proposal], Meta(max_length=MAX_OPERATIONS)]


def schema() -> dict[str, Any]:
    """The JSON schema of `Proposals` for the model.

    Without references, which not every compatible endpoint resolves, and without our own notes. It asks for more
    fields than the check insists on: a model leaves out what it need not say.
    """
    _, parts = msgspec.json.schema_components([Proposals])
    operations = _plain(parts["Proposals"], parts)["properties"]["operations"]
    operations["items"]["required"] = [name for name in operations["items"]["properties"] if name not in _OPTIONAL]
    return {"type": "object", "properties": {"operations": operations}, "required": ["operations"]}


_OPTIONAL = ("id", "tags", "aliases")


def _plain(node: Any, parts: dict[str, Any]) -> Any:
    """A schema with its references put in; of descriptions only those of fields are left, no titles or defaults."""
    if isinstance(node, list):
        return [_plain(item, parts) for item in node]
    if not isinstance(node, dict):
        return node
    if reference := node.get("$ref"):
        node = {key: value for key, value in parts[reference.rpartition("/")[2]].items() if key != "description"}
    kept = {key: _plain(value, parts) for key, value in node.items() if key not in ("title", "default")}
    return {"type": "string", **kept} if "enum" in kept else kept


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the child of the `anthropic` backend reads from stdin. Secrets travel here, never in argv."""

    base_url: str
    api_key: str
    auth_token: str
    model: str
    system: str
    user: str
    schema: dict[str, Any]
    max_tokens: int
    timeout_s: float


class Tokens(msgspec.Struct, frozen=True):
    """Tokens of one call, as billed; `input` leaves out what the two cache counts hold."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


def tokens(usage: Any) -> Tokens:
    """The `usage` of a Messages response, as far as it is one: compatible servers leave out or add what they like."""
    if not isinstance(usage, dict):
        return Tokens()
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = (usage.get(name) for name in names)
    return Tokens(*(int(count) if isinstance(count, int | float) else 0 for count in counts))


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a child brings back: either an answer (`call` or `text`) or a failure (`error`).

    call: the arguments of the tool call, where there was one. text: all text blocks.
    status: HTTP status of a failure; 0 where no answer came at all. cost_usd: where the backend says it itself.
    """

    call: Any = None
    text: str = ""
    stop_reason: str = ""
    tokens: Tokens = Tokens()
    error: str = ""
    status: int = 0
    retry_after_s: float | None = None
    cost_usd: float | None = None


class TooLongError(PermanentError):
    """The question or its answer is too long for the model: ask about less. The same again cannot succeed."""


class RefusedError(PermanentError):
    """The model declined to answer."""


class BadReplyError(TransientError):
    """An answer that is no valid reply. Counts as an attempt; it is no reason to let other jobs wait."""


class NoAnswerError(TransientError):
    """Nobody answered in time. It may be the question's fault or the other side's: counts as an attempt, and all wait."""


LIMIT_WAIT_S = 900.0
"""How long to wait where a limit was reached and nobody said until when."""

_REDACTOR = Redactor(PrivacyConfig())

_TOO_LONG = ("prompt is too long", "too many tokens", "context window", "context length", "maximum context")
_NO_ACCOUNT = ("credit balance", "billing", "payment", "please run /login", "invalid api key", "not logged in")
_SPENT = ("usage limit", "hit your limit", "limit reached", "quota")
_BUSY = ("rate limit", "rate_limit", "too many requests", "overloaded")


def limited(text: str) -> bool:
    """Whether `text`, which should have been data, says that a limit of the account or server is reached."""
    return any(words in text[:500].lower() for words in (*_SPENT, *_BUSY))


def failure(reply: Reply, backend: str) -> RecalldError:
    """The error that a failed `reply` stands for. Its text holds what the server said, shortened."""
    said = _REDACTOR.redact(" ".join(reply.error.split()))[:200]
    text = f"{backend}: {reply.status or 'no answer'}: {said}"

    def says(phrases: tuple[str, ...]) -> bool:
        return any(phrase in said.lower() for phrase in phrases)

    if reply.status == 413 or (reply.status in (0, 400) and says(_TOO_LONG)):
        return TooLongError(text)
    if reply.status in (401, 402, 403, 404) or (reply.status in (0, 400) and says(_NO_ACCOUNT)):
        return UnavailableError(text)
    if reply.status in (0, 408, 409, 425, 429) or reply.status >= 500:
        return TransientError(text, reply.retry_after_s or (LIMIT_WAIT_S if says(_SPENT) else None))
    return PermanentError(text)
