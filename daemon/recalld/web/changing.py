"""Routes that change memories."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recalld.errors import ConflictError
from recalld.model import Memory, Scope
from recalld.web.door import Answer, Call
from recalld.web.looking import tagged
from recalld.web.problems import Refusal
from recalld.web.words import Bulk, Written


async def add(call: Call) -> Answer:
    """Store a sentence."""
    written: Written = call.body
    scope = written.scope or (Scope.PROJECT if written.project else Scope.USER)
    if scope is Scope.PROJECT and not written.project:
        raise Refusal(422, "scope project: name the project, too")
    if scope is not Scope.PROJECT and written.project:
        raise Refusal(422, f"scope {scope} belongs to no project; give project or scope")
    stored = await call.ask(
        "add", text=written.content, type=written.type, scope=scope, tags=written.tags, pin=written.pin,
        expires=written.expires, **_place(written.project),
    )  # fmt: skip
    return tagged(stored, Location=f"/memories/{stored['id']}")


def _place(project: str | None) -> dict[str, Any]:
    """Where to write: a folder may be of a project that is not known yet, a name may not."""
    return {"cwd": project} if project and project.startswith("/") else {"project": project}


async def patch(call: Call) -> Answer:
    """Change fields of a memory, if it is still the version that was seen."""
    changed = msgspec.to_builtins(call.body)
    seen = {changed.pop("version", None), _version(call)} - {None}
    if not seen:
        raise Refusal(428, 'say which version you saw: `version`, or `If-Match: "VERSION"`')
    if changed.get("expires", "") is None:
        changed["expires"] = ""  # the same to the verb; what is None is not sent
    if len(seen) > 1:
        raise await _stale(call, "`version` and `If-Match` name two versions, and both must be the stored one")
    try:
        return tagged(await call.ask("patch", id=call.path["id"], version=seen.pop(), **changed))
    except ConflictError as error:
        raise await _stale(call, str(error)) from error


async def _stale(call: Call, line: str) -> Refusal:
    """The refusal for who saw another version, with the one that is there."""
    return Refusal(409, line, current=msgspec.convert(await call.ask("show", id=call.path["id"]), Memory))


def _version(call: Call) -> int | None:
    """What `If-Match` says. Raises Refusal where that is no version of ours."""
    said = call.request.headers.get("if-match")
    if said is None:
        return None
    if not (found := re.fullmatch(r'"([1-9]\d{0,14})"', said.strip())):
        raise Refusal(422, 'If-Match: one ETag of a memory, as `"3"`')
    return int(found[1])


async def delete(call: Call) -> None:
    """Delete a memory for good."""
    await call.ask("delete", ids=[call.path["id"]])


async def feedback(call: Call) -> Any:
    """Say whether a memory was of use."""
    return await call.ask("feedback", id=call.path["id"], verdict=call.body.verdict, project="all")


async def bulk(call: Call) -> Any:
    """Do one thing to several memories."""
    wanted: Bulk = call.body
    ids: dict[str, Any] = {"ids": wanted.ids}
    match wanted.action:
        case "tag":
            done = await call.ask("retag", **ids, add=wanted.tags)
        case "untag":
            done = await call.ask("retag", **ids, remove=wanted.tags)
        case "move":
            done = await call.ask("move", **ids, project=wanted.project, scope=wanted.scope)
        case action:
            done = await call.ask(action, **ids)
    return {"memories": done}


async def resolve(call: Call) -> Any:
    """Settle a conflict."""
    return await call.ask("resolve", conflict=call.path["number"], keep=call.body.keep)


async def undo(call: Call) -> Any:
    """Take back what was learnt last."""
    return await call.ask("undo")


async def pause(call: Call) -> Any:
    """Give and learn nothing from now on."""
    return await call.ask("pause")


async def resume(call: Call) -> Any:
    """Go on."""
    return await call.ask("resume")
