"""recalld's entry in the settings of programs that speak MCP: put in, and taken out again, beside whatever else is there."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recalld.errors import ConfigError
from recalld.install import assets, client_text, shared_file
from recalld.paths import Paths


class Client(NamedTuple):
    """A program: its settings, and how they name servers.

    file: where they are, from the home folder and the environment. key: the table of servers. fixed: what its entries
    have besides a command. arguments: what `recalld mcp` is given; a program that tells no roots starts its servers in
    the folder it works in.
    """

    title: str
    file: Callable[[Path, Mapping[str, str]], Path]
    key: str = "mcpServers"
    fixed: Mapping[str, str] = {}
    arguments: tuple[str, ...] = ()


def _config_home(home: Path, environ: Mapping[str, str]) -> Path:
    """Where programs of the desktop keep their settings."""
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


CLIENTS: Mapping[str, Client] = {
    "claude-desktop": Client(
        "Claude Desktop", lambda home, environ: _config_home(home, environ) / "Claude" / "claude_desktop_config.json"
    ),
    "cursor": Client("Cursor", lambda home, _: home / ".cursor" / "mcp.json"),
    "codex": Client(
        "Codex", lambda home, environ: Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml",
        key="mcp_servers", arguments=("--project", "."),
    ),
    "vscode": Client(
        "VS Code", lambda home, environ: _config_home(home, environ) / "Code" / "User" / "mcp.json",
        key="servers", fixed={"type": "stdio"},
    ),
    "gemini": Client("Gemini CLI", lambda home, _: home / ".gemini" / "settings.json"),
}  # fmt: skip


def install(name: str, paths: Paths, environ: Mapping[str, str]) -> Iterator[str]:
    """Write the entry into the settings of the client `name`; yields lines for the owner.

    Doing it again changes nothing; what the owner added to the entry stays. Raises ConfigError, with the line, where
    the file cannot be edited safely; it is untouched then.
    """
    client, entry = CLIENTS[name], _entry(name, environ)
    file = client.file(Path.home(), environ)
    edit = client_text.of(file)
    if not file.parent.is_dir():
        yield f"{client.title}: {file.parent} was not there; is it installed?"
    outcome = shared_file.rewrite(
        file,
        lambda text: edit.put(text, file, client.key, entry),
        lambda target, data: shared_file.keep(data, _backup(target, paths.backups)),
    )
    yield f"{client.title}: {file} ({outcome})"
    if outcome != "unchanged":
        yield f"{client.title}: restart it; it then has recalld's tools"


def uninstall(name: str, paths: Paths, environ: Mapping[str, str]) -> Iterator[str]:
    """Take the entry out of the settings of the client `name`; yields a line where there was one. Raises ConfigError."""
    client = CLIENTS[name]
    file = client.file(Path.home(), environ)
    if not os.path.lexists(file):
        return
    backup = _backup(shared_file.target_of(file), paths.backups)
    before = backup.read_bytes().decode() if backup.exists() else None
    edit = client_text.of(file)
    if shared_file.rewrite(file, lambda text: edit.drop(text, file, client.key, before)) != "unchanged":
        yield f"{client.title}: taken out of {file}"


def uninstall_all(paths: Paths, environ: Mapping[str, str]) -> Iterator[str]:
    """Take the entry out of the settings of every client; one that cannot be edited is only told of."""
    for name in CLIENTS:
        try:
            yield from uninstall(name, paths, environ)
        except ConfigError as error:
            yield f"{CLIENTS[name].title}: {error}"


def _entry(name: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """How a client starts the server: by an absolute path, in the home that recalld has here."""
    client = CLIENTS[name]
    entry = {
        **client.fixed, "command": str(assets.command()), "args": ["mcp", "--client", name, *client.arguments]
    }  # fmt: skip
    places = assets.places(environ)
    return {**entry, "env": places} if places else entry


def _backup(target: Path, backups: Path) -> Path:
    """Where the copy of `target` from before our first change is kept."""
    digest = hashlib.sha256(os.fsencode(target)).hexdigest()[:8]
    return backups / f"client-{target.stem}-{digest}{target.suffix}"
