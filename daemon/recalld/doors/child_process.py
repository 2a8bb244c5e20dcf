"""A process of the daemon's own: there while the settings want it, begun again when it dies, ended with the daemon.

A process, since what it needs would cost the daemon memory and its interpreter's time, which hooks wait for. It comes in
by the socket like every other client. Its stdin is a pipe that nobody writes to: it ends when the daemon does, however
that may be.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from recalld.config import Config
from recalld.llm import child
from recalld.settings import Settings

log = logging.getLogger(__name__)

LOOK_S = 0.5
"""How often the settings are looked at."""
END_S = 4.0
"""So long may it take to end by itself."""
PAUSES_S = (LOOK_S, 1.0, 2.0, 5.0, 15.0, 30.0)
"""The pauses before it is begun again, about; the last one goes on."""
GOOD_S = 60.0
"""One that lived so long begins the pauses anew."""
PART_BYTES = 1 << 12
LINE_BYTES = 1 << 14
"""What is longer is no line of its own: the rest of it is dropped."""
_PLACES = (
    "RECALLD_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "CLAUDE_CONFIG_DIR", "TZ",
)  # fmt: skip


class ChildProcess:
    """Keeps one process as the settings say.

    name: for the log. module: what is run. pauses_s: before it is begun again. state: `off`, `starting`, `failed`, or what
    `heard` makes of it.
    error: with `failed`, why it last ended; it is tried again.
    """

    name: ClassVar[str]
    module: ClassVar[str]
    pauses_s: ClassVar[Sequence[float]] = PAUSES_S

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = child.environment(environ, proxies=False, more=_PLACES)
        self._followed: Any = None
        self._last_words = ""
        self.state = "off"
        self.error: str | None = None

    def wanted(self, config: Config) -> Any:
        """What of the settings it depends on; None where it is not wanted."""
        raise NotImplementedError

    def arguments(self) -> Sequence[str]:
        """What it is told on its command line, which everybody on this machine can read."""
        return ()

    def heard(self, line: str) -> bool:
        """Take in what it said on stdout; False for what is not its own, a library's say."""
        raise NotImplementedError

    def ended(self) -> None:
        """Forget what was true while it ran."""

    def changed(self) -> None:
        """Forget what was true of what the settings named before."""

    @property
    def behind(self) -> str | None:
        """`starting` or `ending` where the settings were changed and nothing followed from it yet."""
        wanted = self.wanted(self._settings.current)
        return None if wanted == self._followed else "starting" if wanted is not None else "ending"

    async def keep(self) -> None:
        """Do what the settings say; runs until cancelled, and ends the process then."""
        failures = 0
        told: str | None = None
        while True:
            if (wanted := self.wanted(self._settings.current)) != self._followed:
                failures, told, self._followed, self.state, self.error = 0, None, wanted, "starting", None
                self.changed()
            if wanted is None:
                self.state = "off"
                await self._while(None, None)
                continue
            begun = time.monotonic()
            if await self._run(wanted):
                continue
            failures = 1 if time.monotonic() - begun > GOOD_S else failures + 1
            pause_s = self.pauses_s[min(failures, len(self.pauses_s)) - 1] * random.uniform(0.8, 1.2)  # noqa: S311
            if self.error != told:  # once, for what lasts for days
                log.warning("%s ended: %s; it is begun again in about %.1f s", self.name, self.error, pause_s)
            told = self.error
            await self._while(wanted, pause_s)

    async def _while(self, wanted: Any, limit_s: float | None) -> None:
        """Wait until the settings are others, at most `limit_s`."""
        until = None if limit_s is None else time.monotonic() + limit_s
        # A file tells nobody that it has changed.
        while self.wanted(self._settings.current) == wanted and (until is None or time.monotonic() < until):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)

    async def _run(self, wanted: Any) -> bool:
        """One process, until the settings are others (True) or it ended by itself (False)."""
        self._last_words = ""
        if self.error is None:
            self.state = "starting"
        command = [sys.executable, "-P", "-m", self.module, *self.arguments()]
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, env=self._environ, cwd="/", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self.state, self.error = "failed", f"{command[0]}: cannot be started: {error.strerror}"
            return False
        told = [asyncio.ensure_future(self._listen(process)), asyncio.ensure_future(self._complaints(process))]
        ended = asyncio.ensure_future(process.wait())
        try:
            while self.wanted(self._settings.current) == wanted and not ended.done():
                await asyncio.wait([ended], timeout=LOOK_S)
            if ended.done():
                await asyncio.wait(told, timeout=1.0)  # its last words
                self.state, self.error = "failed", self._last_words or f"code {ended.result()}"
                return False
            return True
        finally:
            await asyncio.shield(_end(process, ended))
            for task in told:
                task.cancel()
            self.ended()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """It says how it is, a line each time."""
        assert process.stdout
        rest = b""
        while part := await process.stdout.read(PART_BYTES):  # by parts: see `_complaints`
            *lines, rest = (rest + part).split(b"\n")
            rest = rest[:LINE_BYTES]
            for line in lines:
                said = line.decode("utf-8", "replace").strip()
                if said and not self.heard(said):
                    log.warning("%s: %s", self.module, said)

    async def _complaints(self, process: asyncio.subprocess.Process) -> None:
        """What it reports goes into the log; the last line tells why it ended."""
        assert process.stderr
        while part := await process.stderr.read(PART_BYTES):  # by parts: no line is too long, and the pipe never fills
            for line in filter(None, map(str.strip, part.decode("utf-8", "replace").splitlines())):
                self._last_words = line
                log.warning("%s: %s", self.module, line)


async def _end(process: asyncio.subprocess.Process, ended: asyncio.Future[int]) -> None:
    """Let it end by itself, and kill it where it does not. Nothing of its group is left behind."""
    assert process.stdin
    process.stdin.close()
    await asyncio.wait([ended], timeout=END_S)
    if not ended.done():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    await ended
