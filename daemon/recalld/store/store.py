"""The store as the rest of recalld uses it: one thread that writes, one that reads for hooks, one for all others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from recalld.errors import DamagedError
from recalld.store import changes
from recalld.store.connection import open_reader, open_writer, snapshot, transaction, translated
from recalld.store.migrate import migrate

P = ParamSpec("P")
T = TypeVar("T")
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The clock that everything but a test uses."""
    return datetime.now(UTC)


LOOK_S = 60.0
"""What only looks may take so long: counting and exporting a large store."""

LONG_S = 600.0
"""Copying, checking or indexing a whole database may take so much longer than anything else."""


class Lane:
    """One thread, and since when it has been at its present work."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._due: float | None = None

    async def run(self, work: Callable[[], T], allowed_s: float = 0.0) -> T:
        """What `work` returns, done on the thread. allowed_s: it may take so long before it counts as stuck."""

        def timed() -> T:
            self._due = time.monotonic() + allowed_s
            try:
                return work()
            finally:
                self._due = None

        return await asyncio.get_running_loop().run_in_executor(self._pool, timed)

    @property
    def stuck_s(self) -> float:
        """For how long its present work has taken more time than it may."""
        due = self._due
        return 0.0 if due is None else max(0.0, time.monotonic() - due)

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()


class Store:
    """An open database. `await store.write(fn, ...)` is one transaction, `await store.read(fn, ...)` one snapshot.

    vectors: the embedding model once it is loaded; until then memories are stored without a vector and wait for one.
    suspicious: set when SQLite met damage in the file or in an index.
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
            self._looker = open_reader(path)
        except BaseException:
            self._writer.close()
            raise
        self._writing = Lane("store-write")
        self._reading = Lane("store-read")
        self._looking = Lane("store-look")
        self.suspicious = asyncio.Event()

    @property
    def stuck_s(self) -> float:
        """For how long, in seconds, a thread has been at a piece of work that should be over; 0 when all is well."""
        return max(self._writing.stuck_s, self._reading.stuck_s, self._looking.stuck_s)

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

        return await self._run(self._writing, work)

    async def mend(self, fn: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `write`, for what makes damaged indexes anew: it cannot wait until these have followed all changes."""

        def work() -> T:
            with transaction(self._writer):
                result = fn(self._writer, *args, **kwargs)
                changes.follow(self._writer, self.vectors, "recalld", None, self._clock())
            return result

        return await self._run(self._writing, work, LONG_S)

    async def read(self, fn: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(db, ...)` on a snapshot in which the indexes are up to date."""
        return await self._snapshot(self._reading, self._reader, 0.0, lambda db: fn(db, *args, **kwargs))

    async def look(self, fn: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `read`, on a thread of its own: for what no hook waits for, and what no hook shall have to wait for."""
        return await self._snapshot(self._looking, self._looker, LOOK_S, lambda db: fn(db, *args, **kwargs))

    async def _snapshot(
        self, lane: Lane, connection: apsw.Connection, allowed_s: float, fn: Callable[[apsw.Connection], T]
    ) -> T:
        def work() -> tuple[bool, T | None]:
            with snapshot(connection):
                if changes.waiting(connection):
                    return False, None
                return True, fn(connection)

        while True:
            current, result = await self._run(lane, work, allowed_s)
            if current:
                return result  # type: ignore[return-value]  # fn ran, so this is its T
            await self.write(_nothing)

    async def outside(self, fn: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(db, ...)` on the writer outside of any transaction, as a backup or a checkpoint needs."""

        def work() -> T:
            with translated(self.path):
                return fn(self._writer, *args, **kwargs)

        return await self._run(self._writing, work, LONG_S)

    async def _run(self, lane: Lane, work: Callable[[], T], allowed_s: float = 0.0) -> T:
        try:
            return await lane.run(work, allowed_s)
        except DamagedError:
            self.suspicious.set()
            raise

    async def beside(self, fn: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(db, ...)` on a reading connection of its own, in nobody's way: for what takes long."""

        def work() -> T:
            db = open_reader(self.path)
            try:
                with translated(self.path):
                    return fn(db, *args, **kwargs)
            finally:
                db.close()

        return await asyncio.to_thread(work)

    async def close(self) -> None:
        """Finish what runs, fold the WAL back into the database, close."""
        await self._looking.run(self._looker.close)
        await self._reading.run(self._reader.close)
        await self._writing.run(self._writer.close)
        self._looking.close()
        self._reading.close()
        self._writing.close()


def _nothing(db: apsw.Connection) -> None:
    """Only let waiting changes be followed."""
