"""The verb by which a person says whether a memory was of use."""

from __future__ import annotations

from typing import Literal

import apsw
import msgspec

from recalld.model import Memory
from recalld.store import injections, memories
from recalld.verbs.context import Context, chosen_projects
from recalld.verbs.memories import living

Verdict = Literal["useful", "useless", "missed"]


class Feedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory, and what is said of it. missed: it should have been given to the project's last prompt."""

    id: str
    verdict: Verdict
    cwd: str = ""
    project: str | None = None


def feedback(db: apsw.Connection, context: Context, request: Feedback) -> Memory:
    """Count a memory up or down in the ranking, or note for `tune` that it was missed."""
    memory = living(db, request.id)
    projects = chosen_projects(db, context, request.project, request.cwd)
    injection = injections.latest_with(db, memory.id, projects, given=request.verdict != "missed")
    injections.judge(db, memory.id, request.verdict, injection, context.now)
    return memories.find(db, memory.id)
