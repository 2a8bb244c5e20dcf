"""The verb that takes in the memories of other programs, through the same line as everything else."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import apsw
import msgspec

from recalld.answers import Adopted, Became
from recalld.consolidate import Add, Drop, Supersede, Touch, Update
from recalld.errors import InputError
from recalld.foreign import MAX_CHARS, Foreign
from recalld.model import Candidate, Origin, Scope, Type
from recalld.store import projects
from recalld.store.turns import Where
from recalld.verbs import remember
from recalld.verbs.context import Context, here
from recalld.verbs.memories import sentence, tag_names

MOST_CONFIDENCE = 0.9
"""Another program's word is never as sure as the person's own."""


class Adopt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The memories of another program.

    dry_run: only tell what would become of them. propose: whatever is new has to be confirmed by a person.
    """

    program: str
    items: tuple[Foreign, ...]
    cwd: str = ""
    dry_run: bool = False
    propose: bool = False


def adopt(db: apsw.Connection, context: Context, request: Adopt) -> Adopted:
    """Consolidate each with what is stored. What was deleted here stays deleted; a preference has to be confirmed."""
    db.execute("savepoint adoption")
    counts, left_out = Counter[str](), Counter[str]()
    by = context.by(request.program)
    at_hand = here(db, context, request.cwd)
    items = []
    for item in request.items:
        outcome = _take(db, by, item, at_hand, propose=request.propose)
        (counts if outcome in _COUNTED else left_out)[outcome] += 1
        items.append(Became(context.redact(item.text), outcome))
    if request.dry_run:
        db.execute("rollback to adoption")
    db.execute("release adoption")
    return Adopted(
        added=counts["added"] + counts["pending"], pending=counts["pending"], updated=counts["updated"],
        known=counts["known"], left_out=dict(left_out), items=tuple(items) if request.dry_run else (),
    )  # fmt: skip


_COUNTED = frozenset({"added", "pending", "updated", "known"})


def _take(db: apsw.Connection, context: Context, item: Foreign, at_hand: Where, *, propose: bool) -> str:
    """One item: what became of it, or why it is left out."""
    if len(item.text) > MAX_CHARS:
        return f"longer than {MAX_CHARS} characters"
    try:
        content = sentence(context, item.text)
    except InputError:
        return "no text"
    where = _where(db, item, at_hand)
    if where is None:
        return f"no project {item.project} is known here"
    asked = propose or item.type is Type.PREFERENCE
    memory = msgspec.structs.replace(context.config.memory, confirm="all") if asked else context.config.memory
    asking = context.with_config(msgspec.structs.replace(context.config, memory=memory))
    candidate = Candidate(
        content=content, type=item.type, scope=item.scope, confidence=max(0.0, min(item.confidence, MOST_CONFIDENCE)),
        origin=Origin.IMPORT, tags=tag_names(context, item.tags)[:3],
    )  # fmt: skip
    taken = remember.take(db, asking, candidate, remember.Said(where=where, at=_time(item.at) or context.now))
    for change in taken.changes:
        match change:
            case Add(status="pending"):
                return "pending"
            case Add():
                return "added"
            case Touch():
                return "known"
            case Update() | Supersede():
                return "updated"
            case Drop(reason=reason):
                return "deleted here" if reason == "deleted before" else reason
            case _:
                continue
    return "known"


def _where(db: apsw.Connection, item: Foreign, at_hand: Where) -> Where | None:
    """Its project here: the one of that name, if exactly one has it; the folder's where it names none."""
    if item.scope is not Scope.PROJECT:
        return Where(cwd="")
    if item.project is None:
        return at_hand
    name = projects.clean_name(item.project).casefold()
    fitting = [info.id for info in projects.list_projects(db) if info.name.casefold() == name]
    return Where(cwd="", project_id=fitting[0]) if len(fitting) == 1 else None


def _time(text: str | None) -> datetime | None:
    """When it was made; None where that is no time. Without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
