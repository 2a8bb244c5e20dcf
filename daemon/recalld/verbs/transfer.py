"""Verbs that carry memories out and in. Both work in pages, so that a large store is no large message."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import apsw
import msgspec

from recalld import project, redact
from recalld.answers import Became, Imported, Page
from recalld.carried import FORMAT, VERSION, Carried, Conflict, Head, Project, Step, cycle, problem
from recalld.errors import InputError
from recalld.model import Candidate, Status, timestamp
from recalld.store import memories, meta, transfer
from recalld.verbs import remember
from recalld.verbs.context import Context, chosen_projects

PAGE = 1_000
MAX_PAGE = 5_000

Outcome = Literal["added", "updated", "known", "deleted here"]


class Export(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The memories behind the row number `after`; of one project and of the user where a project is named, else all."""

    project: str | None = None
    cwd: str = ""
    after: int = 0
    limit: int = PAGE


def export(db: apsw.Connection, context: Context, request: Export) -> Page:
    """Everything that belongs to memories, as it is stored."""
    chosen = chosen_projects(db, context, request.project, request.cwd) if request.project else None
    found, after = transfer.page(db, chosen, request.after, max(1, min(request.limit, MAX_PAGE)))
    total = transfer.count(db, chosen)
    if request.after:
        return Page(memories=tuple(found), total=total, next=after)
    head = Head(format=FORMAT, version=VERSION, exported_at=timestamp(context.now), key=meta.get(db, "secret"))
    return Page(
        head=head, projects=tuple(transfer.projects(db, chosen)), conflicts=tuple(transfer.conflicts(db, chosen)),
        memories=tuple(found), total=total, next=after,
    )  # fmt: skip


class Import(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of an export: memories with the projects that they name. conflicts: when all memories are in."""

    head: Head
    projects: tuple[Project, ...] = ()
    memories: tuple[Carried, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


def take_in(db: apsw.Connection, context: Context, request: Import) -> Imported:
    """Store what is not here yet, as it was: ids, times, history and links. Nothing that was deleted here comes back.

    Raises InputError for anything that is not as it should be, before a row is written.
    """
    return _import(db, context, request, write=True)


def rehearse(db: apsw.Connection, context: Context, request: Import) -> Imported:
    """What `take_in` would do."""
    return _import(db, context, request, write=False)


def _import(db: apsw.Connection, context: Context, request: Import, *, write: bool) -> Imported:
    _check(request)
    request = msgspec.structs.replace(request, projects=tuple(_known_as(context, one) for one in request.projects))
    refs = {one.ref: transfer.project_for(db, one, make=False) for one in request.projects}
    made = sum(number is None for number in refs.values())
    if write:
        refs = {one.ref: transfer.project_for(db, one, make=True) for one in request.projects}
    readable = transfer.take_key(db, request.head.key, write=write)
    counts: Counter[Outcome] = Counter()
    taken: list[Carried] = []
    items: list[Became] = []
    for item in (masked(context, item) for item in request.memories):
        project_id = refs[item.project_ref] if item.project_ref is not None else None
        outcome = _outcome(db, item, project_id)
        counts[outcome] += 1
        items.append(Became(item.content, outcome))
        if outcome in ("added", "updated"):
            taken.append(item)
        if write:
            _store(db, context, item, project_id, outcome, readable=readable)
    if write:
        _link(db, context, request, taken)
    return Imported(
        added=counts["added"], updated=counts["updated"], known=counts["known"], deleted_here=counts["deleted here"],
        projects=made, items=() if write else tuple(items),
    )  # fmt: skip


def _check(request: Import) -> None:
    if request.head.format != FORMAT:
        raise InputError(f"the file's format is {request.head.format!r}, not {FORMAT!r}")
    if not 1 <= request.head.version <= VERSION:
        raise InputError(
            f"the file's version is {request.head.version}; this recalld reads up to {VERSION}: upgrade it"
        )
    refs = {one.ref for one in request.projects}
    items: tuple[Project | Carried | Conflict, ...] = (*request.projects, *request.memories, *request.conflicts)
    for item in items:
        if (wrong := problem(item)) is not None:
            raise InputError(wrong)
        if isinstance(item, Carried) and item.project_ref is not None and item.project_ref not in refs:
            raise InputError(f"{item.id}: there is no project {item.project_ref} in the file")
    ids = [item.id for item in request.memories]
    if len(set(ids)) < len(ids):
        raise InputError("a memory stands twice in the file")
    if (turning := cycle(request.memories)) is not None:
        raise InputError(f"{turning} takes its own place (superseded_by goes in a circle)")


def masked(context: Context, item: Carried) -> Carried:
    """`item` with its texts as this store would have kept them: no secret, nothing private."""
    content = _mask(context, item.content)
    if not content and item.status is not Status.DELETED:
        content = "(masked)"
    steps = tuple(
        Step(**msgspec.structs.asdict(step) | {"content": _mask(context, step.content)}) for step in item.history
    )
    short = {
        name: value and _mask(context, value)
        for name in ("source", "source_session", "branch", "worktree") if (value := getattr(item, name)) is not None
    }  # fmt: skip
    return msgspec.structs.replace(
        item, content=content, history=steps, aliases=_masked_all(context, item.aliases),
        tags=_masked_all(context, item.tags), **short,
    )  # fmt: skip


def _masked_all(context: Context, texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (_mask(context, text) for text in texts))))


def _known_as(context: Context, item: Project) -> Project:
    """A project without secrets in its name, its remotes and its places."""
    seen = tuple(
        msgspec.structs.replace(place, path=project.masked_path(place.path, context.redact)) for place in item.places
    )
    identities = tuple(project.masked_path(identity, context.redact) for identity in item.identities)
    return msgspec.structs.replace(
        item, name=_mask(context, item.name) or "project", identities=identities, places=seen
    )


def _mask(context: Context, text: str) -> str:
    return " ".join(context.redact(redact.public(text)).split())


def _outcome(db: apsw.Connection, item: Carried, project_id: int | None) -> Outcome:
    here = memories.get(db, item.id)
    if here is not None:
        if here.status is Status.DELETED and item.status is not Status.DELETED:
            return "deleted here"
        newer = item.version > here.version and item.status is not Status.DELETED
        return "updated" if newer else "known"
    if item.status is Status.DELETED:
        return "added"
    if remember.blocked(db, _candidate(item), project_id):
        return "deleted here"
    return "known" if transfer.same(db, item, project_id) else "added"


def _candidate(item: Carried) -> Candidate:
    """What the tombstones are asked about."""
    return Candidate(content=item.content, type=item.type, scope=item.scope, origin=item.origin)


def _store(
    db: apsw.Connection, context: Context, item: Carried, project_id: int | None, outcome: Outcome, *, readable: bool
) -> None:
    if outcome == "updated":
        kept_here = {"local_only": True} if item.local_only else {}
        memories.update(
            db, item.id, context.now, content=item.content, type=item.type, tags=item.tags, aliases=item.aliases,
            status=item.status, confidence=item.confidence, pinned=item.pinned, superseded_by=item.superseded_by,
            expires_at=item.expires_at, last_seen=item.last_seen, scope=item.scope, project_id=project_id,
            **kept_here,
        )  # fmt: skip
        db.execute("update memories set version = max(version, ?) where id = ?", (item.version, item.id))
    elif outcome == "added":
        transfer.put(db, item, project_id)
        if item.status is Status.DELETED:
            transfer.put_tombstone(db, item, context.now, readable=readable)
    elif outcome == "known" and (same := transfer.same(db, item, project_id)):
        for prompt_id, seen_at in item.sources:
            db.execute("insert or ignore into memory_sources values (?, ?, ?)", (same, prompt_id, seen_at))


def _link(db: apsw.Connection, context: Context, request: Import, taken: list[Carried]) -> None:
    """What needs both sides to be there; and each memory's own history in the place of this import's."""
    context.follow(db)
    for item in taken:
        for other in item.related:
            if memories.get(db, other):
                memories.relate(db, item.id, other)
        if len(memories.history(db, item.id)) == 1:  # it was added now, not brought up to date
            transfer.put_history(db, item)
    for conflict in request.conflicts:
        transfer.put_conflict(db, conflict)
