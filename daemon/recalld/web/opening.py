"""Routes that let someone in, and those that hold no data: health, the viewer's and the docs' files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from starlette.responses import Response

from recalld import __version__
from recalld.web.door import Call
from recalld.web.peer import is_stranger
from recalld.web.problems import Refusal

FILES = Path(__file__).parent / "static"
MEDIA = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".webmanifest": "application/manifest+json",
    ".json": "application/json",
}  # fmt: skip


async def health(call: Call) -> Any:
    """That we serve."""
    return {"status": "ok", "version": __version__}


async def code(call: Call) -> Any:
    """A code that the viewer's page can log in with."""
    return {"code": call.door.keys.code()}


async def login(call: Call) -> Any:
    """A session for a code; it was on a browser's command line, which other users of the machine can read."""
    client, server = call.request.client, call.request.scope["server"]
    if client is None or is_stranger(client.port, server[1]):
        raise Refusal(401, "this code is another user's")
    if (token := call.door.keys.login(call.body.code)) is None:
        raise Refusal(401, "this code is used up or too old; `recalld ui` opens the page with a new one")
    return {"token": token}


async def viewer(call: Call) -> Response:
    """The viewer's page."""
    return _file("index.html", call)


async def docs(call: Call) -> Response:
    """The page that shows what this interface can do."""
    return _file("docs.html", call)


async def static(call: Call) -> Response:
    """A part of these pages."""
    return _file(call.path["name"], call)


def _file(name: str, call: Call) -> Response:
    """A file by its name, or that the browser has it already. Raises Refusal."""
    path = FILES / name
    if path.suffix not in MEDIA or not path.is_file():  # a name has no slash in it: the route takes none
        raise Refusal(404, "there is no such file")
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in call.request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=MEDIA[path.suffix])
