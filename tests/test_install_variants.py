"""Other ways in and out than install.sh: `uv tool`, a package that is removed first, a proxy in the environment."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from claude_client import until
from conftest import Home
from model_stub import ModelStub
from recalld.install import running, settings
from recalld.paths import Paths, find
from test_daemon import settled, take_turn
from test_install_sh import SCRIPT, environment

DEAD_PROXY = "http://127.0.0.1:9"


def uv() -> bool:
    return bool(shutil.which("uv")) and subprocess.run(["uv", "--version"], capture_output=True).returncode == 0


class Tool:
    """A home into which `uv tool` puts recalld, from a wheel."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "a home"
        self.environ: Mapping[str, str] = {
            **environment(self.home),
            "UV_TOOL_DIR": str(folder / "tools"),
            "UV_TOOL_BIN_DIR": str(self.home / ".local" / "bin"),
            "RECALLD_HOME": str(self.home / "r"),
        }
        self.command = self.home / ".local" / "bin" / "recalld"
        self.settings = self.home / ".claude" / "settings.json"
        self.run("uv", "build", "--quiet", "--wheel", "--out-dir", str(folder / "dist"), str(SCRIPT.parent))
        (self.wheel,) = (folder / "dist").glob("*.whl")

    @property
    def paths(self) -> Paths:
        return find(self.environ)

    def run(self, *words: str) -> str:
        done = subprocess.run(words, env=self.environ, capture_output=True, text=True, cwd=self.environ["HOME"])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def hook(self, event: str) -> subprocess.CompletedProcess[bytes]:
        entry: Any = json.loads(self.settings.read_text())["hooks"][event][0]["hooks"][0]
        payload = {"session_id": "s", "hook_event_name": event, "cwd": "/", "prompt": "p", "source": "startup"}
        return subprocess.run(
            [entry["command"], *entry["args"]], input=json.dumps(payload).encode(), env=self.environ,
            capture_output=True, timeout=30,
        )  # fmt: skip


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    if not uv():
        pytest.skip("needs uv")
    made = Tool(tmp_path_factory.mktemp("uv"))
    yield made
    running.stop(made.paths)


@pytest.mark.timeout(900)
def test_a_tool_that_uv_removes_first_leaves_hooks_that_say_nothing(tool: Tool) -> None:
    """B90: installed by uv, proved, removed by uv without a word to recalld: no error in any session, no process."""
    tool.run("uv", "tool", "install", "--quiet", "--python", sys.executable, str(tool.wheel))
    assert "The word that proves recalld's installation" in tool.run(str(tool.command), "install", "--no-service")
    assert set(settings.registered(tool.settings)) == set(settings.HOOK_EVENTS)
    assert running.status(tool.paths)
    tool.run("uv", "tool", "uninstall", "--quiet", "recalld")
    assert not tool.command.exists()
    until("its daemon has ended", lambda: running.holder(tool.paths) is None)
    for event in settings.HOOK_EVENTS:
        done = tool.hook(event)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), event
    assert running.holder(tool.paths) is None
    # Back again, it finds its hooks and leaves by the front door.
    tool.run("uv", "tool", "install", "--quiet", "--python", sys.executable, str(tool.wheel))
    said = tool.run(str(tool.command), "uninstall", "--purge", "--yes")
    assert f"hooks: taken out of {tool.settings}" in said
    assert "the program itself stays" in said
    assert not tool.settings.exists()
    assert not tool.paths.data.exists()


def test_a_proxy_keeps_nothing_on_this_machine_from_being_reached(home: Home) -> None:
    """Proxies are for what is far away: a model that serves here, and everything of recalld's own, is asked directly."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), DEAD_PROXY)
    home.environ |= {**proxies, "no_proxy": "internal.example"}
    with ModelStub() as model:
        home.recalld.mkdir()
        config = f'[extract]\nbackend = "anthropic"\nbase_url = "{model.url}"\n[http]\nenabled = true\n'
        (home.recalld / "config.toml").write_text(config)
        daemon = home.start_daemon()
        take_turn(home, 1, "We decided that the orders service listens on port 7001.")
        until("the turn is learnt", lambda: settled(home, 1))
        assert model.extractions
        assert home.json("ui", "--no-open")["url"].startswith("http://127.0.0.1:")
        daemon.stop()
