"""Routes that only look."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.responses import Response, StreamingResponse

from recalld.ends import shown
from recalld.model import Status
from recalld.web.door import Answer, Call
from recalld.web.problems import Refusal

HEARTBEAT_S = 15.0


async def search(call: Call) -> Any:
    """The memories that fit a question."""
    wanted = msgspec.to_builtins(call.query)
    found = await call.ask("search", query=wanted.pop("q"), **wanted)
    return [shown(one) for one in found]


async def memories(call: Call) -> Any:
    """A page of memories."""
    return await call.ask("browse", **msgspec.to_builtins(call.query))


async def memory(call: Call) -> Answer:
    """One memory; a deleted one is not there any more."""
    found = await call.ask("show", id=call.path["id"])
    if found["status"] == Status.DELETED:
        raise Refusal(404, f"{found['id']} was deleted and its text is gone for good")
    return tagged(found)


def tagged(memory: dict[str, Any], **headers: str) -> Answer:
    """A memory with its version as ETag."""
    return Answer(memory, {"ETag": f'"{memory["version"]}"', **headers})


async def history(call: Call) -> Any:
    """What a memory was before."""
    return await call.ask("history", id=call.path["id"])


async def inbox(call: Call) -> Any:
    """What waits for a yes or no."""
    return await call.ask("inbox", project=call.query.project)


async def conflicts(call: Call) -> Any:
    """What cannot both hold."""
    return await call.ask("conflicts", project=call.query.project)


async def receipts(call: Call) -> Any:
    """A page of receipts."""
    wanted = msgspec.to_builtins(call.query)
    cursor = wanted.pop("cursor")
    page = await call.ask("receipts", before=int(cursor) if cursor else None, **wanted)
    return {"items": page["items"], "next_cursor": str(page["next"]) if page["next"] else None}


async def receipt(call: Call) -> Any:
    """One injection in full."""
    found = await call.ask("receipt", id=call.path["number"])
    return {**found["receipt"], "project": found["project"], "memories": found["memories"]}


async def projects(call: Call) -> Any:
    """All projects."""
    return await call.ask("projects")


async def tags(call: Call) -> Any:
    """The tags in use."""
    return await call.ask("tags", project=call.query.project)


async def stats(call: Call) -> Any:
    """Counters and their course."""
    return await call.ask("stats", project=call.query.project, days=call.query.days)


async def status(call: Call) -> Any:
    """What the daemon does."""
    return await call.ask("status")


async def doctor(call: Call) -> Any:
    """What is looked at by `recalld doctor`."""
    from recalld import doctor as checks  # late: it brings the installer and the extraction

    found = await asyncio.to_thread(checks.examine, call.door.paths, os.environ)
    return [check._asdict() for check in found]


async def events(call: Call) -> Response:
    """A stream of what changes."""
    followed = call.door.changes.follow()
    first = await anext(followed, None)  # a refusal comes before the stream begins

    async def stream() -> AsyncIterator[str]:
        try:
            yield _event("ready", first)
            ahead = asyncio.ensure_future(anext(followed, None))
            while True:
                done, _ = await asyncio.wait([ahead], timeout=HEARTBEAT_S)
                if not done:
                    yield ": still here\n\n"
                elif (change := ahead.result()) is None:
                    return
                else:
                    yield _event("change", change)
                    ahead = asyncio.ensure_future(anext(followed, None))
        finally:
            ahead.cancel()
            await asyncio.wait([ahead])
            await followed.aclose()

    return StreamingResponse(stream(), media_type="text/event-stream")


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {msgspec.json.encode(data).decode()}\n\n"
