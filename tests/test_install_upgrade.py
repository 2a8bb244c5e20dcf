"""Today's program over what an earlier version has left: one set of hooks, one service, all memories."""

from __future__ import annotations

import gzip
import json
import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Home, command
from recalld import wire
from recalld.install import assets, settings
from test_daemon import said

DATA = Path(__file__).parent / "data"
VERSIONS = sorted(path for path in (DATA / "installed").iterdir() if path.is_dir())
FOREIGN = {"type": "command", "command": "notify-send done"}

# A user manager of a few lines: it starts what the unit says, and notes what it was asked.
SYSTEMCTL = """#!{python}
import os, re, signal, subprocess, sys, time
units, pid, calls = {units!r}, {pid!r}, {calls!r}
words = [word for word in sys.argv[1:] if word != "--user"]
open(calls, "a").write(" ".join(words) + "\\n")
if words[0] == "show-environment":
    print("HOME=" + os.environ["HOME"])
elif words[0] == "--version":
    print("systemd 252 (252.1)")
elif words[0] == "stop" and os.path.exists(pid):
    os.kill(int(open(pid).read()), signal.SIGTERM)
    os.unlink(pid)
elif words[0] == "start" and not os.path.exists(pid):
    unit = open(units + "/recalld.service").read()
    program = re.search('^ExecStart="?(.+?)"? run$', unit, re.M)[1]
    extra = dict(re.findall('^Environment="?([A-Z_]+)=(.+?)"?$', unit, re.M))
    null = {{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}}
    begun = subprocess.Popen([program, "run"], env={{**os.environ, **extra}}, start_new_session=True, **null)
    open(pid, "w").write(str(begun.pid))
"""


class Old:
    """A home as `version` has left it: its hooks beside others' in settings.json, its units, its database."""

    def __init__(self, home: Home, version: Path) -> None:
        self.home, self.version = home, version
        self.units = home.root / "user" / ".config" / "systemd" / "user"
        self.units.mkdir(parents=True)
        script = home.root / "user" / "old" / "recalld" / "hooks" / "hook.py"
        script.parent.mkdir(parents=True)
        script.write_bytes((version / "hook.txt").read_bytes())
        self.settings = home.claude / "settings.json"
        places = {"@HOME@": home.root / "user", "@RECALLD@": home.recalld, "@SCRIPT@": script,
                  "@PYTHON@": assets.interpreter()}  # fmt: skip
        for source, target in (
            (version / "settings.json", self.settings),
            *((version / name, self.units / name) for name in ("recalld.service", "recalld.socket")),
        ):
            text = source.read_text()
            for mark, place in places.items():
                text = text.replace(mark, str(place))
            target.write_text(text)
        home.recalld.mkdir(mode=0o700)
        oldest = min((DATA / "schema").glob("*.db.gz"))
        home.paths.database.write_bytes(gzip.decompress(oldest.read_bytes()))

    def with_manager(self) -> dict[str, str]:
        """The environment in which there is a user manager."""
        folder = self.home.root / "bin"
        folder.mkdir()
        self.calls = self.home.root / "calls"
        text = SYSTEMCTL.format(
            python=sys.executable, units=str(self.units), pid=str(self.home.root / "pid"), calls=str(self.calls)
        )
        for name, content in (("systemctl", text), ("systemd-run", "#!/bin/sh\n")):
            (folder / name).write_text(content)
            (folder / name).chmod(0o755)
        return {"PATH": f"{folder}{os.pathsep}{self.home.environ['PATH']}"}

    def run_hook(self, event: str, payload: dict[str, str]) -> dict[str, Any]:
        """What the old version's hook, with its old line, makes of a daemon of today."""
        entry = json.loads(self.settings.read_text())["hooks"][event][-1]["hooks"][0]
        done = subprocess.run(
            [entry["command"], *entry["args"]], input=json.dumps(payload), env=self.home.environ, text=True,
            capture_output=True, cwd=self.home.project, timeout=20,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        answer: dict[str, Any] = json.loads(done.stdout or "{}")
        return answer


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def old(home: Home, request: pytest.FixtureRequest) -> Old:
    return Old(home, request.param)


def ours(file: Path) -> dict[str, int]:
    """How many entries of ours each event has."""
    hooks = json.loads(file.read_text())["hooks"]
    return {
        event: sum(settings.is_ours(entry) for group in groups for entry in group["hooks"])
        for event, groups in hooks.items()
    }


def test_installing_over_it_leaves_one_of_everything(old: Old) -> None:
    """Hooks, units and daemon are the new ones, alone; other tools' hooks stay; every memory comes back."""
    environ = old.with_manager()
    for _ in range(2):
        done = old.home.run("install", **environ)
        assert done.returncode == 0, done.stderr
        assert "service: systemd user unit" in done.stdout
        assert "The word that proves recalld's installation" in done.stdout
        assert ours(old.settings) == dict.fromkeys(settings.HOOK_EVENTS, 1)
        left = json.loads(old.settings.read_text())
        assert (left["model"], left["hooks"]["Stop"][0]["hooks"]) == ("opus", [FOREIGN])
        assert sorted(path.name for path in old.units.iterdir()) == ["recalld.service", "recalld.socket"]
        unit = (old.units / "recalld.service").read_text()
        assert "/old/venv" not in unit
        assert unit.count("ExecStart=") == 1
    known = {memory["content"] for memory in old.home.json("list", "--project", "all")}
    assert {"The orders service listens on port 8081.", "I like short answers."} <= known
    gone = old.home.run("uninstall", **environ)
    assert gone.returncode == 0, gone.stderr
    assert ours(old.settings) == {"Stop": 0}
    assert not old.units.exists()


def test_without_a_manager_the_old_units_go(old: Old) -> None:
    """Hooks start the daemon then; a unit that was left would start a program that is not there any more."""
    done = old.home.run("install", "--no-service")
    assert done.returncode == 0, done.stderr
    assert not old.units.exists()
    assert ours(old.settings) == dict.fromkeys(settings.HOOK_EVENTS, 1)


def test_a_session_that_is_still_open_has_the_old_hooks(old: Old) -> None:
    """They and today's daemon understand each other: a memory is given, and a turn is taken in."""
    running = old.home.start_daemon()
    old.home.json("add", "The orders queue is RabbitMQ.", "--pin")
    begun = old.run_hook("SessionStart", said(old.home, "session-start", "", source="startup"))
    assert "RabbitMQ" in begun["hookSpecificOutput"]["additionalContext"]
    old.run_hook("UserPromptSubmit", said(old.home, "prompt", "p9", prompt="We decided to use pnpm."))
    old.run_hook("Stop", said(old.home, "stop", "p9", last_assistant_message="Done."))
    assert not list(old.home.paths.spool.iterdir())
    running.stop()


@pytest.mark.parametrize(
    "header", ["hook stop", "hook stop entrypoint=cli project=/x pid=1 later=%20x flag", "hook stop pid="]
)
def test_a_header_of_another_version_is_understood(header: str) -> None:
    """Words that are missing have a default, words that are not known are no fault."""
    payload = b'{"session_id": "s", "cwd": "/x", "last_assistant_message": "Done."}'
    request = wire.parse_request(header.encode() + b"\n" + payload)
    assert (request.door, request.name) == ("hook", "stop")
    event = wire.parse_hook(request.name, request.payload, request.values)
    assert isinstance(event, wire.TurnEnded)
    assert event.session_id == "s"


def test_going_back_to_an_older_version_makes_no_loop(home: Home) -> None:
    """B91: It refuses a newer database in one line, with the code that no unit restarts.

    Nor does it leave a hook waiting at the service manager's socket, for which that would start it again.
    """
    home.paths.ensure()
    with sqlite3.connect(home.paths.database) as db:
        db.execute("pragma user_version = 99")
    db.close()
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as waiting:
        listening.bind(str(home.paths.socket))
        listening.listen()
        waiting.connect(str(home.paths.socket))
        script = 'exec 3<&"$1"; shift; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
        done = subprocess.run(
            ["bash", "-c", script, "bash", str(listening.fileno()), *command("run")], env=home.environ, text=True,
            pass_fds=[listening.fileno()], cwd="/", capture_output=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 78
        assert done.stderr.count("\n") == 1
        assert "newer recalld" in done.stderr
        waiting.settimeout(5)
        assert waiting.recv(1) == b""
