"""The HTTP door's process: there while the settings want it, begun again when it dies, ended with the daemon.

A process of its own, since a web framework would cost the daemon memory and its interpreter's time, which hooks wait
for. It comes in by the socket like every other client. Its stdin is a pipe that nobody writes to: it ends when the
daemon does, however that may be.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any, Literal

from recalld.config import HttpConfig
from recalld.llm import child
from recalld.paths import Paths
from recalld.settings import Settings

log = logging.getLogger(__name__)

LOOK_S = 0.5
"""How often the settings are looked at."""
END_S = 4.0
"""So long may it take to end by itself."""
PAUSES_S = (LOOK_S, 1.0, 2.0, 5.0, 15.0, 30.0)
"""The pauses before it is begun again; the last one goes on."""
GOOD_S = 60.0
"""One that lived so long begins the pauses anew."""
PART_BYTES = 1 << 12
_PLACES = (
    "RECALLD_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "CLAUDE_CONFIG_DIR", "TZ",
)  # fmt: skip

State = Literal["off", "starting", "serving", "failed", "ending"]


class WebProcess:
    """Keeps the process as `[http]` says. report: {state, url, error}, for `status`."""

    def __init__(self, paths: Paths, settings: Settings, environ: Mapping[str, str]) -> None:
        self._paths = paths
        self._settings = settings
        self._environ = child.environment(environ, proxies=False, more=_PLACES)
        self._followed = HttpConfig()
        self._state: State = "off"
        self._url: str | None = None
        self._error: str | None = None
        self._last_words = ""
        self._port = 0

    @property
    def report(self) -> dict[str, Any]:
        """What it does now. url: where it serves. error: with `failed`, why it last ended; it is tried again."""
        if (wanted := self._settings.current.http) != self._followed:  # what follows from it is to come yet
            return {"state": "starting" if wanted.enabled else "ending", "url": None, "error": None}
        return {"state": self._state, "url": self._url, "error": self._error}

    async def keep(self) -> None:
        """Do what the settings say; runs until cancelled, and ends the process then."""
        failures = 0
        while True:
            if (wanted := self._settings.current.http) != self._followed:
                failures, self._followed, self._state, self._error = 0, wanted, "starting", None
            if not wanted.enabled:
                self._state = "off"
                await self._while(wanted, None)
                continue
            begun = time.monotonic()
            if await self._run(wanted):
                continue
            failures = 1 if time.monotonic() - begun > GOOD_S else failures + 1
            pause_s = PAUSES_S[min(failures, len(PAUSES_S)) - 1]
            log.warning("the HTTP door ended: %s; it is begun again in %g s", self._error, pause_s)
            await self._while(wanted, pause_s)

    async def _while(self, wanted: HttpConfig, limit_s: float | None) -> None:
        """Wait until the settings are others, at most `limit_s`."""
        until = None if limit_s is None else time.monotonic() + limit_s
        # A file tells nobody that it has changed.
        while self._settings.current.http == wanted and (until is None or time.monotonic() < until):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)

    async def _run(self, wanted: HttpConfig) -> bool:
        """One process, until the settings are others (True) or it ended by itself (False)."""
        self._last_words = ""
        if self._error is None:
            self._state = "starting"
        command = [sys.executable, "-P", "-m", "recalld.web", "--port", str(wanted.port), "--before", str(self._port)]
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, env=self._environ, cwd="/", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self._state, self._error = "failed", f"{command[0]}: cannot be started: {error.strerror}"
            return False
        told = [asyncio.ensure_future(self._listen(process)), asyncio.ensure_future(self._complaints(process))]
        ended = asyncio.ensure_future(process.wait())
        try:
            while self._settings.current.http == wanted and not ended.done():
                await asyncio.wait([ended], timeout=LOOK_S)
            if ended.done():
                await asyncio.wait(told, timeout=1.0)  # its last words
                self._state, self._error = "failed", self._last_words or f"code {ended.result()}"
                return False
            return True
        finally:
            self._url = None
            await asyncio.shield(_end(process, ended))
            for task in told:
                task.cancel()
            self._paths.http_facts.unlink(missing_ok=True)

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """It says where it serves, in one line."""
        assert process.stdout
        async for line in process.stdout:
            said = line.decode("utf-8", "replace").strip()
            if not said.startswith("http://"):  # a library's
                log.warning("http: %s", said)
                continue
            self._url, self._state, self._error = said, "serving", None
            self._port = int(said.rpartition(":")[2])
            log.info("the HTTP door serves at %s (process %d)", self._url, process.pid)

    async def _complaints(self, process: asyncio.subprocess.Process) -> None:
        """What it reports goes into the log; the last line tells why it ended."""
        assert process.stderr
        while part := await process.stderr.read(PART_BYTES):  # by parts: no line is too long, and the pipe never fills
            for line in filter(None, map(str.strip, part.decode("utf-8", "replace").splitlines())):
                self._last_words = line
                log.warning("http: %s", line)


async def _end(process: asyncio.subprocess.Process, ended: asyncio.Future[int]) -> None:
    """Let it end by itself, and kill it where it does not. Nothing of its group is left behind."""
    assert process.stdin
    process.stdin.close()
    await asyncio.wait([ended], timeout=END_S)
    if not ended.done():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    await ended
