"""Pairs of memories that cannot both hold: open until their owner, or what is said later, settles them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw
import msgspec

from recalld.model import Memory, timestamp
from recalld.store import memories
from recalld.store.memories import Filter


class Conflict(msgspec.Struct, frozen=True):
    """Two memories that cannot both hold."""

    conflict_id: int
    older: Memory
    newer: Memory
    opened_at: str


def add(db: apsw.Connection, older: str, newer: str, now: datetime) -> None:
    """Note that both cannot hold. A pair that was settled before stays settled."""
    db.execute(
        "insert or ignore into conflicts (older, newer, opened_at) values (?, ?, ?)", (older, newer, timestamp(now))
    )


def unsettled(db: apsw.Connection, wanted: Filter) -> list[Conflict]:
    """The open conflicts whose newer memory `wanted` lets through, by number."""
    return _open(db, *wanted.sql())


def numbered(db: apsw.Connection, number: int) -> Conflict | None:
    """The conflict of this number, if it is open."""
    return next(iter(_open(db, "c.conflict_id = ?", [number])), None)


def settle_both(db: apsw.Connection, one: str, other: str, now: datetime) -> None:
    """Close the conflict of these two for good: both hold."""
    db.execute(
        """update conflicts set settled_at = ?1, kept = 'both'
           where (older, newer) in ((?2, ?3), (?3, ?2)) and settled_at is null""",
        (timestamp(now), one, other),
    )


def settle_against(db: apsw.Connection, memory_id: str, now: datetime) -> None:
    """Close what is open on this memory in favour of the other side, since it is gone or was decided against."""
    db.execute(
        """update conflicts set settled_at = ?1, kept = iif(older = ?2, 'newer', 'older')
           where (older = ?2 or newer = ?2) and settled_at is null""",
        (timestamp(now), memory_id),
    )


def reopen(db: apsw.Connection, memory_id: str, now: datetime) -> None:
    """Open again what was settled against this memory, as far as the other side is in force; it is back."""
    db.execute(
        """update conflicts set settled_at = null, kept = null, opened_at = ?1
           where settled_at is not null and ((older = ?2 and kept = 'newer') or (newer = ?2 and kept = 'older'))
           and (select status from memories where id = iif(older = ?2, newer, older)) = 'active'""",
        (timestamp(now), memory_id),
    )


def _open(db: apsw.Connection, condition: str, values: Sequence[Any]) -> list[Conflict]:
    """The open conflicts that meet a condition on themselves (`c`) and their newer memory (`m`)."""
    rows: Sequence[tuple[Any, ...]] = db.execute(
        f"""select c.conflict_id, c.older, c.newer, c.opened_at from conflicts c join memories m on m.id = c.newer
            where c.settled_at is null and {condition} order by c.conflict_id""",
        values,
    ).fetchall()
    pairs = [(number, memories.get(db, older), memories.get(db, newer), at) for number, older, newer, at in rows]
    return [Conflict(number, older, newer, at) for number, older, newer, at in pairs if older and newer]
