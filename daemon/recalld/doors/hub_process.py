"""The process that keeps this home and the team's hub equal, while `[hub]` names one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from recalld.config import Config, HubConfig
from recalld.doors.child_process import ChildProcess
from recalld.settings import Settings


class HubProcess(ChildProcess):
    """Has the hub synchronised, where PostgreSQL's library is no burden to the daemon.

    It reads the address from the settings itself: a command line is there for everybody to read. Without a hub that
    answers it ends, and is begun again after a while: what is away for weeks costs nothing meanwhile.
    """

    name = "the hub's process"
    module = "recalld.hub"
    pauses_s = (2.0, 5.0, 15.0, 30.0, 60.0, 150.0, 300.0)

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        super().__init__(settings, environ)
        self._last_sync_at: str | None = None
        self._outbox: int | None = None
        self._away = False

    def wanted(self, config: Config) -> HubConfig | None:
        """`[hub]` while it names a hub."""
        return config.hub if config.hub.dsn else None

    def changed(self) -> None:
        """It may be another hub."""
        self._last_sync_at, self._outbox, self._away = None, None, False

    @property
    def report(self) -> dict[str, Any]:
        """For `status`: what it does now, when all was last equal, what waits to be sent, and what is wrong in a line.

        state: also `away`, where the hub cannot be reached now.
        """
        state, error = (behind, None) if (behind := self.behind) else (self.state, self.error)
        state = "away" if state == "failed" and self._away else state
        return {"state": state, "last_sync_at": self._last_sync_at, "outbox": self._outbox, "error": error}

    def heard(self, line: str) -> bool:
        """It says how it is, as an object of JSON: {state, last_sync_at, outbox, error}."""
        try:
            said = json.loads(line)
            self.state, self.error, self._outbox = str(said["state"]), said["error"], said["outbox"]
            self._last_sync_at = said["last_sync_at"] or self._last_sync_at
            self._last_words, self._away = said["error"] or "", said["state"] == "away"
        except (ValueError, KeyError, TypeError):
            return False
        return True
