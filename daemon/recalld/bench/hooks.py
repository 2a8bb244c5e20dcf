"""What Claude Code waits for: whole hook processes, each beside a bare interpreter that does nothing."""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import time
from pathlib import Path
from typing import Any

from recalld.bench import texts
from recalld.bench.scratch import Home
from recalld.bench.spread import Spread, spread
from recalld.errors import UnavailableError
from recalld.install import assets, settings

EVENTS = ("UserPromptSubmit", "SessionStart", "Stop")
WARM_UP = 2
MISSES = 10
_MARK = b"recalld-memory"


def measure(home: Home, rounds: int) -> dict[str, dict[str, Spread]]:
    """Milliseconds by event: of the hook, and of `pass` by the same interpreter, started in turn.

    A prompt or start that was given no memory does not count. Where that is so of more than one in MISSES, the
    numbers would mean nothing, and UnavailableError is raised.
    """
    interpreter = assets.interpreter()
    script = Path(shutil.copy(assets.hook_script(), home.paths.data / "hook.py"))
    py_compile.compile(str(script))  # as an installation does
    entries = settings.entries(interpreter, script, home.paths.socket)
    bare = [str(interpreter), "-I", "-S", "-c", "pass"]
    found = {}
    for event in EVENTS:
        entry: dict[str, Any] = dict(entries[event])
        command = [entry["command"], *entry["args"]]
        times: dict[str, list[float]] = {"hook": [], "bare": []}
        for number in range(-WARM_UP, rounds):
            ms, said = _run(command, _payload(home, event, number), home.environ)
            other, _ = _run(bare, b"", home.environ)
            if number >= 0 and (event == "Stop" or _MARK in said):
                times["hook"].append(ms)
                times["bare"].append(other)
        if len(times["hook"]) < rounds - rounds // MISSES:
            raise UnavailableError(f"only {len(times['hook'])} of {rounds} {event} hooks were given memories in time")
        found[event] = {name: spread(values) for name, values in times.items()}
    return found


def _payload(home: Home, event: str, number: int) -> bytes:
    fields = {
        "session_id": f"hook-{number}", "transcript_path": str(home.paths.data / "none.jsonl"), "cwd": str(home.here),
        "hook_event_name": event, "permission_mode": "default",
    }  # fmt: skip
    if event == "SessionStart":
        fields |= {"source": "startup", "model": "none"}
    else:
        fields |= {"prompt_id": f"hook-prompt-{number}"}
    if event == "UserPromptSubmit":
        fields |= {"prompt": texts.memory(number % home.held)[0]}
    elif event == "Stop":
        fields |= {"last_assistant_message": "Done, and the tests pass."}
    return json.dumps(fields).encode()


def _run(command: list[str], payload: bytes, environ: dict[str, str]) -> tuple[float, bytes]:
    """Milliseconds from the start to the end of a process, and what it wrote; `payload` waits for it in a pipe."""
    source, writing = os.pipe()
    reading, sink = os.pipe()
    os.write(writing, payload)
    os.close(writing)
    ends = [(os.POSIX_SPAWN_DUP2, source, 0), (os.POSIX_SPAWN_DUP2, sink, 1)]
    begun = time.perf_counter()
    pid = os.posix_spawn(command[0], command, environ, file_actions=ends)
    _, code = os.waitpid(pid, 0)
    ms = (time.perf_counter() - begun) * 1000
    os.close(source)
    os.close(sink)
    with open(reading, "rb") as output:
        said = output.read()
    if code:
        raise UnavailableError(f"{' '.join(command[:3])} ... ended with code {os.waitstatus_to_exitcode(code)}")
    return ms, said
