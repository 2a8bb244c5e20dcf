"""The HTTP door as tests use it: a daemon with its web process, and requests by the standard library."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import PATIENCE_S, Daemon, Home


class Reply(NamedTuple):
    """An answer. data: its JSON, None where it is none."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body) if self.body else None


class Web:
    """A daemon that serves `home`, and HTTP."""

    def __init__(self, home: Home) -> None:
        home.recalld.mkdir(exist_ok=True)
        self.home = home
        self.daemon: Daemon = home.start_daemon()
        self.find()

    def find(self) -> None:
        """Wait until it serves, and learn where."""
        self.url: str = self.home.json("ui", "--no-open")["url"]
        facts = json.loads(self.home.paths.http_facts.read_text())
        self.port, self.pid = facts["port"], facts["pid"]
        self.token = self.home.paths.http_token.read_text().strip()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str | None = "", raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:  # fmt: skip
        """One request, in a connection of its own. token: the owner's unless given; None: without."""
        sent = {} if token is None else {"Authorization": f"Bearer {token or self.token}"}
        if body is not None or raw is not None:
            sent["Content-Type"] = "application/json"
        connection = self.connect()
        try:
            content = raw if raw is not None else None if body is None else json.dumps(body).encode()
            connection.request(method, path, content, {**sent, **(headers or {})})
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Any:
        """The data of a GET that must succeed."""
        answer = self.ask("GET", path, **more)
        assert answer.status == 200, answer
        return answer.data

    def add(self, text: str, **fields: Any) -> dict[str, Any]:
        answer = self.ask("POST", "/memories", {"content": text, **fields})
        assert answer.status == 201, answer
        found: dict[str, Any] = answer.data
        return found


def until(happened: Callable[[], Any]) -> Any:
    """What `happened` returns, as soon as that is something; another process tells nobody of it."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := happened():
            return found
        time.sleep(0.02)
    raise AssertionError("it does not happen")


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not, where that can be told."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()


@contextlib.contextmanager
def web_of(folder: Path) -> Iterator[Web]:
    """A home in `folder` that serves HTTP, ended afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        home = Home(folder)
        for name in ("HOME", "RECALLD_HOME", "CLAUDE_CONFIG_DIR"):
            patch.setenv(name, home.environ[name])
        web = Web(home)
        try:
            yield web
        finally:
            if web.daemon.process.poll() is None:
                web.daemon.stop()
            elif web.daemon.process.stdout:
                web.daemon.process.stdout.close()
