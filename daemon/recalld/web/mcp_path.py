"""The Model Context Protocol at /mcp: its libraries are large, so they come with the first request."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from recalld.web.door import Door


class McpPath:
    """An ASGI application. Its server lives in a task of its own, from the first request to `close`."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._beginning = asyncio.Lock()
        self._over = asyncio.Event()
        self._app: ASGIApp | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        async with self._beginning:
            app = self._app or await self._begin()
        await app(scope, receive, send)

    async def close(self) -> None:
        """End the server, if it was begun."""
        self._over.set()
        if self._task:
            await asyncio.wait([self._task], timeout=1.0)

    async def _begin(self) -> ASGIApp:
        from recalld.mcp.http import App  # late: see above

        app, ready = App(), asyncio.Event()

        async def live() -> None:
            async with app.running():
                ready.set()
                await self._over.wait()

        self._task = asyncio.ensure_future(live())
        await ready.wait()
        self._app = app
        return app
