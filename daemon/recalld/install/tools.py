"""Calling other programs: systemctl, launchctl, uv, git, and nothing that could hang on them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from recalld.errors import UnavailableError

TIMEOUT_S = 10.0

Run = Callable[[Sequence[str]], str]


def run(command: Sequence[str]) -> str:
    """What a program prints on stdout. Raises UnavailableError: not there, failed, or longer than TIMEOUT_S."""
    environ = {**os.environ, "LC_ALL": "C.UTF-8"}
    # Unset under su, cron and some SSH set-ups, though the manager is there.
    environ.setdefault("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    name = " ".join(command)
    done = finished(command, environ, TIMEOUT_S, name=name)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise UnavailableError(f"{name}: {said[-1] if said else f'ended with code {done.returncode}'}")
    return done.stdout


def finished(
    command: Sequence[str], environ: Mapping[str, str], timeout_s: float, *, name: str = "", cwd: str | Path = "/"
) -> subprocess.CompletedProcess[str]:
    """A program that has ended, well or not, with what it printed; it has nothing on its stdin.

    name: the program's, for the error. Raises UnavailableError: not there, or longer than timeout_s.
    """
    try:
        return subprocess.run(
            command, env=dict(environ), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
            errors="replace", timeout=timeout_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{name or command[0]}: no answer in {timeout_s:.0f} s") from error
    except OSError as error:
        raise UnavailableError(f"{name or command[0]}: {error.strerror}") from error
