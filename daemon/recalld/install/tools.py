"""Calling the programs of the system: systemctl and launchctl, and nothing that could hang on them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence

from recalld.errors import UnavailableError

TIMEOUT_S = 10.0

Run = Callable[[Sequence[str]], str]


def run(command: Sequence[str]) -> str:
    """What a program prints on stdout. Raises UnavailableError: not there, failed, or longer than TIMEOUT_S."""
    environ = {**os.environ, "LC_ALL": "C.UTF-8"}
    # Unset under su, cron and some SSH set-ups, though the manager is there.
    environ.setdefault("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    name = " ".join(command)
    try:
        done = subprocess.run(
            command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{name}: no answer in {TIMEOUT_S:.0f} s") from error
    except OSError as error:
        raise UnavailableError(f"{name}: {error.strerror}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise UnavailableError(f"{name}: {said[-1] if said else f'ended with code {done.returncode}'}")
    return done.stdout.decode(errors="replace")
