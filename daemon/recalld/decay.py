"""How memories age: pure rules, applied once a day."""

from __future__ import annotations

from datetime import datetime, timedelta

from recalld.config import KeepConfig
from recalld.model import Memory, Status, Type, moment, timestamp

FIRM_CONFIDENCE = 0.8
"""From here on a memory is kept however long nobody needs it."""


def due(memory: Memory, now: datetime, keep: KeepConfig) -> Status | None:
    """The status that `memory` has to take now, or None.

    Archived, not deleted: the text stays reachable. Over are: what was given an end, progress not spoken of for
    `progress_days`, and what is unsure and was neither said nor used for `archive_after_days`. A number of 0 days
    switches its rule off. Pinned memories never age; an end that a person gave holds for them too.
    """
    if memory.status not in {Status.ACTIVE, Status.PENDING}:
        return None
    if memory.expires_at is not None and memory.expires_at <= timestamp(now):
        return Status.ARCHIVED
    if memory.pinned:
        return None
    if memory.type is Type.PROGRESS and _older(memory.last_seen, keep.progress_days, now):
        return Status.ARCHIVED
    unsure = memory.confidence < FIRM_CONFIDENCE
    if unsure and _older(max(memory.last_seen, memory.last_used or ""), keep.archive_after_days, now):
        return Status.ARCHIVED
    return None


def _older(seen_at: str, days: int, now: datetime) -> bool:
    return days > 0 and now - moment(seen_at) >= timedelta(days=days)
