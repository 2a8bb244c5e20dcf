"""The table of all routes. Routing, the checks of requests, /openapi.json and /docs are made from it, and from nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from recalld.answers import DaemonStatus, Imported, Listed, Resolved, TagCount, Undone
from recalld.model import Memory
from recalld.store.conflicts import Conflict
from recalld.store.memories import Event
from recalld.store.projects import ProjectInfo
from recalld.store.statistics import Stats
from recalld.web import carrying, changing, looking, metrics, opening, shapes, words
from recalld.web.door import Call

JSON = "application/json"
PATHS: dict[str, Any] = {"id": words.Id, "number": words.Number, "name": str}
"""What stands in a path between braces."""


@dataclass(frozen=True)
class Route:
    """One method of one path. answer: the type of what is sent; None where `media` is no JSON, or with 204.

    errors: what it may refuse with, beyond what any route may. takes: media types of a body that `handle` reads raw.
    headers: of the answer, with what they tell. group: a heading of the docs.
    """

    group: str
    method: str
    path: str
    summary: str
    handle: Callable[[Call], Awaitable[Any]]
    query: type[msgspec.Struct] = words.Query
    body: type[msgspec.Struct] | None = None
    takes: tuple[str, ...] = ()
    answer: Any = None
    status: int = 200
    errors: tuple[int, ...] = ()
    media: tuple[str, ...] = (JSON,)
    headers: tuple[str, ...] = ()


ROUTES: tuple[Route, ...] = (
    Route("memories", "GET", "/search", "The memories that fit a question best, by words and by meaning",
          looking.search, words.Searched, answer=list[shapes.Hit]),
    Route("memories", "POST", "/write", "Store a sentence; one that is known is only seen again",
          changing.add, body=words.Written, status=201, answer=Memory, headers=("ETag", "Location")),
    Route("memories", "GET", "/memories", "A page of memories",
          looking.memories, words.Listing, answer=Listed),
    Route("memories", "POST", "/memories", "The same as POST /write",
          changing.add, body=words.Written, status=201, answer=Memory, headers=("ETag", "Location")),
    Route("memories", "GET", "/memories/{id}", "One memory", looking.memory, errors=(404,), answer=Memory, headers=("ETag",)),
    Route("memories", "PATCH", "/memories/{id}", "Change fields of a memory, if it is still the version that was seen",
          changing.patch, body=words.Changed, errors=(404, 409, 428), answer=Memory, headers=("ETag",)),
    Route("memories", "DELETE", "/memories/{id}", "Delete a memory for good: text, vector and history",
          changing.delete, status=204, errors=(404,)),
    Route("memories", "GET", "/memories/{id}/history", "What a memory was before, who changed it, and when",
          looking.history, answer=list[Event], errors=(404,)),
    Route("memories", "POST", "/memories/{id}/feedback", "Say whether a memory was of use",
          changing.feedback, body=words.Judged, answer=Memory, errors=(404,)),
    Route("memories", "POST", "/bulk", "Do one thing to several memories, to all or to none",
          changing.bulk, body=words.Bulk, answer=shapes.Handled, errors=(404,)),
    Route("memories", "POST", "/undo", "Take back what was learnt last", changing.undo, answer=Undone),
    Route("to settle", "GET", "/inbox", "What waits for a person's yes or no",
          looking.inbox, words.InProject, answer=list[Memory]),
    Route("to settle", "GET", "/conflicts", "Pairs of memories that cannot both hold",
          looking.conflicts, words.InProject, answer=list[Conflict]),
    Route("to settle", "POST", "/conflicts/{number}/resolve", "Settle a conflict for good",
          changing.resolve, body=words.Kept, answer=Resolved, errors=(404,)),
    Route("receipts", "GET", "/receipts", "What was given to Claude, the newest first",
          looking.receipts, words.Receipted, answer=shapes.ReceiptPage),
    Route("receipts", "GET", "/receipts/{number}", "One injection: what was considered, and why it was given or not",
          looking.receipt, answer=shapes.FullReceipt, errors=(404,)),
    Route("around", "GET", "/projects", "All known projects", looking.projects, answer=list[ProjectInfo]),
    Route("around", "GET", "/tags", "The tags in use, the most used first",
          looking.tags, words.InProject, answer=list[TagCount]),
    Route("around", "GET", "/stats", "Memories, injections and their use, extraction and its cost, by day",
          looking.stats, words.Counted, answer=Stats),
    Route("around", "GET", "/status", "What the daemon does", looking.status, answer=DaemonStatus),
    Route("around", "GET", "/metrics", "The same in numbers, for Prometheus", metrics.metrics, media=("text/plain",)),
    Route("around", "GET", "/doctor", "What recalld depends on, looked at", looking.doctor, answer=list[shapes.Check]),
    Route("around", "POST", "/pause", "Give and learn nothing until /resume", changing.pause, answer=shapes.Paused),
    Route("around", "POST", "/resume", "Take /pause back", changing.resume, answer=shapes.Paused),
    Route("around", "GET", "/events", "A stream: `ready` at once, `change` whenever something changed",
          looking.events, media=("text/event-stream",)),
    Route("carry", "GET", "/export", "Everything that is remembered, as a file",
          carrying.export, words.Exported, media=tuple(carrying.MEDIA.values()), headers=("Content-Disposition",)),
    Route("carry", "POST", "/import", "Take in an export; nothing that was deleted here comes back",
          carrying.import_, words.Imported, takes=(JSON, "application/x-ndjson"), answer=Imported),
    Route("open", "GET", "/health", "Whether this serves", opening.health, answer=shapes.Health),
    Route("open", "POST", "/login-codes", "A code for the viewer to log in with", opening.code,
          answer=shapes.CodeGiven, status=201),
    Route("open", "POST", "/login", "A session for a code", opening.login, body=words.Code, answer=shapes.Token,
          errors=(401,)),
    Route("open", "GET", "/", "The viewer", opening.viewer, errors=(404,), media=("text/html",)),
    Route("open", "GET", "/docs", "This interface, to be read", opening.docs, errors=(404,), media=("text/html",)),
    Route("open", "GET", "/static/{name}", "A part of these pages", opening.static, errors=(404,), media=("*/*",)),
)  # fmt: skip
