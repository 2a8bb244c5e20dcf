"""The hub's process: it brings this home and the hub in step, and waits for what changes on either side.

It ends where it cannot go on, the reason as its last words; the daemon begins it again after a while. It may end at any
moment, as when the daemon does: each step of a cycle is whole or not done, and done twice it is done once.
"""

from __future__ import annotations

import functools
import json
import os
import random
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from recalld import calling, config, paths
from recalld.errors import RecalldError
from recalld.hub.link import Link, linked
from recalld.hubwire import HubError
from recalld.model import timestamp

LOOK_S = 2.0
"""How often local changes are looked for."""
POLL_S = 60.0
"""At most so long until the hub is asked, whether or not it told of a change."""
REST_S = 1.0
"""Between two cycles, about: what changes in a row goes in one, and a team does not ask the hub all at once."""
ANSWER_S = 60.0
NICE = 10
"""Below whatever hooks wait for."""
SOURCE = "hub"


def main() -> int:
    """Keep in step until the daemon ends; 1 where that cannot be done now."""
    os.umask(0o077)
    os.nice(NICE)
    threading.Thread(target=_end_with_the_daemon, daemon=True).start()
    home = paths.find()
    try:
        with linked(home, config.load(home.config).hub, functools.partial(_asked, home.socket)) as link:
            _keep(link, home.database)
    except RecalldError as error:
        away = isinstance(error, HubError) and error.away
        _tell("away" if away else "failed", error=str(error))
        return 1


def _keep(link: Link, database: Path) -> NoReturn:
    _tell("syncing")
    while True:
        link.cycle()
        time.sleep(REST_S * random.uniform(0.5, 1.5))  # noqa: S311
        _wait(link, database, timestamp(datetime.now(UTC)))


def _wait(link: Link, database: Path, at: str) -> None:
    """Until the hub tells of a change, there is one here to be sent, or it is time to ask. at: when all was in step."""
    until, seen = time.monotonic() + POLL_S, None
    while time.monotonic() < until:
        if (now := _stamp(database)) != seen:
            seen, more = now, link.waiting()
            _tell("synced", at=at, outbox=link.outbox)
            if more:
                return
        if link.remote.wait(LOOK_S):
            return


def _stamp(database: Path) -> list[tuple[int, int] | None]:
    """What is another after each write to the database."""
    return [_changed(Path(f"{database}{part}")) for part in ("", "-wal")]


def _changed(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size


def _asked(socket: Path, verb: str, /, *, writes: bool = False, **arguments: Any) -> Any:
    return calling.call(socket, verb, {"source": SOURCE, **arguments}, ANSWER_S)


def _tell(state: str, *, at: str | None = None, outbox: int | None = None, error: str | None = None) -> None:
    said = {"state": state, "last_sync_at": at, "outbox": outbox, "error": error}
    print(json.dumps(said), flush=True)  # noqa: T201  # what the daemon reads


def _end_with_the_daemon() -> None:
    """Wait for the end of stdin, which the daemon holds and nobody writes to."""
    while os.read(0, 1024):
        pass
    os._exit(0)
