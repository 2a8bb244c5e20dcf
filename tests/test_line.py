"""The words for Claude Code's status line, as its setting runs them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

import pytest

from conftest import PATIENCE_S, Daemon, Home, memory


def printed(setting: dict[str, Any], given: Any, home: Home) -> str:
    """What the setting's command prints for Claude Code's input; it must end well and say nothing else."""
    done = subprocess.run(
        setting["command"], shell=True, input=json.dumps(given), env=home.environ, capture_output=True, text=True,
        timeout=PATIENCE_S, cwd="/", encoding="utf-8",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_status_line_tells_of_the_project_at_hand(home: Home, daemon: Daemon) -> None:
    """What Claude Code gives it besides the folder does no harm, whatever it will be."""
    told = home.json("status", "--line")
    assert told["line"] == "0 memories"
    setting = told["statusLine"]
    assert setting["type"] == "command"
    memory(home, "The orders database is PostgreSQL 15.")
    given = {"cwd": str(home.project), "session_id": "s", "model": {"display_name": 'Opus "4"'}, "new": [None, 1.5]}
    assert printed(setting, given, home) == "1 memory\n"
    memory(home, "The orders database is PostgreSQL 16.")
    memory(home, "I like tea.", "--scope", "user")
    assert printed(setting, given, home) == "3 memories · 1 conflict\n"
    assert printed(setting, {"cwd": "/"}, home) == "1 memory\n"
    assert home.run("status", "--line").stdout == "3 memories · 1 conflict\n"
    for broken in ("", "{", [], {"cwd": 3}, {"cwd": "\ud83d\0"}):
        assert printed(setting, broken, home) in ("", "1 memory\n")


def test_without_a_daemon_the_status_line_is_empty(home: Home) -> None:
    setting = home.json("status", "--line")["statusLine"]
    assert printed(setting, {"cwd": str(home.project)}, home) == ""


@pytest.mark.usefixtures("daemon")
def test_the_status_line_imports_no_more_than_the_hook_does(home: Home) -> None:
    """Its price is that of a bare interpreter."""
    words = shlex.split(home.json("status", "--line")["statusLine"]["command"])
    assert words[1:3] == ["-I", "-S"]
    script = "exec(compile(open(sys.argv[0], encoding='utf-8').read(), '-', 'exec'))"
    code = f"import sys; sys.argv = {words[3:]!r}; {script}; print(*sorted(sys.modules))"
    bare = "import sys, _socket, posix; print(*sorted(sys.modules))"
    loaded = [
        subprocess.run([sys.executable, "-I", "-S", "-c", text], input="{}", capture_output=True, text=True, check=True)
        for text in (code, bare)
    ]
    modules = [set(done.stdout.splitlines()[-1].split()) for done in loaded]
    assert modules[0] <= modules[1]
