"""Fixtures for tests that go through real processes: a scratch home, and a daemon that serves it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import forked
from recalld.client import Client
from recalld.install.running import holder
from recalld.paths import Paths, find

PACKAGE = Path(__file__).resolve().parents[1] / "daemon"
# What is compiled is kept, whatever the caller's environment says: thousands of processes need it.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Where many things run at once, being slow says nothing about what is tested.
hypothesis.settings.register_profile(
    "busy", hypothesis.settings(), deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy")

LONG = os.environ.get("RECALLD_TEST_LONG") == "1"
"""Repeat what is about luck more often than every run can afford."""
PATIENCE_S = 60.0
"""For one command or start; reached only where something is broken."""


LONGEST = (
    "faults_a", "viewer", "upgrade", "real_client", "daemon", "install_sh", "canaries", "encrypt", "soak", "cli_terminal",
    "learn", "mcp", "cli_run", "rescue", "web", "faults_b", "web_schema", "fuzz", "install_variants",
)  # fmt: skip
"""The files that take longest, by their names' middle: begun first, so that at the end nobody waits for one of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {f"test_{name}": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


class Home:
    """A user's home, empty but for a project folder.

    recalld: RECALLD_HOME. claude: CLAUDE_CONFIG_DIR. project: where commands run unless told otherwise. environ: for
    any process of this home; without keys, logins and settings of whoever runs the tests.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.recalld, self.claude, self.project = root / "r", root / "user" / ".claude", root / "work" / "shop"
        for folder in (self.claude, self.project / ".git"):
            folder.mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        foreign = ("ANTHROPIC_", "CLAUDE", "RECALLD_", "XDG_", "LISTEN_", "NOTIFY_", "WATCHDOG_", "JOURNAL_")
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self.environ |= {
            "HOME": str(root / "user"),
            "RECALLD_HOME": str(self.recalld),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "PYTHONPATH": str(PACKAGE),
            "COLUMNS": "100",
            "TZ": "UTC",
        }

    @property
    def paths(self) -> Paths:
        return find(self.environ)

    @property
    def client(self) -> Client:
        return Client(self.paths.socket)

    def run(
        self, *words: str, cwd: Path | None = None, text: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """`recalld WORDS...`, with `text` on its stdin; from a fresh interpreter where either is said, else see `forked`."""
        if not text and not environ and forked.same_interpreter(self.environ, str(PACKAGE)):
            return forked.run(words, self.environ, cwd or self.project, PATIENCE_S)
        return subprocess.run(
            command(*words), cwd=cwd or self.project, input=text, env={**self.environ, **environ},
            capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    def json(self, *words: str, cwd: Path | None = None) -> Any:
        """What `recalld WORDS... --json` prints; it must succeed."""
        done = self.run(*words, "--json", cwd=cwd)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    def start_daemon(self, *wrapper: str, **environ: str) -> Daemon:
        """A daemon of this home that serves; the caller ends it. wrapper: a command that becomes the daemon's."""
        return Daemon(self, environ, wrapper)


class Daemon:
    """A `recalld run` process that serves `home`. `stop` ends it as a service manager would."""

    def __init__(self, home: Home, environ: dict[str, str], wrapper: Sequence[str]) -> None:
        """Returns as soon as the daemon says that it is ready, as it would to systemd, and has answered."""
        self.home = home
        address = home.root / "ready"
        address.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            before = Path.cwd()
            os.chdir(home.root)  # the whole path may be too long for AF_UNIX
            ready.bind(address.name)
            os.chdir(before)
            self.process = subprocess.Popen(
                [*wrapper, *command("run")], cwd="/", env={**home.environ, "NOTIFY_SOCKET": str(address), **environ},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                self._wait(ready)
                self.pid: int = home.client.call("status")["pid"]
            except BaseException:
                self.process.kill()
                self.process.communicate()
                raise
        assert self.pid == self.process.pid

    def _wait(self, ready: socket.socket) -> None:
        """Until it says that it is ready; fails, with what it printed, where it ends instead."""
        printed = b""
        with selectors.DefaultSelector() as both:
            both.register(ready, selectors.EVENT_READ)
            assert self.process.stdout
            both.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                waiting = [key.fileobj for key, _ in both.select(PATIENCE_S)]
                assert waiting, "the daemon does not become ready"
                if ready in waiting:
                    assert ready.recv(100) == b"READY=1"
                    return
                part = os.read(self.process.stdout.fileno(), 1 << 16)
                printed += part
                if not part:  # it ended, or closed its stdout
                    both.unregister(self.process.stdout)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        code = self.process.wait(timeout=1)
                        raise AssertionError(f"the daemon ended with {code}: {printed.decode()}")

    def freeze(self) -> None:
        """Let it hang from now on, at a moment when it holds no lock that others would have to wait for."""
        until = time.monotonic() + PATIENCE_S
        while True:
            self.process.send_signal(signal.SIGSTOP)
            try:
                with contextlib.closing(sqlite3.connect(self.home.paths.database, timeout=0.1)) as db:
                    db.execute("begin immediate")
                return
            except sqlite3.OperationalError:
                assert time.monotonic() < until, "it keeps the database locked"
                self.process.send_signal(signal.SIGCONT)
                time.sleep(0.05)

    def stop(self) -> str:
        """End it by SIGTERM; returns what it printed. It must end with 0."""
        self.process.send_signal(signal.SIGTERM)
        printed = self.process.communicate(timeout=PATIENCE_S)[0].decode()
        assert self.process.returncode == 0, printed
        return printed


def command(*words: str) -> list[str]:
    """The command line of `recalld WORDS...` in this environment."""
    return [sys.executable, "-m", "recalld", *words]


def failed(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    """The one line on stderr of a command that must fail with `code`."""
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.count("\n") == 1
    return done.stderr


def memory(home: Home, text: str, *options: str) -> str:
    """The id of a new memory."""
    return str(home.json("add", text, *options)["id"])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A scratch home; this process, too, sees it in its environment. Whatever daemon it has at the end is killed."""
    made = Home(tmp_path)
    for name in ("HOME", "RECALLD_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(name, made.environ[name])
    yield made
    if holder(made.paths):
        left = made.run("stop")
        assert left.returncode == 0, left.stderr


@pytest.fixture
def daemon(home: Home) -> Iterator[Daemon]:
    """A daemon that serves `home`, ended in order when the test is over."""
    running = home.start_daemon()
    yield running
    if running.process.poll() is None:
        running.stop()
    elif running.process.stdout:
        running.process.stdout.close()
