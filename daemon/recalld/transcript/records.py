"""The records of Claude Code's transcript files as the client writes them, one JSON object a line.

Fields are of any type on purpose: a later client may change one, and each is judged where it is used.
"""

from __future__ import annotations

import json
from datetime import datetime

import msgspec

from recalld.errors import InputError
from recalld.model import timestamp
from recalld.spoken import MACHINE_TAG, decode, is_headless, is_spoken, text

_SOURCES = frozenset({"typed", "queued", "sdk"})
_REFUSED = "The user doesn't want to proceed with this tool use."
_COMMENT = "the user said:\n"
# Written by the client when "Chat about this" is chosen; nobody typed it.
_CLARIFY = "The user wants to clarify these questions."


class Record(msgspec.Struct, frozen=True):
    """The fields read of any record."""

    type: object = None
    subtype: object = None
    isSidechain: object = None
    isMeta: object = None
    isCompactSummary: object = None
    isVisibleInTranscriptOnly: object = None
    isApiErrorMessage: object = None
    origin: object = None
    promptSource: object = None
    promptId: object = None
    uuid: object = None
    sessionId: object = None
    timestamp: object = None
    cwd: object = None
    gitBranch: object = None
    entrypoint: object = None
    message: msgspec.Raw = msgspec.Raw(b"{}")
    attachment: msgspec.Raw = msgspec.Raw(b"{}")
    toolUseResult: msgspec.Raw = msgspec.Raw(b"null")


class Block(msgspec.Struct, frozen=True):
    """One piece of a message: text, a tool call, a tool's result."""

    type: object = None
    text: object = None
    name: object = None
    id: object = None
    tool_use_id: object = None
    is_error: object = None
    content: msgspec.Raw = msgspec.Raw(b"null")


class Message(msgspec.Struct, frozen=True):
    """What went to the model or came from it. `content` is one string or a list of blocks."""

    id: object = None
    model: object = None
    stop_reason: object = None
    usage: object = None
    content: msgspec.Raw = msgspec.Raw(b"null")


class Attachment(msgspec.Struct, frozen=True):
    """What the client adds to a turn; `queued_command` is a prompt that came while a tool ran."""

    type: object = None
    prompt: object = None
    origin: object = None
    isMeta: object = None


class Replies(msgspec.Struct, frozen=True):
    """The result of the tool AskUserQuestion: what was answered to each question, and notes to the answers."""

    answers: dict[str, object] = {}
    annotations: object = None


_records = msgspec.json.Decoder(Record)
_messages = msgspec.json.Decoder(Message)
_blocks = msgspec.json.Decoder(list[Block])
_attachments = msgspec.json.Decoder(Attachment)
_replies = msgspec.json.Decoder(Replies)
_strings = msgspec.json.Decoder(str)

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def record(data: bytes) -> Record:
    """The record in a line. Raises msgspec.DecodeError, UnicodeDecodeError."""
    return _records.decode(data)


def repaired(data: bytes) -> bytes:
    """`data` as JSON that a strict reader takes: stray bytes replaced, lone surrogates dropped.

    Empty where it is no JSON. Slow: for lines that the strict reader refused.
    """
    try:
        return json.dumps(decode(data), ensure_ascii=False).encode()
    except InputError:
        return b""


def message(source: Record) -> Message:
    """The record's message. Raises msgspec.DecodeError."""
    return _messages.decode(source.message)


def attachment(source: Record) -> Attachment:
    """The record's attachment. Raises msgspec.DecodeError."""
    return _attachments.decode(source.attachment)


def blocks(content: msgspec.Raw) -> list[Block]:
    """A message's (or a tool result's) content as blocks. Raises msgspec.DecodeError."""
    raw = bytes(content)
    if raw.startswith(b'"'):
        return [Block(type="text", text=_strings.decode(raw))]
    return _blocks.decode(raw) if raw.startswith(b"[") else []


def texts(content: list[Block]) -> list[str]:
    """The text blocks that are not the client's own remarks (`<system-reminder>`, what an editor has open)."""
    found = (text(block.text) for block in content if block.type == "text")
    return [words for words in found if words.strip() and not words.lstrip().startswith(("<system-reminder>", "<ide_"))]


def typed(content: list[Block]) -> str:
    """What stands beside a tool's result: the words a person added in allowing the call."""
    return "\n".join(
        words for words in texts(content) if not MACHINE_TAG.match(words.lstrip()) and not words.startswith("[")
    )


def replies(source: Record) -> list[tuple[str, str]]:
    """(question, answer) of a tool result of AskUserQuestion, a note of the person's behind the answer."""
    try:
        result = _replies.decode(source.toolUseResult)
    except _UNREADABLE:
        return []
    notes = result.annotations if isinstance(result.annotations, dict) else {}
    return [(question, _with_note(answer, notes.get(question))) for question, answer in result.answers.items()]


def _with_note(answer: object, remarks: object) -> str:
    words = ", ".join(map(text, answer)) if isinstance(answer, list) else text(answer)
    note = text(remarks.get("notes")) if isinstance(remarks, dict) else ""
    return f"{words} ({note})" if words and note else words or note


def is_prompt(record: Record, words: str) -> bool:
    """Whether a person (or a program in a person's place) sent it. Old clients mark nothing: then the text tells."""
    kind = kind_of(record.origin)
    if not words.strip() or kind not in ("", "human"):
        return False
    return kind == "human" or text(record.promptSource) in _SOURCES or is_spoken(words)


def kind_of(origin: object) -> str:
    """Who a prompt is from: human, task-notification, channel ...; empty where nothing is said."""
    return text(origin.get("kind")) if isinstance(origin, dict) else ""


def headless(record: Record) -> bool:
    """Whether no person typed it. An editor also sends as `sdk`, but under its own name.

    A fork writes the copied prompts under its own entrypoint, so that alone says nothing of a typed one.
    """
    entrypoint = text(record.entrypoint)
    if record.promptSource == "sdk":
        return not entrypoint or is_headless(entrypoint)
    return text(record.promptSource) not in _SOURCES and kind_of(record.origin) != "human" and is_headless(entrypoint)


def refusal(block: Block) -> str:
    """What the person said in refusing a tool call; empty without a comment and for any other error."""
    words = "\n".join(texts(blocks(block.content)))
    if not words.startswith(_REFUSED) or _COMMENT not in words:
        return ""
    said = words.split(_COMMENT, 1)[1].strip()
    return "" if said.startswith(_CLARIFY) else said


def queued_text(prompt: object) -> str:
    """A queued prompt is a string, or blocks where something was pasted."""
    if not isinstance(prompt, list):
        return text(prompt)
    return "\n".join(text(block.get("text")) for block in prompt if isinstance(block, dict))


def context_tokens(message: Message) -> int | None:
    """The tokens the model read for this answer, from the cache or not."""
    if not isinstance(message.usage, dict):
        return None
    counts = (message.usage.get(f"{kind}input_tokens") for kind in ("", "cache_read_", "cache_creation_"))
    return sum(count for count in counts if isinstance(count, int)) or None


def branch_of(value: object) -> str | None:
    """`HEAD` is what the client writes outside a repository and on no branch."""
    name = text(value)
    return name if name and name != "HEAD" else None


def time_of(value: object) -> str | None:
    """A record's time as it is kept in the database; None where it is no time."""
    try:
        return timestamp(datetime.fromisoformat(text(value)))
    except (ValueError, OverflowError):
        return None
