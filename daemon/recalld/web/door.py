"""What all requests share: the way to the daemon, the keys, and the changes that are watched for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request

from recalld.client import AsyncClient
from recalld.errors import RecalldError
from recalld.paths import Paths
from recalld.web.keys import Keys
from recalld.web.problems import Refusal

SOURCE = "http"

AT_ONCE = 1
"""So many questions at once does the daemon get from us, and it rests as long as one took: hooks wait for it, too."""
REST_S = 0.05
"""At most; a long question is a statistic or an export, which keeps no hook waiting."""
LOOK_S = 0.5
LISTENERS = 64


class Door:
    """One per process."""

    def __init__(self, paths: Paths, keys: Keys) -> None:
        self.paths, self.keys = paths, keys
        self.changes = Changes(self)
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def ask(self, source: str, verb: str, **arguments: Any) -> Any:
        """What the daemon answers to `source`, as plain data. Raises RecalldError."""
        given = {name: value for name, value in arguments.items() if value is not None}
        await self._turns.acquire()
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            return await AsyncClient(self.paths.socket, source=source, cwd="").call(verb, **given)
        finally:  # as long as it was busy with us, it is free for others
            loop.call_later(min(REST_S, loop.time() - begun), self._turns.release)


class Changes:
    """Looks whether anything changed, as long as somebody listens."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._listeners = 0
        self._looking: asyncio.Task[None] | None = None
        self._now: dict[str, int] | None = None
        self._moved = asyncio.Event()
        self._over = False

    async def follow(self) -> AsyncGenerator[dict[str, int], None]:
        """How things are at first, and whenever that is another. Raises Refusal where too many listen."""
        seen = None
        with self._listening():
            while not self._over:
                moved, now = self._moved, self._now
                if now is not None and now != seen:
                    seen = now
                    yield {"revision": sum(now.values()), **now}
                else:
                    await moved.wait()

    def stop(self) -> None:
        """Let all listeners go."""
        self._over = True
        self._moved.set()

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        if self._listeners >= LISTENERS:
            raise Refusal(503, f"{LISTENERS} programs listen already", retry_s=60)
        self._listeners += 1
        if self._looking is None:
            self._now, self._looking = None, asyncio.ensure_future(self._look())
        try:
            yield
        finally:
            self._listeners -= 1
            if not self._listeners and self._looking:
                self._looking.cancel()
                self._looking = None

    async def _look(self) -> None:
        while True:
            with contextlib.suppress(RecalldError):  # the daemon is being restarted, say
                now = await self._door.ask(SOURCE, "revision")
                if now != self._now:
                    self._now, moved, self._moved = now, self._moved, asyncio.Event()
                    moved.set()
            await asyncio.sleep(LOOK_S)


@dataclass(frozen=True)
class Call:
    """One request, checked. query, body, path: as the types of its route have them."""

    door: Door
    request: Request
    source: str
    query: Any
    body: Any
    path: dict[str, Any]

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """What the daemon answers. Raises RecalldError."""
        return await self.door.ask(self.source, verb, **arguments)


class Answer(msgspec.Struct, frozen=True):
    """Data to be sent as JSON, with more headers."""

    data: Any
    headers: dict[str, str]
