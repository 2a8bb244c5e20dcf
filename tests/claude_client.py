"""The real Claude Code client on a scratch home, as `claude -p` and in a terminal, against the loopback model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

KEY = "-".join(("sk", "ant", "test", "0" * 24))
RECALLD = str(Path(sys.executable).with_name("recalld"))
WAIT_S = 100.0
"""Reached only where something is broken: a busy machine takes its time."""


def program() -> str | None:
    """The client's program: RECALLD_TEST_CLAUDE, else `claude` on the PATH, else none."""
    return os.environ.get("RECALLD_TEST_CLAUDE") or shutil.which("claude")


def until(what: str, probe: Callable[[], Any], timeout_s: float = WAIT_S) -> Any:
    """What `probe` returns, as soon as that is true."""
    deadline = time.monotonic() + timeout_s
    while not (result := probe()):
        if time.monotonic() > deadline:
            raise AssertionError(f"after {timeout_s} s still not: {what}")
        time.sleep(0.05)
    return result


class Person:
    """Somebody with a home of their own, who installs recalld and works with Claude Code."""

    def __init__(self, home: Path, model_url: str) -> None:
        client = program()
        assert client is not None
        self.home = home
        self._client = client
        home.mkdir(parents=True, exist_ok=True)
        self.env = {
            "HOME": str(home), "PATH": f"{Path(client).parent}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "TERM": "xterm-256color", "ANTHROPIC_BASE_URL": model_url, "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
        }  # fmt: skip

    def recalld(self, *arguments: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            [RECALLD, *arguments], env=self.env, cwd=cwd or self.home, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def data(self, *arguments: str, cwd: Path | None = None) -> Any:
        return json.loads(self.recalld(*arguments, "--json", cwd=cwd))

    def configure(self, text: str) -> None:
        folder = self.home / ".config" / "recalld"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(text)

    def claude(self, prompt: str, cwd: Path, *arguments: str) -> str:
        done = subprocess.run(
            [self._client, "-p", prompt, *arguments], env=self.env, cwd=cwd, capture_output=True, text=True, timeout=90,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def repository(self, *parts: str) -> Path:
        folder = self.home.joinpath(*parts)
        folder.mkdir(parents=True)
        self.git("init", "--quiet", cwd=folder)
        self.git("commit", "--quiet", "--allow-empty", "-m", "begin", cwd=folder)
        return folder

    def git(self, *arguments: str, cwd: Path) -> None:
        who = {
            "GIT_AUTHOR_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@t",
            "GIT_COMMITTER_NAME": "t",
            "GIT_COMMITTER_EMAIL": "t@t",
        }
        subprocess.run(["git", *arguments], cwd=cwd, env=self.env | who, check=True, capture_output=True)

    def trusts(self, *folders: Path) -> None:
        """Answer the client's questions of a first start beforehand."""
        (self.home / ".claude.json").write_text(
            json.dumps(
                {
                    "hasCompletedOnboarding": True,
                    "theme": "dark",
                    "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
                    "projects": {str(folder): {"hasTrustDialogAccepted": True} for folder in folders},
                }
            )
        )

    def terminal(self, cwd: Path) -> Terminal:
        return Terminal(self._client, self.env, cwd)


class Terminal:
    """The client in a real terminal (tmux): what is typed and what is to be seen."""

    def __init__(self, client: str, env: dict[str, str], cwd: Path) -> None:
        self._name = "recalld-" + uuid.uuid4().hex[:8]
        # A server of its own: nothing of the developer's tmux is seen or touched.
        self._tmux = ["tmux", "-L", self._name, "-f", "/dev/null"]
        self._env = env
        self._run("new-session", "-d", "-s", "t", "-x", "160", "-y", "50", "-c", str(cwd), client)

    def __enter__(self) -> Terminal:
        self.wait_for("❯", "│ >", "? for shortcuts")
        return self

    def __exit__(self, *_: object) -> None:
        self._run("kill-server", check=False)

    def type(self, text: str) -> None:
        self._run("send-keys", "-t", "t", "-l", text)
        # The client takes a fast burst of keys for a paste; it shows the text before it can be sent.
        self.wait_for(text[-20:])
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self._run("send-keys", "-t", "t", *keys)

    def screen(self) -> str:
        return self._run("capture-pane", "-p", "-t", "t").stdout

    def wait_for(self, *texts: str) -> str:
        try:
            return until(f"{texts} on the screen", lambda: self._shown(texts))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.screen()}") from None

    def ended(self) -> bool:
        return self._run("has-session", "-t", "t", check=False).returncode != 0

    def _shown(self, texts: tuple[str, ...]) -> str:
        screen = self.screen()
        return next((text for text in texts if text in screen), "")

    def _run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._tmux, *arguments], env=self._env, check=check, capture_output=True, text=True, timeout=20
        )
