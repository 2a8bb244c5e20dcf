"""Starting and ending the daemon by whoever is in charge of it: its service manager, or this very program."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from recalld.errors import UnavailableError
from recalld.install import assets, running, service
from recalld.paths import Paths


def start(paths: Paths) -> dict[str, Any]:
    """Start the daemon; returns its status once it serves. Raises UnavailableError."""
    if pid := running.holder(paths):
        raise UnavailableError(f"a daemon (process {pid}) is there but does not answer; `recalld restart` ends it")
    if kind := service.in_charge(paths, os.environ):
        service.start(kind)
        return running.wait(paths)
    return running.start(_command(), paths)


def stop(paths: Paths) -> bool:
    """Stop the daemon, hung or not, so that nobody starts it again at once; False where none ran."""
    ran = running.holder(paths) is not None
    if kind := service.in_charge(paths, os.environ):
        service.stop(kind)
    return running.stop(paths) or ran


def _command() -> list[str]:
    """How to start this very program again."""
    try:
        return [str(assets.command()), "run"]
    except UnavailableError:  # run from a checkout
        return [sys.executable, "-m", "recalld", "run"]


@contextlib.contextmanager
def alone(paths: Paths) -> Iterator[None]:
    """A time in which no daemon runs and none can begin; the one that ran before runs again afterwards.

    Raises UnavailableError where the daemon cannot be ended.
    """
    from recalld.app import AlreadyRunningError, take_lock  # late: it brings the whole daemon

    ran = stop(paths)
    try:
        lock = take_lock(paths.lock)
    except AlreadyRunningError:  # a hook was quicker
        ran = stop(paths)
        lock = take_lock(paths.lock)
    try:
        yield
    finally:
        os.close(lock)
        if ran:
            start(paths)
