"""The background: the queue, the spool, quiet transcripts, vectors that are missing, the daily upkeep."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recalld import wire
from recalld.errors import InputError, RecalldError, TransientError
from recalld.learn import BATCH, Learner
from recalld.model import moment, timestamp
from recalld.service import Service
from recalld.store import changes, jobs, turns
from recalld.store.store import Clock, Store

log = logging.getLogger(__name__)

SPOOL_TIME = timedelta(days=7)
EMBED_BATCH = 64
STALE = timedelta(hours=1)
"""A session that said nothing for so long and has an open turn was closed without a word."""

TICK_S = 60.0
"""The longest sleep; upkeep and stale sessions are looked for then."""

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
        self._paused_until = 0.0
        self._looked: tuple[float, changes.Vectors | None] = (0.0, None)
        self.last_error: str | None = None

    def wake(self) -> None:
        """Something was queued."""
        self._woken.set()

    async def run(self) -> None:
        """Take back what an earlier run left, then work until cancelled."""
        await self._store.write(jobs.take_back, self._run_id)
        await self.take_spool()
        while True:
            self._woken.clear()
            try:
                await self.step()
            except asyncio.CancelledError:
                raise
            except Exception as error:  # the loop outlives whatever one job does
                self.last_error = f"{type(error).__name__}: {error}"
                log.exception("background work failed")
                await asyncio.sleep(1.0)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), await self._pause_s())

    async def step(self) -> None:
        """Work off what is due now."""
        while not self._waiting() and await self._learn_once():
            pass
        if self._look_due():
            await self.embed_missing()
        await self._end_stale()
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
        except TransientError as error:
            # One pause for all: a limit of the service concerns every session.
            self._paused_until = time.monotonic() + (error.retry_after_s or jobs.BACKOFF_S[0])
            self.last_error = str(error)
            log.warning("extraction pauses: %s", error)
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

    async def embed_missing(self) -> int:
        """Give a vector of the present model to each memory that has none; returns how many those were."""
        done = 0
        while vectors := self._store.vectors:
            rows = await self._store.read(changes.without_vector, vectors.model_id, EMBED_BATCH)
            if not rows:
                break
            await self._store.write(changes.put_vectors, vectors, rows)
            done += len(rows)
        return done

    async def take_spool(self) -> None:
        """Take in what hooks left while nobody answered; what is broken or older than SPOOL_TIME goes."""
        for file in _spooled(self._spool):
            try:
                said_at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
                if self._clock() - said_at < SPOOL_TIME:
                    await self._service.take_in(wire.parse_request(file.read_bytes()), said_at)
            except (InputError, OSError) as error:
                log.warning("a spooled hook could not be taken in: %s", error)
            except RecalldError as error:
                log.warning("the spool waits: %s", error)
                return
            file.unlink(missing_ok=True)
        self.wake()

    async def quiet(self, transcript: Path) -> None:
        """A transcript has not been written to for a while: a turn may have ended without a Stop."""
        session = await self._store.read(turns.session_of_transcript, str(transcript))
        await self._learner.read_transcript(session, self._clock())
        self.wake()

    async def _end_stale(self) -> None:
        now = self._clock()
        for session_id in await self._store.read(turns.stale_sessions, timestamp(now - STALE)):
            session = await self._store.read(turns.session, session_id)
            await self._learner.read_transcript(session, now, final=True)
            await self._service.close_session(session_id)

    def _waiting(self) -> bool:
        return time.monotonic() < self._paused_until

    async def _pause_s(self) -> float:
        """Until the next job is due, or the pause ends; TICK_S at most."""
        due = await self._store.read(jobs.next_due)
        wait = (moment(due) - self._clock()).total_seconds() if due else TICK_S
        wait = max(wait, self._paused_until - time.monotonic())
        return min(max(wait, IMPATIENT_S), TICK_S)


def _spooled(folder: Path) -> Iterator[Path]:
    """The hooks' files, oldest first."""
    with contextlib.suppress(OSError):
        yield from sorted(file for file in folder.iterdir() if file.suffix == ".hook")
