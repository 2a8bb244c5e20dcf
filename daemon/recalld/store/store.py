"""The store as the rest of recalld uses it: one thread that writes, one that reads, never in each other's way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from recalld.store import changes
from recalld.store.connection import open_reader, open_writer, snapshot, transaction, translated
from recalld.store.migrate import migrate

P = ParamSpec("P")
T = TypeVar("T")
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The clock that everything but a test uses."""
    return datetime.now(UTC)


class Store:
    """An open database. `await store.write(fn, ...)` is one transaction, `await store.read(fn, ...)` one snapshot.

    vectors: the embedding model once it is loaded; until then memories are stored without a vector and wait for one.
    """

    def __init__(self, path: Path, backups: Path, clock: Clock = utc_now) -> None:
        """Open and migrate the database at `path`. Raises StoreError, TransientError."""
        self.path = path
        self.vectors: changes.Vectors | None = None
        self._clock = clock
        self._writer = open_writer(path)
        try:
            migrate(self._writer, backups)
            self._reader = open_reader(path)
        except BaseException:
            self._writer.close()
            raise
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="store-write")
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="store-read")

    async def write(self, fn: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(db, ...)` in one transaction by the name of recalld itself."""
        return await self.act("recalld", None, False, fn, *args, **kwargs)

    async def write_durably(
        self, fn: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `write`; the commit survives a power cut."""
        return await self.act("recalld", None, True, fn, *args, **kwargs)

    async def act(
        self,
        actor: str,
        batch: str | None,
        durable: bool,
        fn: Callable[Concatenate[apsw.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `fn(db, ...)` in one transaction whose changes the history puts down to `actor`.

        batch: what `undo` takes back together.
        """

        def work() -> T:
            with transaction(self._writer, durable=durable):
                changes.follow(self._writer, self.vectors, "sqlite3", None, self._clock())
                result = fn(self._writer, *args, **kwargs)
                changes.follow(self._writer, self.vectors, actor, batch, self._clock())
            return result

        return await asyncio.get_running_loop().run_in_executor(self._writing, work)

    async def read(self, fn: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(db, ...)` on a snapshot in which the indexes are up to date."""

        def work() -> tuple[bool, T | None]:
            with snapshot(self._reader):
                if changes.waiting(self._reader):
                    return False, None
                return True, fn(self._reader, *args, **kwargs)

        loop = asyncio.get_running_loop()
        while True:
            current, result = await loop.run_in_executor(self._reading, work)
            if current:
                return result  # type: ignore[return-value]  # fn ran, so this is its T
            await self.write(_nothing)

    async def outside(self, fn: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(db, ...)` on the writer outside of any transaction, as a backup or a checkpoint needs."""

        def work() -> T:
            with translated(self.path):
                return fn(self._writer, *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._writing, work)

    async def close(self) -> None:
        """Finish what runs, fold the WAL back into the database, close."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._reading, self._reader.close)
        await loop.run_in_executor(self._writing, self._writer.close)
        self._reading.shutdown()
        self._writing.shutdown()


def _nothing(db: apsw.Connection) -> None:
    """Only let waiting changes be followed."""
