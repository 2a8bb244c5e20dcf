"""Consolidation: a candidate and the memories near it -> changes; a model's operations -> the same changes."""

from recalld.consolidate.changes import Add, Change, Conflict, Drop, Past, Relate, Supersede, Touch, Update
from recalld.consolidate.operations import candidate, check
from recalld.consolidate.plan import plan

__all__ = [
    "Add",
    "Change",
    "Conflict",
    "Drop",
    "Past",
    "Relate",
    "Supersede",
    "Touch",
    "Update",
    "candidate",
    "check",
    "plan",
]
