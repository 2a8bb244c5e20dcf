"""`recalld run`: the daemon as a process of its own, whoever started it and with whatever it was given."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from logging.handlers import RotatingFileHandler

from recalld import system
from recalld.app import AlreadyRunningError, Daemon
from recalld.cli.logfile import NAME
from recalld.config import PrivacyConfig
from recalld.errors import DamagedError, RecalldError
from recalld.install.running import holder
from recalld.paths import Paths
from recalld.redact import Redactor
from recalld.store.key import NoCipherError
from recalld.store.migrate import MigrationError, NewerDatabaseError

LOG_BYTES = 1_000_000
LOG_FILES = 3
HOPELESS = 78
"""EX_CONFIG of <sysexits.h>; the unit's RestartPreventExitStatus= names it: starting again cannot help."""

log = logging.getLogger(__name__)


def run(paths: Paths, *, debug: bool) -> int:
    """Serve until told to stop; returns the exit code. A second daemon of the same home ends at once with 0."""
    os.umask(0o077)
    _open_standard_streams()
    paths.ensure()
    os.chdir(paths.state)
    inherited = system.inherited_socket(os.environ)
    shown = _log_to(paths, debug=debug)
    damage, begun = "", False
    try:
        while damage or not begun:  # once more for each time that the database was found damaged
            daemon, begun = Daemon(paths, os.environ, damage), True
            asyncio.run(daemon.run(inherited.dup() if inherited else None))
            damage = daemon.damage
    except AlreadyRunningError:
        print(f"recalld: runs already (process {holder(paths)})", file=sys.stderr)
    except RecalldError as error:
        log.error("%s", error)  # noqa: TRY400  # one line says it all
        if not shown:
            print(f"recalld: {error}", file=sys.stderr)
        if not isinstance(error, NewerDatabaseError | MigrationError | DamagedError | NoCipherError):
            return 1
        if inherited:
            system.turn_away(inherited)
        return HOPELESS
    except Exception:
        log.exception("the daemon failed")
        raise
    return 0


class Masked(logging.Formatter):
    """A line of the log without secrets, whatever an error's text quotes."""

    _redactor = Redactor(PrivacyConfig())

    def format(self, record: logging.LogRecord) -> str:
        """The line, its traceback included."""
        return self._redactor.redact(super().format(record))


def _open_standard_streams() -> None:
    """Let what is closed of 0, 1 and 2 be /dev/null: the next file opened would take that number, and be written to."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free
            os.set_inheritable(descriptor, True)


def _log_to(paths: Paths, *, debug: bool) -> bool:
    """Log to the file, and to stderr where a person or the journal reads it; says whether the latter."""
    file = RotatingFileHandler(paths.log / NAME, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
    file.setFormatter(Masked("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handlers: list[logging.Handler] = [file]
    journal = bool(os.environ.get("JOURNAL_STREAM"))
    if sys.stderr is not None and (journal or sys.stderr.isatty()):
        stream = logging.StreamHandler(sys.stderr)
        stream.setFormatter(Masked("%(message)s" if journal else "%(asctime)s %(levelname)s %(message)s"))
        handlers.append(stream)
    logging.raiseExceptions = False  # a full disk must not make each line of the log an error on stderr
    debug = debug or bool(os.environ.get("RECALLD_DEBUG"))
    logging.basicConfig(level=logging.DEBUG if debug else logging.INFO, handlers=handlers, force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    return len(handlers) > 1
