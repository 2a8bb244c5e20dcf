"""The same server for the HTTP door: MCP's streamable HTTP, every request on its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from recalld.mcp.bounds import CLIENT_HEADER, named
from recalld.mcp.server import Context, Served, build
from recalld.mcp.stdio import mended

MAX_BODY_BYTES = 1024 * 1024


class App:
    """An ASGI application for one path. Who may use it (token, Host, Origin) is decided by what it is mounted in.

    `?project=NAME` (or `all`) in its URL is what `--project` is to `recalld mcp`; the header X-Recalld-Client is
    `--client`. Without a project the client's roots decide, else it sees user scope only.
    """

    def __init__(self) -> None:
        self._manager = StreamableHTTPSessionManager(
            build(_served), json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """To be entered, once, for as long as requests may come."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        whole = await _body(receive) if scope["method"] == "POST" else None
        await self._manager.handle_request(scope, _given(whole, receive) if whole else receive, send)


async def _body(receive: Receive) -> Message:
    """The request's body in one message, as far as it is not too large, with lone surrogates replaced as on stdio."""
    parts: list[bytes] = []
    message: Message = {"type": "http.request", "more_body": True}
    while message.get("more_body", False) and sum(map(len, parts)) <= MAX_BODY_BYTES:
        message = await receive()
        if message["type"] != "http.request":
            return message
        parts.append(message.get("body", b""))
    text = b"".join(parts)
    # What is put in has the length of what it stands for, so that the request's Content-Length stays true.
    return {**message, "body": mended(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")}


def _given(first: Message, receive: Receive) -> Receive:
    """`receive`, which returns `first` before anything else."""
    waiting = [first]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _served(context: Context) -> Served:
    request = context.request
    if not isinstance(request, Request):
        return Served()
    project = request.query_params.get("project")
    return Served(request.headers.get(CLIENT_HEADER), named(project, "/") if project else None)
