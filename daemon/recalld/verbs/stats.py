"""The verb that counts."""

from __future__ import annotations

from datetime import timedelta

import apsw
import msgspec

from recalld.errors import InputError
from recalld.model import timestamp
from recalld.store import statistics
from recalld.store.statistics import Stats
from recalld.store.usage import day_start
from recalld.verbs.context import Context, chosen_projects

DAYS = 30
MAX_DAYS = 3650


class Count(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Over how many days, today among them, and of which project; all of them where none is named."""

    days: int = DAYS
    project: str | None = None
    cwd: str = ""


def count(db: apsw.Connection, context: Context, request: Count) -> Stats:
    """Memories, injections and their use, extraction and its cost, by day."""
    if not 1 <= request.days <= MAX_DAYS:
        raise InputError(f"days {request.days}: a number from 1 to {MAX_DAYS}")
    chosen = chosen_projects(db, context, request.project, request.cwd) if request.project else None
    since = day_start(context.now) - timedelta(days=request.days - 1)
    return statistics.collect(db, timestamp(since), chosen)
