"""Memories of other programs, in one shape, whatever file they came from."""

from __future__ import annotations

import msgspec

from recalld.model import Scope, Type

MAX_CHARS = 1_000
"""A longer text is a document, not a memory."""


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of another program. project: its name there; None: it belongs to none. at: when it was made."""

    text: str
    type: Type = Type.FACT
    scope: Scope = Scope.PROJECT
    project: str | None = None
    tags: tuple[str, ...] = ()
    confidence: float = 0.7
    at: str | None = None
