"""The background: the queue, the spool, quiet transcripts, vectors that are missing, the daily upkeep."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recalld import recap, wire
from recalld.errors import InputError, TransientError
from recalld.learn import BATCH, Learner
from recalld.model import moment, timestamp
from recalld.paths import spooled
from recalld.service import Service
from recalld.store import changes, jobs, turns
from recalld.store.store import Clock, Store
from recalld.transcript import lines

log = logging.getLogger(__name__)

SPOOL_TIME = timedelta(days=7)
MAX_SPOOLED_BYTES = 17 * 1024 * 1024
"""More than a hook may write; a cut file is not understood and goes."""

EMBED_BATCH = 32
"""So many vectors a transaction; a Stop waits for it."""
STALE = timedelta(hours=1)
"""A session that said nothing for so long and has an open turn was closed without a word."""

TICK_S = 60.0
"""The longest sleep; upkeep and stale sessions are looked for then."""

FAILED_S = 5.0
"""The pause after work that failed for no known reason."""

IMPATIENT_S = 0.05
"""The shortest sleep between two looks at the queue."""


class Worker:
    """Runs until cancelled; `wake()` makes it look at the queue now."""

    def __init__(
        self,
        store: Store,
        service: Service,
        learner: Learner,
        run_id: str,
        clock: Clock,
        spool: Path,
        upkeep: Callable[[], Awaitable[object]],
    ) -> None:
        self._store = store
        self._service = service
        self._learner = learner
        self._run_id = run_id
        self._clock = clock
        self._spool = spool
        self._upkeep = upkeep
        self._woken = asyncio.Event()
        self._spooled = True
        self._looked: tuple[float, changes.Vectors | None] = (0.0, None)
        self._missing_after: int | None = None
        self.last_error: str | None = None

    def look_in_spool(self) -> None:
        """Something lies in the spool."""
        self._spooled = True
        self.wake()

    def wake(self) -> None:
        """Something was queued."""
        self._woken.set()

    async def run(self) -> None:
        """Work until cancelled, whatever fails."""
        while True:
            self._woken.clear()
            try:
                await self._store.write(jobs.take_back)
                await self.step()
                pause_s = await self._pause_s()
            except Exception as error:  # the loop outlives whatever one job does
                self.last_error = f"{type(error).__name__}: {error}"
                log.exception("background work failed")
                pause_s = FAILED_S
            with contextlib.suppress(TimeoutError):  # see `vectors`, why not `wait_for`
                async with asyncio.timeout(pause_s):
                    await self._woken.wait()

    async def step(self) -> None:
        """Work off what is due now."""
        if self._spooled:
            self._spooled = False
            try:
                await self.take_spool()
            except Exception:
                self._spooled = True  # a full disk, a locked database: what is left comes with the next step
                raise
        while await self._learn_once():
            pass
        if self._look_due():
            self._missing_after = 0
        await self.embed_missing()
        await self._end_stale()
        await self._sum_up()
        await self._upkeep()

    async def _learn_once(self) -> bool:
        """One session's due turns; False where none are due."""
        now = self._clock()
        claimed = await self._store.write(jobs.claim_turns, self._run_id, now, BATCH)
        if not claimed:
            return False
        try:
            await self._learner.learn(claimed, now)
            self.last_error = None
        except Exception as error:
            self.last_error = f"{type(error).__name__}: {error}"
            log.exception("extraction failed")
            await self._store.write(jobs.fail, claimed, now, self.last_error)
        return True

    def _look_due(self) -> bool:
        """Whether to look for missing vectors: it reads every memory, and only a command without a model leaves some."""
        looked = (time.monotonic(), self._store.vectors)
        due = looked[1] is not self._looked[1] or looked[0] - self._looked[0] > TICK_S
        self._looked = looked if due else self._looked
        return due

    async def embed_missing(self) -> None:
        """Give a vector of the present model to each memory that has none; the next step goes on if work comes in."""
        while self._missing_after is not None and (vectors := self._store.vectors):
            self._missing_after = await self._store.write(changes.fill, vectors, self._missing_after, EMBED_BATCH)
            if self._woken.is_set():
                return

    async def take_spool(self) -> None:
        """Take in what hooks left while nobody answered; what is broken or older than SPOOL_TIME goes.

        What is no regular file is nothing a hook wrote: it is left where it is. So is what the database does not take,
        for the next look; it keeps back nothing but itself. Raises what that was.
        """
        refused: list[tuple[str, Exception]] = []
        for file in await asyncio.to_thread(spooled, self._spool):
            try:
                said_at, data = await asyncio.to_thread(_read, file)
            except OSError as error:
                log.warning("a file in the spool cannot be read: %s", error.strerror or "not a regular file")
                continue
            try:
                request = wire.parse_request(data)
                if self._clock() - said_at < SPOOL_TIME:
                    await self._service.take_in(request, said_at)
            except InputError:
                log.warning("a spooled hook could not be understood and is dropped")
            except TransientError:
                raise  # locked, or a full disk: the next one would wait as long
            except Exception as error:
                log.exception("a spooled hook could not be taken in")
                refused.append((request.name, error))
                continue
            with contextlib.suppress(OSError):
                file.unlink()
        if refused:
            if stops := sum(name == "stop" for name, _ in refused):  # a turn's prompt waits beside its Stop
                self._service.trouble.met(refused[-1][1], stops)
            raise refused[-1][1]

    async def quiet(self, transcript: Path) -> None:
        """A transcript has not been written to for a while: a turn may have ended without a Stop."""
        session = await self._store.read(turns.session_of_transcript, str(transcript))
        await self._learner.read_transcript(session, self._clock())
        self.wake()

    async def _end_stale(self) -> None:
        now = self._clock()
        for session_id in await self._store.read(turns.stale_sessions, timestamp(now - STALE)):
            session = await self._store.read(turns.session, session_id)
            if session and session.transcript_path and _written_since(session.transcript_path, now - STALE):
                continue
            await self._learner.read_transcript(session, now, final=True)
            await self._service.close_session(session_id)

    async def _sum_up(self) -> None:
        """Keep where sessions stopped that have ended or fallen silent."""
        now = self._clock()
        if sessions := await self._store.read(recap.due, now):
            context = self._service.context("claude-code", f"session:{sessions[0]}:{timestamp(now)}")
            await self._store.act(context.actor, context.batch, False, recap.sum_up, context, sessions)

    async def _pause_s(self) -> float:
        """Until the next job is due; TICK_S at most."""
        due = await self._store.read(jobs.next_due)
        wait = (moment(due) - self._clock()).total_seconds() if due else TICK_S
        return min(max(wait, IMPATIENT_S), TICK_S)


def _written_since(path: str, moment: datetime) -> bool:
    """Whether the file has changed after `moment`: its session is at work, only silently."""
    try:
        return os.stat(path).st_mtime > moment.timestamp()
    except OSError:
        return False


def _read(file: Path) -> tuple[datetime, bytes]:
    """When the file was written, and what it holds, up to MAX_SPOOLED_BYTES. Raises OSError."""
    with lines.open_regular(file) as opened:
        written = datetime.fromtimestamp(os.fstat(opened.fileno()).st_mtime, UTC)
        return written, opened.read(MAX_SPOOLED_BYTES)
