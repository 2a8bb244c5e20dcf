"""Asking the daemon, or the database itself where no daemon answers."""

from __future__ import annotations

import sys
from typing import Any

from recalld import calling
from recalld.errors import UnavailableError
from recalld.paths import Paths, find

PATIENCE_S = 3.0
"""A daemon that has not answered by then is taken for hung; it answers within milliseconds even while it loads."""
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
        if writes:
            calling.call(paths.socket, "status", {}, PATIENCE_S)
        else:
            return calling.call(paths.socket, verb, given, timeout_s)
    except UnavailableError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        _explain(paths, verb, hung=isinstance(error.__cause__, TimeoutError))
        return directly(paths, verb, given)
    return calling.call(paths.socket, verb, given, max(timeout_s, 2 * PATIENCE_S))


def directly(paths: Paths, verb: str, arguments: dict[str, Any]) -> Any:
    """What `verb` answers from the database itself. Raises RecalldError."""
    import asyncio  # late: the way through the daemon needs none of this

    from recalld.direct import direct

    async def work() -> Any:
        async with direct(paths) as opened:
            return await opened.call(verb, arguments)

    return asyncio.run(work())


def _explain(paths: Paths, verb: str, *, hung: bool) -> None:
    """Say on stderr what is different without the daemon, where it matters."""
    limits = "search by words alone" if verb == "search" else "working on the database itself"
    if hung:
        from recalld.install.running import holder

        print(f"recalld: the daemon (process {holder(paths)}) does not answer: {limits}; `recalld restart` ends it",
              file=sys.stderr)  # fmt: skip
    elif verb == "search":
        print(f"recalld: no daemon runs: {limits}; `recalld start` starts it", file=sys.stderr)
