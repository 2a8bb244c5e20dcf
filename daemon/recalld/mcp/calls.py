"""Asking the daemon on behalf of an MCP client; the daemon is started, or the database opened, where none answers."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from recalld import calling
from recalld.calling import PATIENCE_S, SilentError
from recalld.errors import UnavailableError
from recalld.paths import Paths, find

log = logging.getLogger(__name__)

START_AGAIN_S = 60.0
"""One that could not be started is not tried again for so long."""


class Calls:
    """The verbs, for one process; may be used in several threads. Every call makes its own connection.

    So a daemon that was restarted, upgraded or killed in between is not noticed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tried = -START_AGAIN_S

    def ask(self, verb: str, arguments: dict[str, Any], *, writes: bool = False) -> Any:
        """What `verb` answers, as plain data; arguments that are None are left out. Raises RecalldError.

        writes: it changes something, so it must not be left with a daemon that hangs now and may do it much later.
        """
        paths = find()
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            return calling.offer(paths.socket, verb, given, PATIENCE_S, writes=writes)
        except SilentError as error:
            if error.hung or not self._started(paths):
                from recalld import direct  # late: it brings the database

                return direct.call(paths, verb, given)
        return calling.call(paths.socket, verb, given, 2 * PATIENCE_S)

    def _started(self, paths: Paths) -> bool:
        """Whether a daemon serves now, after starting one as `recalld start` does."""
        from recalld.install import control, running  # late: most sessions never need it

        with self._lock:
            if running.status(paths):
                return True
            if time.monotonic() - self._tried < START_AGAIN_S:
                return False
            self._tried = time.monotonic()
            try:
                paths.ensure()
                control.start(paths)
            except (UnavailableError, OSError) as error:
                log.warning("no daemon can be started, so the database itself is asked: %s", error)
                return False
            return True
