"""The configuration as it is right now: the file is read again when it has changed."""

from __future__ import annotations

import logging
from pathlib import Path

from recalld import config
from recalld.config import Config
from recalld.errors import ConfigError

log = logging.getLogger(__name__)


class Settings:
    """The settings of one home. A file that has become wrong is reported once and the last good settings stay.

    error: what is wrong with the file now, in one line; None where nothing is.
    """

    def __init__(self, path: Path) -> None:
        """Raises ConfigError where the file is wrong from the start."""
        self._path = path
        self._stamp = self._stat()
        self._config = config.load(path)
        self.error: str | None = None

    @property
    def current(self) -> Config:
        """The settings; costs one `stat` while the file stays the same."""
        if (stamp := self._stat()) != self._stamp:
            self._stamp = stamp
            try:
                self._config, self.error = config.load(self._path), None
            except ConfigError as error:
                self.error = str(error)
                log.warning("%s; going on with the settings from before", error)
        return self._config

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
