"""The proof that an installation works: a memory goes in at the socket and comes back through a real hook process."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from recalld.client import Client
from recalld.errors import UnavailableError
from recalld.paths import Paths
from recalld.wire import SELF_CHECK

Call = Callable[..., Any]

# Seconds to wait for the memory: a slow machine takes long for a first start.
PATIENCE_S = 30.0
_HOOK_TIMEOUT_S = 10.0
_PAUSE_S = 1.0


def remember_and_recall(paths: Paths, hook: Sequence[str]) -> str:
    """The line of a memory, made for this, that the `hook` command injects; it is deleted again.

    `hook`: the command and arguments of the SessionStart entry in the settings; a prompt would be captured as a turn.
    Raises UnavailableError where the memory does not come back, and what the daemon refuses.
    """
    call = Client(paths.socket).call
    word = secrets.token_hex(4)
    text = f"The word that proves recalld's installation is {word}."
    added = call("add", text=text, scope="user", pin=True, cwd=str(Path.home()))
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            for line in injected(hook).splitlines():
                if word in line:
                    return line.strip()
            if time.monotonic() > deadline:
                raise UnavailableError(
                    "self-check: the memory did not come back through the hook; see `recalld doctor`"
                )
            time.sleep(_PAUSE_S)
    finally:
        call("delete", ids=[added["id"]])


def injected(hook: Sequence[str]) -> str:
    """What the hook gives Claude Code at the start of a session in the home folder; empty for nothing."""
    home = str(Path.home())
    event = {
        "session_id": str(uuid.uuid4()),
        "transcript_path": "",
        "cwd": home,
        "hook_event_name": "SessionStart",
        "source": SELF_CHECK,
    }
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE_CODE_", "RECALLD_DIS"))
    }
    environ["CLAUDE_PROJECT_DIR"] = home
    try:
        done = subprocess.run(
            hook,
            input=json.dumps(event).encode(),
            capture_output=True,
            timeout=_HOOK_TIMEOUT_S,
            env=environ,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"self-check: the hook cannot be run: {error}") from error
    if done.returncode or done.stderr:
        said = done.stderr.decode(errors="replace").strip()
        raise UnavailableError(f"self-check: the hook ended with code {done.returncode}: {said}")
    if not done.stdout.strip():
        return ""
    reply = json.loads(done.stdout)
    return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))
