"""Asking the daemon, or the database itself where no daemon answers."""

from __future__ import annotations

import sys
from typing import Any

from recalld import calling
from recalld.calling import PATIENCE_S, SilentError
from recalld.paths import Paths, find

LONG_S = 600.0
"""For the few calls that copy or check the whole database."""


def ask(verb: str, /, *, writes: bool = False, timeout_s: float = PATIENCE_S, **arguments: Any) -> Any:
    """What `verb` answers, as plain data; arguments that are None are left out.

    writes: the verb changes something, so it must not be left with a daemon that hangs now and may do it much later.
    Raises RecalldError.
    """
    paths = find()
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        return calling.offer(paths.socket, verb, given, timeout_s, writes=writes)
    except SilentError as error:
        _explain(paths, verb, hung=error.hung)
        from recalld import direct  # late: the way through the daemon needs none of this

        return direct.call(paths, verb, given)


def _explain(paths: Paths, verb: str, *, hung: bool) -> None:
    """Say on stderr what is different without the daemon, where it matters."""
    limits = "search by words alone" if verb == "search" else "working on the database itself"
    if hung:
        from recalld.install.running import holder

        print(f"recalld: the daemon (process {holder(paths)}) does not answer: {limits}; `recalld restart` ends it",
              file=sys.stderr)  # fmt: skip
    elif verb == "search":
        print(f"recalld: no daemon runs: {limits}; `recalld start` starts it", file=sys.stderr)
