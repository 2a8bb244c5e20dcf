"""What a status bar says of the project at hand."""

from __future__ import annotations

import apsw
import msgspec

from recalld.model import Status
from recalld.store import conflicts, memories
from recalld.store.memories import Filter
from recalld.verbs.context import Context, chosen_projects


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """The folder. What else Claude Code tells a status line is of no interest, and so is what it will tell some day."""

    cwd: str = ""


def line(db: apsw.Connection, context: Context, request: Line) -> str:
    """A few words without quotes or breaks, as `12 memories · 1 conflict · 2 waiting`."""
    projects = chosen_projects(db, context, None, request.cwd)
    known = memories.count(db, Filter(projects=projects))
    open_ = len(conflicts.unsettled(db, Filter(projects=projects)))
    waiting = memories.count(db, Filter(projects=projects, statuses=(Status.PENDING,)))
    parts = [f"{known:,} {'memory' if known == 1 else 'memories'}"]
    if open_:
        parts.append(f"{open_} {'conflict' if open_ == 1 else 'conflicts'}")
    if waiting:
        parts.append(f"{waiting} waiting")
    return " · ".join(parts)
