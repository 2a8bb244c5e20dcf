"""Whether the daemon lives: its loop turns and both threads of the store get their work done."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable

from recalld import system
from recalld.store.store import Store

log = logging.getLogger(__name__)

STUCK_S = 8.0
"""A piece of work on the store that takes longer is stuck: one waits 5 s at most for another process."""
BEAT_S = 5.0
MISSED = 12
"""After so many beats left out, a minute, the daemon ends itself; its service manager or the next hook starts another."""
FAILED = 70
"""EX_SOFTWARE of <sysexits.h>."""


def _end() -> None:
    """End at once: an orderly end would wait for the thread that hangs. What was committed is safe, the rest comes again."""
    os._exit(FAILED)


class Pulse:
    """Feeds systemd's watchdog while all is well, and ends the process itself where nobody else would."""

    def __init__(self, store: Store, end: Callable[[], None] = _end) -> None:
        self._store = store
        self._end = end
        self._missed = 0
        self._over = threading.Event()

    @property
    def problem(self) -> str | None:
        """What is wrong, None when nothing is."""
        stuck_s = self._store.stuck_s
        return f"the database has not answered for {stuck_s:.0f} s" if stuck_s > STUCK_S else None

    async def keep(self) -> None:
        """Beat until cancelled."""
        threading.Thread(target=self._watch, name="pulse", daemon=True).start()
        watchdog_s = system.watchdog_s()
        while True:
            if self.problem is None:
                self._missed = 0
                system.notify("WATCHDOG=1")
            await asyncio.sleep(min(BEAT_S, watchdog_s / 3 or BEAT_S))

    def stop(self) -> None:
        """The daemon has ended in order."""
        self._over.set()

    def _watch(self) -> None:
        """Count beats left out, in waits of one's own: a machine that slept has not missed any."""
        while not self._over.wait(BEAT_S):
            self._missed += 1
            if self._missed > MISSED:
                log.critical("%s; this daemon ends, another will take over", self.problem or "the daemon hangs")
                self._end()
                return
