"""Documents of a corpus as memories: speaker, date and session become provenance, other names become aliases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from recalld import redact
from recalld.evaluate.files import Document, Id
from recalld.model import Memory, Origin, Scope, Type, new_id, timestamp

_DATES = ("%Y-%m-%d", "%B-%d-%Y", "%I:%M %p on %d %B, %Y", "%d %B %Y", "%B %d, %Y", "%Y/%m/%d")
_ROLES = {"user", "assistant", "system", "tool", "none", "unknown"}
"""These say what somebody is, not who."""


def as_memories(documents: Sequence[Document], mask: Callable[[str], str], now: datetime) -> list[tuple[Memory, Id]]:
    """A memory for each document, in order, with the document's id; a document without a word is left out.

    The text goes through what every text goes through before it is stored: cleaned, masked, on one line.
    """
    contents = [(" ".join(mask(redact.clean(document.text)).split()), document) for document in documents]
    return [(_memory(document, content, now), document.id) for content, document in contents if content]


def _memory(document: Document, content: str, now: datetime) -> Memory:
    said = timestamp(moment_of(document.date) or now)
    speaker = (document.speaker or "").strip()
    names = (document.name.replace("_", " ") if document.name else "", *(document.aliases or ()))
    return Memory(
        id=new_id(), scope=Scope.PROJECT, type=Type.FACT, content=content, source="import",
        tags=(f"speaker:{speaker}",) if _is_name(speaker) else (), aliases=tuple(name for name in names if name),
        origin=Origin.ASSISTANT if speaker.lower() == "assistant" else Origin.USER,
        source_session=None if document.session in (None, "") else str(document.session),
        first_seen=said, last_seen=said, created_at=timestamp(now), updated_at=timestamp(now),
    )  # fmt: skip


def moment_of(text: str | None) -> datetime | None:
    """The time that `text` stands for, as UTC where it names no zone; None where it is no date we can read."""
    words = (text or "").strip()
    if not words:
        return None
    found: datetime | None
    try:
        found = datetime.fromisoformat(words)
    except ValueError:
        found = _by_format(words)
    return found.replace(tzinfo=found.tzinfo or UTC) if found else None


def _by_format(words: str) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(words, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _is_name(speaker: str) -> bool:
    return speaker.lower() not in _ROLES and any(character.isalpha() for character in speaker)
