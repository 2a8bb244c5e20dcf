"""The verb that finishes what a person began to type in a shell."""

from __future__ import annotations

from typing import Literal

import apsw
import msgspec

from recalld.store import memories, projects
from recalld.store.memories import Filter
from recalld.verbs.context import Context, chosen_projects
from recalld.verbs.see import statuses

MOST = 200
DIGITS = 6
"""Of an id, at least; more where others begin alike."""


class Complete(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What kind of word, and its beginning. ids: of memories of the folder's project and of the user, the newest first."""

    kind: Literal["ids", "projects"]
    begun: str = ""
    cwd: str = ""


class Word(msgspec.Struct, frozen=True):
    """A word, and what it stands for."""

    word: str
    meaning: str


def complete(db: apsw.Connection, context: Context, request: Complete) -> list[Word]:
    """The words that begin so, MOST of them at most."""
    if request.kind == "projects":
        found = [Word(info.name, next(iter(info.places), "")) for info in projects.list_projects(db)]
    else:
        found = _ids(db, context, request)
    return [word for word in found if word.word.startswith(request.begun)][:MOST]


def _ids(db: apsw.Connection, context: Context, request: Complete) -> list[Word]:
    """Without `m-` where that was not begun."""
    bare = bool(request.begun) and not request.begun.startswith("m")
    begun = "m-" + request.begun if bare else request.begun
    here = Filter(projects=chosen_projects(db, context, None, request.cwd), statuses=statuses("all"))
    near = [memory for memory in memories.listing(db, here, 10 * MOST) if memory.id.startswith(begun)][:MOST]
    return [Word(_short(db, memory.id).removeprefix("m-" if bare else ""), memory.content) for memory in near]


def _short(db: apsw.Connection, whole: str) -> str:
    for digits in range(DIGITS, len(whole) - 2):
        start = whole[: digits + 2]
        if db.execute("select count(*) from memories where id between ? and ?", (start, start + "g")).get == 1:
            return start
    return whole
