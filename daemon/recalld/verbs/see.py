"""Verbs that only look."""

from __future__ import annotations

from datetime import datetime

import apsw
import msgspec

from recalld import query, recall, segment
from recalld.answers import Explained, Found
from recalld.errors import InputError
from recalld.model import Memory, Scope, Status, Type, timestamp
from recalld.store import memories, receipts, search
from recalld.store.memories import Event, Filter
from recalld.verbs.context import Context, chosen_projects
from recalld.verbs.memories import point
from recalld.verbs.receipts import explained

DEFAULT_LIMIT = 1_000
SEARCH_LIMIT = 20
FLOOR = 0.05
"""What is less similar than this has nothing to do with the question."""


class List(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memories. status: as `statuses` reads it."""

    cwd: str = ""
    project: str | None = None
    scope: Scope | None = None
    type: Type | None = None
    status: str = Status.ACTIVE
    tag: str | None = None
    limit: int = DEFAULT_LIMIT


def list_(db: apsw.Connection, context: Context, request: List) -> list[Memory]:
    """The memories of a project and of the user, pinned ones first, then the newest."""
    return memories.listing(db, chosen(db, context, request), request.limit)


def chosen(db: apsw.Connection, context: Context, request: List) -> Filter:
    """The memories that `request` means."""
    return Filter(
        projects=chosen_projects(db, context, request.project, request.cwd),
        scope=request.scope,
        type=request.type,
        statuses=statuses(request.status),
        tag=request.tag,
    )


def statuses(text: str) -> tuple[Status, ...]:
    """`active`, `pending,archived`, or `all` (but for tombstones). Raises InputError."""
    if text == "all":
        return tuple(status for status in Status if status is not Status.DELETED)
    try:
        return tuple(Status(part.strip()) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"status {text}: one of {', '.join(Status)} or all") from error


class Search(List, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question and which memories may answer it. since, until: as `point` reads them."""

    query: str
    since: str | None = None
    until: str | None = None
    limit: int = SEARCH_LIMIT


def search_(db: apsw.Connection, context: Context, request: Search) -> list[Found]:
    """The memories that fit a question best, by words and by meaning; those out of force by words alone."""
    asked = query.build(request.query, "", context.now)
    since, until = (point(text, context.now, -1) if text else None for text in (request.since, request.until))
    wanted = chosen(db, context, request)
    if wanted.statuses != (Status.ACTIVE,):
        return _by_words(db, request, wanted, since, until)
    filters = recall.Filters(
        types=(request.type,) if request.type else (),
        tags=(request.tag,) if request.tag else (),
        since=since or asked.since,
        until=until or asked.until,
    )
    places = _places(db, wanted.projects, request.scope)
    embedder = context.vectors.embedder if context.vectors else None
    ranked = recall.rank(db, places, asked, embedder, context.now, context.config.memory, filters, limit=request.limit)
    ranked = [item for item in ranked if item.similarity >= FLOOR]
    rows = memories.by_seq(db, [item.seq for item in ranked])
    return [Found(rows[item.seq], item.score, item.similarity) for item in ranked if item.seq in rows]


def _by_words(
    db: apsw.Connection, request: Search, wanted: Filter, since: datetime | None, until: datetime | None
) -> list[Found]:
    """No index holds what is not in force: the share of the question's words decides."""
    wanted = msgspec.structs.replace(
        wanted, since=timestamp(since) if since else None, until=timestamp(until) if until else None
    )
    words = segment.terms(request.query)
    found = []
    for memory in memories.listing(db, wanted):
        held = set(segment.terms(memory.content))
        if share := sum(word in held for word in words) / len(words) if words else 0.0:
            found.append(Found(memory, share, share))
    return sorted(found, key=lambda item: item.score, reverse=True)[: request.limit]


def _places(db: apsw.Connection, projects: tuple[int, ...] | None, scope: Scope | None) -> list[str]:
    places = sorted(search.partitions(db)) if projects is None else search.seen_from(projects)
    if scope is None:
        return places
    return [place for place in places if (place == scope if scope is not Scope.PROJECT else place.startswith("p"))]


class One(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory, by id or its beginning."""

    id: str


def show(db: apsw.Connection, context: Context, request: One) -> Memory:
    """One memory with all that is known of it."""
    return memories.find(db, request.id)


def history(db: apsw.Connection, context: Context, request: One) -> list[Event]:
    """What a memory was before, who changed it, and when."""
    return memories.history(db, memories.find(db, request.id).id)


class Why(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The session whose last receipt is meant, by the beginning of its id; else the project's."""

    session: str | None = None
    cwd: str = ""
    project: str | None = None


def why(db: apsw.Connection, context: Context, request: Why) -> Explained:
    """What the last injection gave, what it left out, and why."""
    projects = None if request.session else chosen_projects(db, context, request.project, request.cwd)
    receipt = receipts.latest(db, request.session, projects)
    if receipt is None:
        raise InputError("nothing was injected yet" + (f" into session {request.session}" if request.session else ""))
    return explained(db, receipt)
