"""What answers hold where no verb's own answer goes out as it is."""

from __future__ import annotations

import msgspec

from recalld.model import Memory
from recalld.store.injections import Receipt
from recalld.store.receipts import Summary


class Hit(Memory, frozen=True, kw_only=True):
    """A memory that fits a question. similarity: 0..1, calibrated; score: as in injection."""

    score: float
    similarity: float


class Handled(msgspec.Struct, frozen=True):
    """Those that something was done to."""

    memories: tuple[Memory, ...]


class ReceiptPage(msgspec.Struct, frozen=True):
    """A page of receipts, the newest first. next_cursor: where the next one begins, None on the last."""

    items: tuple[Summary, ...]
    next_cursor: str | None


class FullReceipt(Receipt, frozen=True, kw_only=True):
    """An injection with all that was considered. memories: those that it speaks of, as they are now, by id."""

    project: str | None
    memories: dict[str, Memory]


class Check(msgspec.Struct, frozen=True):
    """One thing that recalld depends on. fix: what to do where it is not ok."""

    check: str
    ok: bool
    detail: str
    fix: str


class Paused(msgspec.Struct, frozen=True):
    """Whether nothing is given or learnt."""

    paused: bool


class Health(msgspec.Struct, frozen=True):
    """That we serve, and which version."""

    status: str
    version: str


class CodeGiven(msgspec.Struct, frozen=True):
    """A login code, for one use within a minute."""

    code: str


class Token(msgspec.Struct, frozen=True):
    """A session's token, for twelve hours."""

    token: str
