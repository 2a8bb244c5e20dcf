"""The system's keyring, asked in a process of its own: its libraries have no place in the daemon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from recalld.errors import UnavailableError

TIMEOUT_S = 15.0
"""A locked keyring asks its owner for a password; so long is waited for that."""

_KEPT = ("HOME", "USER", "LOGNAME", "PATH", "LANG", "DISPLAY", "WAYLAND_DISPLAY")
_KEPT_PREFIXES = ("XDG_", "DBUS_", "LC_", "PYTHON")


def get(account: str, backend: str = "") -> str | None:
    """The key under `account`; None where there is none. Raises UnavailableError where no keyring answers.

    backend: the class of the keyring that took it; the environment of a service may suggest another.
    """
    found = _ask(do="get", account=account, backend=backend)["key"]
    return found if isinstance(found, str) else None


def put(account: str, key: str) -> None:
    """Keep `key` under `account`. Raises UnavailableError."""
    _ask(do="put", account=account, key=key, backend="")


def backend() -> str:
    """The class of the keyring that is used here. Raises UnavailableError where there is none that is safe."""
    return str(_ask(do="name", backend="")["backend"])


def _ask(**question: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "recalld.store.keyring_child"], input=json.dumps(question).encode(),
            env=_environ(), cwd="/", capture_output=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"the keyring did not answer in {TIMEOUT_S:.0f} s: unlock it, then try again") from error
    except OSError as error:
        raise UnavailableError(f"{sys.executable}: {error.strerror}") from error
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise UnavailableError(f"the keyring gave no answer ({said[-1] if said else done.returncode})") from None
    if "error" in answer:
        raise UnavailableError(str(answer["error"]))
    return dict(answer)


def _environ() -> dict[str, str]:
    """The few variables that lead to the keyring, and where none does, the usual place of the session's bus."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    runtime = Path(kept.setdefault("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}"))
    if (runtime / "bus").exists():
        kept.setdefault("DBUS_SESSION_BUS_ADDRESS", f"unix:path={runtime / 'bus'}")
    return {**kept, "RECALLD_DISABLE": "1"}
