"""The application: the table of routes made to answer."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as Mounted
from starlette.types import ASGIApp

from recalld.errors import RecalldError
from recalld.mcp.bounds import CLIENT_HEADER
from recalld.web import openapi
from recalld.web.door import SOURCE, Answer, Call, Door
from recalld.web.guard import PATIENCE_S, Guard, limit
from recalld.web.mcp_path import McpPath
from recalld.web.problems import Refusal, refusal
from recalld.web.routes import JSON, PATHS, ROUTES, Route

log = logging.getLogger(__name__)


def build(door: Door, port: int) -> tuple[ASGIApp, McpPath]:
    """The application that serves at `port`, and its part that has an end of its own."""
    paths: dict[str, dict[str, Route]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = route
    mcp = McpPath(door)
    mounted = [Mounted(path, _endpoint(door, methods), methods=list(methods)) for path, methods in paths.items()]
    described = Response(msgspec.json.encode(openapi.describe()), media_type=JSON)

    async def description(request: Request) -> Response:
        return described

    inner = Starlette(
        routes=[*mounted, Mounted("/openapi.json", description), Mounted("/mcp", mcp)],
        exception_handlers={HTTPException: _unrouted},
    )
    inner.router.redirect_slashes = False
    return Guard(inner, door.keys, port), mcp


def _endpoint(door: Door, methods: Mapping[str, Route]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        route = methods["GET" if request.method == "HEAD" else request.method]
        try:
            return _response(route, await route.handle(await _call(door, route, request)))
        except ClientDisconnect:
            return Response(status_code=400)  # to nobody
        except (Refusal, RecalldError, msgspec.MsgspecError) as error:
            return refusal(error).response()
        except Exception as error:  # a door is the last to catch
            log.exception("a request failed")
            return Refusal(500, f"failed unexpectedly ({type(error).__name__}); see `recalld logs`").response()

    return endpoint


async def _call(door: Door, route: Route, request: Request) -> Call:
    """The request, checked. Raises Refusal, msgspec.DecodeError."""
    source = request.headers.get(CLIENT_HEADER, SOURCE)
    if not re.fullmatch(r"[a-z0-9-]{1,40}", source):
        raise Refusal(422, "X-Recalld-Client: 1 to 40 of a-z, 0-9 and -")
    said = request.query_params
    if len(said.multi_items()) != len(said):
        raise Refusal(422, "a parameter stands twice in the URL")
    query = msgspec.convert(dict(said), route.query, strict=False)
    path = {name: msgspec.convert(value, PATHS[name], strict=False) for name, value in request.path_params.items()}
    body = await _body(route, request) if route.body or route.takes else None
    return Call(door, request, source, query, body, path)


async def _body(route: Route, request: Request) -> Any:
    """The body: as its type, or as it is."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in (route.takes or (JSON,)):
        raise Refusal(415, f"Content-Type: {' or '.join(route.takes or (JSON,))}")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(PATIENCE_S):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > limit(route.path):
                    raise Refusal(413, f"the body is larger than {limit(route.path)} bytes")
    except TimeoutError as error:
        raise Refusal(408, f"the body has not come within {PATIENCE_S:g} s") from error
    data = b"".join(parts)
    try:
        return msgspec.json.decode(data, type=route.body) if route.body else data
    except UnicodeDecodeError as error:
        raise Refusal(400, "the body is no UTF-8 text") from error


def _response(route: Route, done: Any) -> Response:
    if isinstance(done, Response):
        return done
    if done is None:
        return Response(status_code=route.status)
    data, headers = (done.data, done.headers) if isinstance(done, Answer) else (done, {})
    return Response(msgspec.json.encode(data), route.status, headers, JSON)


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "there is nothing at this path; /docs lists what there is" if error.status_code == 404 else error.detail
    return Refusal(error.status_code, detail).response(dict(error.headers or {}))
