"""The verbs on the database itself, for when no daemon runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from recalld.chores import CHORES, store_status
from recalld.paths import Paths
from recalld.service import Service
from recalld.settings import Settings
from recalld.store.store import Store, utc_now
from recalld.verbs import registry


class Direct:
    """What a daemon answers, from the database: text search only, no hooks."""

    def __init__(self, paths: Paths) -> None:
        """Raises ConfigError, StoreError."""
        paths.ensure()
        self._paths = paths
        self._settings = Settings(paths.config)
        self._store = Store(paths.database, paths.backups)
        self._service = Service(self._store, self._settings, utc_now, Path.home())

    async def call(self, verb: str, arguments: dict[str, Any]) -> Any:
        """What `verb` answers, as plain data like that of the daemon."""
        if verb == "status":
            return await self._store.read(store_status)
        if verb in CHORES:
            answer = await CHORES[verb](self._store, self._settings, self._paths, arguments)
        else:
            arguments = dict(arguments)
            context = self._service.context(str(arguments.pop("source", "cli")))
            answer = await registry.call(self._store, context, verb, arguments)
        return msgspec.to_builtins(answer)

    async def close(self) -> None:
        """Close the database."""
        await self._store.close()


@contextlib.asynccontextmanager
async def direct(paths: Paths) -> AsyncIterator[Direct]:
    """`Direct` for the length of a block."""
    opened = Direct(paths)
    try:
        yield opened
    finally:
        await opened.close()


def call(paths: Paths, verb: str, arguments: dict[str, Any]) -> Any:
    """What `verb` answers from the database itself, which is open for that long only. Raises RecalldError."""

    async def work() -> Any:
        async with direct(paths) as opened:
            return await opened.call(verb, arguments)

    return asyncio.run(work())
