"""Writing recalld into the settings of MCP clients, and out of them again, as carefully as into Claude Code's."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Home, failed
from recalld.install import assets, clients

NAMES = tuple(clients.CLIENTS)
JSON = tuple(name for name in NAMES if name != "codex")

# What people have in such files: their own layout, several servers, keys we know nothing of.
OTHERS_JSON = """{
    "theme": "dark",   "numbers": [1,2,  3],
    "KEY": {
        "github": {"command": "npx", "args": ["-y", "server-github"], "env": {"TOKEN": "${T}"}}
    },
    "ünïcode": "\\u00e4"
}
"""
OTHERS_TOML = """# mine
model = "o4"   # the good one
[mcp_servers.github]   # work
command = "npx"
args = [
  "-y",  # yes
  "server-github",
]

[profiles.fast]
model = 'o4-mini'

[mcp_servers.docs.env]
A = "1"
[mcp_servers.docs]
command = "docs"
"""


@pytest.fixture
def environ(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """That of a process in the scratch home."""
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    yield home.environ


def settings(name: str, environ: dict[str, str]) -> Path:
    return clients.CLIENTS[name].file(Path(environ["HOME"]), environ)


def servers(name: str, file: Path) -> dict[str, Any]:
    text = file.read_text()
    return dict((tomllib.loads(text) if name == "codex" else json.loads(text))[clients.CLIENTS[name].key])


def others(name: str) -> str:
    """A file of other people's."""
    return OTHERS_TOML if name == "codex" else OTHERS_JSON.replace("KEY", clients.CLIENTS[name].key)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_each_client_has_its_file_where_the_client_looks(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    house = Path(environ["HOME"])
    desktop = house / ".config" if platform == "linux" else house / "Library" / "Application Support"
    assert {name: settings(name, environ) for name in NAMES} == {
        "claude-desktop": desktop / "Claude" / "claude_desktop_config.json",
        "cursor": house / ".cursor" / "mcp.json",
        "codex": house / ".codex" / "config.toml",
        "vscode": desktop / "Code" / "User" / "mcp.json",
        "gemini": house / ".gemini" / "settings.json",
    }
    moved = {**environ, "XDG_CONFIG_HOME": "/else/where", "CODEX_HOME": "/codex"}
    assert settings("codex", moved) == Path("/codex/config.toml")
    if platform == "linux":
        assert settings("vscode", moved) == Path("/else/where/Code/User/mcp.json")


@pytest.mark.parametrize("name", NAMES)
def test_a_client_gets_an_entry_with_an_absolute_path_and_this_home(
    home: Home, environ: dict[str, str], name: str
) -> None:
    done = home.json("install", "--client", name)
    file = settings(name, environ)
    assert any(str(file) in line and "created" in line for line in done)
    assert list(servers(name, file)) == ["recalld"]
    entry = servers(name, file)["recalld"]
    assert Path(entry["command"]) == assets.command()
    assert entry["args"][:3] == ["mcp", "--client", name]
    assert entry["env"]["RECALLD_HOME"] == str(home.recalld)
    assert entry.get("type") == ("stdio" if name == "vscode" else None)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", NAMES)
def test_other_entries_and_the_layout_stay_and_removal_restores_the_file(
    home: Home, environ: dict[str, str], name: str
) -> None:
    file = settings(name, environ)
    file.parent.mkdir(parents=True)
    file.write_text(others(name))
    file.chmod(0o644)
    home.json("install", "--client", name)
    assert set(servers(name, file)) >= {"github", "recalld"}
    left = [line for line in others(name).splitlines() if line.strip() not in ("}", "{", "")]
    held = file.read_text()
    assert [line for line in left if line.rstrip(",") not in held] == []
    assert file.stat().st_mode & 0o777 == 0o644
    (copy,) = home.paths.backups.glob("client-*")
    assert copy.read_text() == others(name)
    assert copy.stat().st_mode & 0o777 == 0o600
    home.json("uninstall", "--client", name)
    assert file.read_text() == others(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_second_installation_changes_nothing(home: Home, environ: dict[str, str], name: str) -> None:
    home.json("install", "--client", name)
    file = settings(name, environ)
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    assert any("unchanged" in line for line in home.json("install", "--client", name))
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_ours_alone_goes_with_the_entry(home: Home, environ: dict[str, str], name: str) -> None:
    home.json("install", "--client", name)
    home.json("uninstall", "--client", name)
    assert not settings(name, environ).exists()
    assert "was not in its settings" in home.json("uninstall", "--client", name)[0]


@pytest.mark.parametrize("name", NAMES)
def test_what_the_owner_changed_in_the_entry_stays(home: Home, environ: dict[str, str], name: str) -> None:
    """Another project, another key; only the program's path is brought up to date."""
    home.json("install", "--client", name)
    file = settings(name, environ)
    text = file.read_text().replace(str(assets.command()), "/old/bin/recalld").replace(f'"{name}"', '"mine"')
    file.write_text(text)
    home.json("install", "--client", name)
    entry = servers(name, file)["recalld"]
    assert Path(entry["command"]) == assets.command()
    assert entry["args"][:3] == ["mcp", "--client", "mine"]


@pytest.mark.parametrize("name", NAMES)
def test_another_server_of_that_name_is_not_touched(home: Home, environ: dict[str, str], name: str) -> None:
    file = settings(name, environ)
    file.parent.mkdir(parents=True)
    key = clients.CLIENTS[name].key
    theirs = {key: {"recalld": {"url": "http://127.0.0.1:7777/mcp"}}}
    text = f'[{key}.recalld]\nurl = "http://127.0.0.1:7777/mcp"\n' if name == "codex" else json.dumps(theirs, indent=1)
    file.write_text(text)
    line = 1 if name == "codex" else 3
    assert f'{file}:{line}: "recalld" is another server' in failed(home.run("install", "--client", name))
    assert "was not in its settings" in home.json("uninstall", "--client", name)[0]
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("cursor", '{\n  "mcpServers": {}, // mine\n}\n', ":2: not plain JSON"),
        ("vscode", '{\n  "servers": [],\n  "inputs": []\n}\n', ':2: "servers" is not an object'),
        ("gemini", "[]\n", ":1: the settings are not an object"),
        ("claude-desktop", "", ":1: the file is empty"),
        ("codex", "model = 1\nmodel = 2\n", "not valid TOML: Cannot overwrite a value (at line 2"),
        ("codex", "mcp_servers = 3\n", "mcp_servers is not a table"),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_named_with_its_line_and_left(
    home: Home, environ: dict[str, str], name: str, text: str, said: str
) -> None:
    file = settings(name, environ)
    file.parent.mkdir(parents=True)
    file.write_text(text)
    told = failed(home.run("install", "--client", name))
    assert str(file) in told
    assert said in told
    assert "nothing was changed" in told or "empty" in told
    assert file.read_text() == text


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_a_link_stays_one(home: Home, environ: dict[str, str], name: str) -> None:
    file, real = settings(name, environ), home.root / "dotfiles" / "settings"
    real.parent.mkdir()
    file.parent.mkdir(parents=True)
    real.write_text(others(name))
    file.symlink_to(real)
    home.json("install", "--client", name)
    assert file.is_symlink()
    assert "recalld" in servers(name, real)


@pytest.mark.parametrize(
    "text", ["mcp_servers = { a = { command = 'x' } }\n", "[mcp_servers]\n", "\ufeffmodel = 1\n", "a.b = 1"]
)
def test_unusual_toml_is_edited_rightly_or_not_at_all(home: Home, environ: dict[str, str], text: str) -> None:
    file = settings("codex", environ)
    file.parent.mkdir(parents=True)
    file.write_text(text)
    done = home.run("install", "--client", "codex")
    if done.returncode == 0:
        after = tomllib.loads(file.read_text())
        del after["mcp_servers"]["recalld"]
        assert {"mcp_servers": {}, **tomllib.loads(text)} == {"mcp_servers": {}, **after}
    else:
        failed(done)
        assert file.read_text() == text


def test_uninstalling_all_takes_it_out_of_every_client(home: Home, environ: dict[str, str]) -> None:
    """A client whose file cannot be edited does not keep the rest from going."""
    for name in NAMES:
        home.json("install", "--client", name)
    settings("cursor", environ).write_text("{oops")
    lines = home.json("uninstall")
    assert sum("taken out of" in line for line in lines if "hooks" not in line) == len(NAMES) - 1
    assert any(line.startswith("Cursor: ") and "nothing was changed" in line for line in lines)
    assert [name for name in NAMES if settings(name, environ).exists()] == ["cursor"]


def test_an_unknown_client_is_refused_with_those_there_are(home: Home) -> None:
    for words in (("install", "--client", "emacs"), ("uninstall", "--client", "emacs")):
        told = failed(home.run(*words))
        assert [name for name in NAMES if name not in told] == []
