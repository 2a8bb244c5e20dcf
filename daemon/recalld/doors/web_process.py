"""The HTTP door's process, as `[http]` says."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from recalld.config import Config, HttpConfig
from recalld.doors.child_process import ChildProcess
from recalld.paths import Paths
from recalld.settings import Settings

log = logging.getLogger(__name__)


class WebProcess(ChildProcess):
    """Has HTTP served, where the web framework is no burden to the daemon."""

    name = "the HTTP door"
    module = "recalld.web"

    def __init__(self, paths: Paths, settings: Settings, environ: Mapping[str, str]) -> None:
        super().__init__(settings, environ)
        self._paths = paths
        self._url: str | None = None
        self._port = 0

    def wanted(self, config: Config) -> HttpConfig | None:
        """`[http]` while it is enabled."""
        return config.http if config.http.enabled else None

    def arguments(self) -> Sequence[str]:
        """The port that is wanted, and the one that was had before."""
        return "--port", str(self._followed.port), "--before", str(self._port)

    @property
    def report(self) -> dict[str, Any]:
        """For `status`: what it does now, and where it serves."""
        if behind := self.behind:
            return {"state": behind, "url": None, "error": None}
        return {"state": self.state, "url": self._url, "error": self.error}

    def heard(self, line: str) -> bool:
        """It says where it serves, in one line."""
        if not line.startswith("http://"):
            return False
        self._url, self.state, self.error = line, "serving", None
        self._port = int(line.rpartition(":")[2])
        log.info("the HTTP door serves at %s", line)
        return True

    def ended(self) -> None:
        """Nothing serves there any more."""
        self._url = None
        self._paths.http_facts.unlink(missing_ok=True)
