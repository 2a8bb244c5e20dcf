"""The composition root: the daemon and all its parts."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from recalld import __version__, chores, maintain, system, wire
from recalld.chores import CHORES
from recalld.doors.hub_process import HubProcess
from recalld.doors.socket import Door, success
from recalld.doors.web_process import WebProcess
from recalld.errors import DamagedError, RecalldError, StoreError, UnavailableError
from recalld.known_files import KnownFiles
from recalld.learn import Learner
from recalld.pace import Pace
from recalld.paths import Paths, claude_config_dir, spooled
from recalld.pulse import Pulse
from recalld.service import DEADLINE_S, Service
from recalld.settings import Settings
from recalld.store import rescue
from recalld.store.store import Store, utc_now
from recalld.vectors import Model
from recalld.verbs import registry
from recalld.watch import Watch
from recalld.worker import Worker

log = logging.getLogger(__name__)

UPKEEP_DELAY = timedelta(minutes=5)
"""The first upkeep after a start waits, so that a login is not made slower."""

CHECK_HOME_S = 1.0

START_CHECK_S = 0.3
"""So long is the database looked through before the daemon serves; the rest is looked through meanwhile."""

CHECK_AGAIN_S = 60.0
"""The pause after a look at a database that was under suspicion."""

ANSWER_S = 1.0
"""`status` waits so long for the database, and does without it then."""

MODEL_PATIENCE_S = 10.0
"""Learning waits so long for the model; one that has to be fetched may take longer."""


QUEUES = ("past", "retry")
"""What is asked for in these is work for the queue."""


class AlreadyRunningError(UnavailableError):
    """Another daemon serves this home."""


class Daemon:
    """One running daemon. `run()` serves until `stop()`.

    damage: why it ended, where that was a damaged database; the next one has to be told.
    """

    def __init__(self, paths: Paths, environ: Mapping[str, str], damage: str = "") -> None:
        """Take the home's lock, open the store. Raises AlreadyRunningError, ConfigError, StoreError.

        damage: of the database, where it is known; it is put aside first, as it is where damage is found now.
        """
        paths.ensure()
        self._paths = paths
        self.damage = ""
        self._lock = take_lock(paths.lock)
        self._started = time.monotonic()
        self._settings = Settings(paths.config)
        self._store = _open(paths, damage)
        self._pulse = Pulse(self._store)
        self._pace = Pace(DEADLINE_S)
        self._facts = _NOT_KNOWN
        self._service = Service(
            self._store, self._settings, utc_now, Path.home(), self._wake, self._touch,
            KnownFiles(claude_config_dir()),
        )  # fmt: skip
        self._learner = Learner(self._store, self._service, environ)
        self._worker = Worker(
            self._store, self._service, self._learner, secrets.token_hex(8), utc_now, paths.spool, self._upkeep
        )
        self._door = Door(paths.socket, self._answer)
        self._watch: Watch | None = None
        self._web = WebProcess(paths, self._settings, environ)
        self._hub = HubProcess(self._settings, environ)
        self._model = Model(self._store, self._settings, paths.models, self._wake)
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, inherited: socket.socket | None = None) -> None:
        """Serve until stopped; then finish what hooks began, and close."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        await self._door.open(inherited)
        log.info("recalld %s serves at %s", __version__, self._paths.socket)
        system.notify("READY=1")
        self._begin(self._door.keep())
        self._begin(self._pulse.keep())
        self._begin(self._check_database())
        self._begin(self._mind_the_home())
        self._begin(self._start_learning())
        self._begin(self._web.keep())
        self._begin(self._hub.keep())
        try:
            await self._stopping.wait()
        finally:
            if (
                not self.damage
            ):  # then this process goes on with another daemon, and its manager has to wait for nothing
                system.notify("STOPPING=1")
            await self._close()

    def stop(self) -> None:
        """End soon and in order."""
        self._stopping.set()

    async def _close(self) -> None:
        await self._door.close()
        await self._service.drain()
        if self._watch:
            await asyncio.to_thread(self._watch.stop)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(RecalldError):  # a damaged one, or a full disk
            if self.damage:
                await self._store.outside(rescue.keep_seen, self._paths.database)
        with contextlib.suppress(StoreError):
            await self._store.close()
        self._pulse.stop()
        os.close(self._lock)
        log.info("stopped")

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a background task ended: %s: %s", type(error).__name__, error)
            self.stop()

    def _wake(self) -> None:
        self._worker.wake()

    def _touch(self, transcript: Path) -> None:
        if self._watch:
            self._watch.touch(transcript)

    async def _start_learning(self) -> None:
        """The model first, so that what is learnt gets its vectors at once; hooks are answered meanwhile."""
        self._begin(self._model.keep())
        await self._model.first_try(MODEL_PATIENCE_S)
        loop, folder = asyncio.get_running_loop(), claude_config_dir() / "projects"
        self._watch = Watch(folder, self._paths.spool, loop, self._transcript_quiet, self._spooled)
        self._watch.start()
        await self._worker.run()

    def _transcript_quiet(self, path: Path) -> None:
        self._begin(self._logged(self._worker.quiet(path)))

    def _spooled(self, path: Path) -> None:
        self._worker.look_in_spool()

    async def _logged(self, work: Any) -> None:
        try:
            await work
        except Exception:  # one transcript or spool file must not end the daemon
            log.exception("background work failed")

    async def _check_database(self) -> None:
        """Look through the whole database, now and whenever damage was met; end for a rescue, or make indexes anew."""
        while True:
            suspicious = self._store.suspicious.is_set()
            self._store.suspicious.clear()
            with contextlib.suppress(RecalldError):  # locked for a moment, or unreadable: what needs it will say so
                found = await asyncio.to_thread(rescue.examine, self._paths.database, self._stopping.is_set)
                if found.damage and not found.indexes:
                    log.error("the database is damaged: %s", found.damage)
                    self.damage = found.damage
                    return self.stop()
                if found.damage or suspicious:
                    await self._store.mend(maintain.repair)
            if suspicious:
                await asyncio.sleep(CHECK_AGAIN_S)
            await self._store.suspicious.wait()

    async def _mind_the_home(self) -> None:
        """End when the home was moved away or replaced: another daemon may serve there by now.

        And when the program was removed by what had installed it, which tells nobody.
        """
        program = Path(__file__)
        while os.fstat(self._lock).st_ino == _inode(self._paths.lock) and _inode(program):  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(CHECK_HOME_S)
        log.error(
            "%s was moved, replaced or removed; this daemon ends", self._paths.data if _inode(program) else program
        )
        self.stop()

    async def _upkeep(self) -> None:
        await chores.cut_log(self._store)
        if time.monotonic() - self._started > UPKEEP_DELAY.total_seconds():
            await chores.upkeep(self._store, self._settings, self._paths, force=False)

    async def _answer(self, request: wire.Request) -> bytes:
        self._model.look()
        if request.door == "hook":
            with self._pace.measured(request.name):
                return await self._service.hook(request)
        arguments = wire.call_arguments(request.payload)
        own = {"status": self._status, "stop": self._stop_soon}
        if request.name in own:
            answer = await own[request.name](arguments)
        elif request.name in CHORES:
            answer = await CHORES[request.name](self._store, self._settings, self._paths, arguments)
        else:
            context = self._service.context(str(arguments.pop("source", "cli")))
            answer = await registry.call(self._store, context, request.name, arguments)
        if request.name in QUEUES:
            self._wake()
        return success(answer)

    async def _stop_soon(self, arguments: dict[str, Any]) -> dict[str, Any]:
        asyncio.get_running_loop().call_later(0.05, self.stop)
        return {"stopping": os.getpid()}

    async def _status(self, arguments: dict[str, Any]) -> dict[str, Any]:
        with contextlib.suppress(TimeoutError, StoreError):
            self._facts = await asyncio.wait_for(self._store.read(chores.store_status), ANSWER_S)
        facts, problem = self._facts, self._pulse.problem
        choice = await self._learner.choice()
        return {
            "pid": os.getpid(),
            "version": __version__,
            "uptime_s": round(time.monotonic() - self._started, 1),
            "backend": choice.backend,
            "backend_reason": await self._learner.reason(choice),
            "model": {"id": self._model.name, "state": self._model.state},
            "watch": self._watch.mode if self._watch else "off",
            "spool": len(spooled(self._paths.spool)),
            "runaway": self._service.breaker.report(),
            "trouble": self._service.trouble.report(),
            "home": str(self._paths.data),
            "rss_mib": system.rss_mib(),
            "hooks": self._pace.report(),
            "http": self._web.report,
            "hub": self._hub.report,
            **facts,
            "healthy": problem is None,
            "last_error": problem or self._settings.error or self._worker.last_error or facts["last_error"],
        }


_NOT_KNOWN: dict[str, Any] = {
    "memories": 0, "pending": 0, "projects": 0, "jobs": {"ready": 0, "running": 0, "done": 0, "dead": 0},
    "queue_age_s": 0.0, "spend": {"calls": 0, "tokens": 0, "usd": 0.0}, "last_error": None, "rescued": None, "paused": False,
}  # fmt: skip
"""For a status before the database has ever answered."""


def _open(paths: Paths, damage: str) -> Store:
    """The store, after a rescue where the database is damaged. Raises StoreError."""
    rescue.finish(paths.database, paths.backups, utc_now())
    if paths.database.exists() and not paths.database.stat().st_size and rescue.copies(paths.backups):
        damage = "its file is empty"
    if not damage:
        until = time.monotonic() + START_CHECK_S
        found = rescue.examine(paths.database, lambda: time.monotonic() > until)
        damage = "" if found.indexes else found.damage
    if not damage:
        try:
            store = Store(paths.database, paths.backups)
        except DamagedError as error:
            damage = str(error)
        else:
            rescue.forget_seen(paths.database)
            return store
    rescue.rescue(paths.database, paths.backups, utc_now(), damage)
    return Store(paths.database, paths.backups)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def take_lock(path: Path) -> int:
    """Hold the file's lock for the life of this process. Raises AlreadyRunningError, StoreError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    except BlockingIOError as error:
        os.close(descriptor)
        raise AlreadyRunningError(f"{path}: another recalld daemon serves this home") from error
    except OSError as error:  # a full disk, or a file system that knows no locks
        os.close(descriptor)
        raise StoreError(f"{path}: {error.strerror}") from error
    return descriptor
