"""The repository is a plugin of Claude Code, and the marketplace it comes from."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import recalld

ROOT = Path(__file__).parents[1]
EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
    "SessionEnd": "session-end",
}
CLAUDE = os.environ.get("RECALLD_TEST_CLAUDE") or shutil.which("claude")


def read(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("event", EVENTS)
def test_each_event_runs_the_script_without_a_shell_or_a_site(event: str) -> None:
    registered = read("hooks/hooks.json")["hooks"]
    assert list(registered) == list(EVENTS)
    (group,) = registered[event]
    assert "matcher" not in group  # every source, every prompt
    (hook,) = group["hooks"]
    assert hook["type"] == "command"
    assert hook["command"] == "python3"
    assert hook["args"] == ["-I", "-S", "${CLAUDE_PLUGIN_ROOT}/hooks/hook.py", EVENTS[event]]
    assert type(hook["timeout"]) is int
    assert 1 <= hook["timeout"] <= 30


def test_the_marketplace_offers_this_folder_as_the_plugin() -> None:
    plugin, marketplace = read(".claude-plugin/plugin.json"), read(".claude-plugin/marketplace.json")
    (offered,) = marketplace["plugins"]
    assert marketplace["name"] == plugin["name"] == offered["name"] == "recalld"
    assert offered["source"] == "./"
    assert offered["description"] == plugin["description"]
    assert marketplace["owner"]["name"] == plugin["author"]["name"]


def test_the_plugin_has_the_version_of_the_package() -> None:
    assert read(".claude-plugin/plugin.json")["version"] == recalld.__version__


@pytest.mark.skipif(CLAUDE is None, reason="Claude Code is not installed (or named by RECALLD_TEST_CLAUDE)")
def test_claude_code_installs_it_from_here(tmp_path: Path) -> None:
    """The client's own word: both manifests are valid, the plugin installs and brings four hooks."""
    copy = tmp_path / "recalld"
    for part in (".claude-plugin", "hooks", "skills"):
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part)

    def claude(*args: str) -> str:
        env = {
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }
        done = subprocess.run(
            [str(CLAUDE), "plugin", *args], env=env, capture_output=True, check=False, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    claude("validate", str(copy))
    claude("validate", str(copy / ".claude-plugin" / "plugin.json"))
    claude("marketplace", "add", str(copy))
    claude("install", "recalld@recalld")
    assert "recalld@recalld" in claude("list")
    assert "SessionStart, UserPromptSubmit, Stop, SessionEnd" in claude("details", "recalld")
