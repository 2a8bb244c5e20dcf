"""Where the key for the Messages API comes from. Nothing here is ever logged, stored or put into argv."""

from __future__ import annotations

import importlib.util
import ipaddress
import json
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from recalld.config import ExtractConfig
from recalld.errors import UnavailableError
from recalld.llm import child
from recalld.llm.protocol import NoAnswerError

OFFICIAL = "https://api.anthropic.com"
KEYRING = "keyring:"
_HELPER_DEADLINE_S = 15.0
_SHELL_SIGNS = re.compile(r"[|&;<>$`*?(){}\n]|^\s*~")


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach the API: a key, a token, a command that prints the key, or (a local server) none of them.

    local: the server is on this machine, so calls cost nothing.
    """

    base_url: str
    api_key: str = ""
    auth_token: str = ""
    helper: tuple[str, ...] = ()
    local: bool = False

    def __repr__(self) -> str:
        return f"Credentials({_shown(self.base_url)})"


def find(config: ExtractConfig, env: Mapping[str, str], claude_config_dir: Path) -> tuple[Credentials | None, str]:
    """The credentials to use and where they are from, or None and what is missing. Reads files, starts nothing.

    Order: the environment, `api_key_file` (a key, `NAME=key` lines, or `keyring:SERVICE/USER`), Claude Code's own
    settings (`env`, `apiKeyHelper`), none for a server on this machine. With a `base_url` of our own config, Claude
    Code's settings are left alone: their key belongs to another server.
    """
    settings = {} if config.base_url else _claude_settings(claude_config_dir)
    theirs = _strings(settings.get("env"))
    base_url = config.base_url or env.get("ANTHROPIC_BASE_URL") or theirs.get("ANTHROPIC_BASE_URL") or OFFICIAL
    local = is_local(base_url)
    if key := env.get(config.api_key_env, "").strip():
        return Credentials(base_url=base_url, api_key=key, local=local), f"key from ${config.api_key_env}"
    if token := env.get("ANTHROPIC_AUTH_TOKEN", "").strip():
        return Credentials(base_url=base_url, auth_token=token, local=local), "token from $ANTHROPIC_AUTH_TOKEN"
    if config.api_key_file:
        return _from_file(config, base_url, local)
    if key := theirs.get("ANTHROPIC_API_KEY", ""):
        return Credentials(base_url=base_url, api_key=key, local=local), "key from Claude Code's settings"
    if token := theirs.get("ANTHROPIC_AUTH_TOKEN", ""):
        return Credentials(base_url=base_url, auth_token=token, local=local), "token from Claude Code's settings"
    if isinstance(command := settings.get("apiKeyHelper"), str) and command.strip():
        return _from_helper(command, base_url, local)
    if local and base_url != OFFICIAL:
        return Credentials(base_url=base_url, api_key="none", local=True), f"{_shown(base_url)}, no key"
    return None, "no key for the Messages API"


async def secret(credentials: Credentials, env: Mapping[str, str]) -> str:
    """The API key; asks the helper command for it where there is one. Raises UnavailableError, BadReplyError."""
    if not credentials.helper:
        return credentials.api_key
    environment = child.environment(env, more=("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"))
    try:
        finished = await child.run(
            credentials.helper, b"", env=environment, cwd=env.get("HOME", "/"), deadline_s=_HELPER_DEADLINE_S
        )
    except NoAnswerError as error:  # a locked keyring, say: no fault of the turns that wait
        raise UnavailableError(str(error)) from error
    key = finished.stdout.decode("utf-8", "replace").strip()
    if finished.returncode or not key or any(char.isspace() for char in key):
        raise UnavailableError(
            f"{os.path.basename(credentials.helper[0])} gave no API key (code {finished.returncode})"
        )
    return key


def is_local(base_url: str) -> bool:
    """Whether the server is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _shown(base_url: str) -> str:
    """The server's address without a password that stands in it."""
    return re.sub(r"//[^/@]*@", "//", base_url)


def _from_file(config: ExtractConfig, base_url: str, local: bool) -> tuple[Credentials | None, str]:
    if config.api_key_file.startswith(KEYRING):
        return _from_keyring(config.api_key_file.removeprefix(KEYRING), base_url, local)
    path = Path(config.api_key_file).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
        mode = stat.S_IMODE(path.stat().st_mode)
    except (OSError, UnicodeDecodeError) as error:
        return None, f"api_key_file {path} cannot be read ({type(error).__name__})"
    named = re.search(rf"^\s*(?:export\s+)?{re.escape(config.api_key_env)}\s*=\s*(.+?)\s*$", text, re.MULTILINE)
    key = named[1].strip("\"'") if named else text.strip()
    if not key or any(char.isspace() for char in key) or (not named and "=" in key.rstrip("=")):
        return None, f"api_key_file {path} holds no key"
    warning = f" (it can be read by others, mode {mode:o}: chmod 600 it)" if mode & 0o077 else ""
    return Credentials(base_url=base_url, api_key=key, local=local), f"key from {path}{warning}"


def _from_keyring(entry: str, base_url: str, local: bool) -> tuple[Credentials | None, str]:
    """The system's keyring, asked through a command: its libraries have no place in the daemon."""
    service, _, user = entry.partition("/")
    if importlib.util.find_spec("keyring"):
        helper: tuple[str, ...] = (sys.executable, "-P", "-m", "keyring", "get", service, user)
    elif sys.platform == "darwin":
        helper = ("/usr/bin/security", "find-generic-password", "-s", service, "-a", user, "-w")
    elif found := shutil.which("secret-tool", path="/usr/local/bin:/usr/bin:/bin"):
        helper = (found, "lookup", "service", service, "username", user)
    else:
        return None, "the keyring needs secret-tool (libsecret-tools) or the Python package keyring"
    return Credentials(base_url=base_url, helper=helper, local=local), f"key from the keyring ({entry})"


def _from_helper(command: str, base_url: str, local: bool) -> tuple[Credentials | None, str]:
    """Claude Code's `apiKeyHelper`, run without a shell."""
    try:
        words = [] if _SHELL_SIGNS.search(command) else shlex.split(command)
    except ValueError:
        words = []
    if not words:
        return None, "Claude Code's apiKeyHelper needs a shell, which recalld never starts: put it into a script"
    return Credentials(base_url=base_url, helper=tuple(words), local=local), "key from Claude Code's apiKeyHelper"


def claude_env(claude_config_dir: Path) -> dict[str, str]:
    """The variables that Claude Code's own settings set: how it reaches its model where it is not Anthropic's."""
    return _strings(_claude_settings(claude_config_dir).get("env"))


def _claude_settings(folder: Path) -> dict[str, Any]:
    """The user's own settings of Claude Code; those of a project are not trusted with commands."""
    try:
        settings = json.loads((folder / "settings.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _strings(table: Any) -> dict[str, str]:
    if not isinstance(table, dict):
        return {}
    return {key: value.strip() for key, value in table.items() if isinstance(value, str)}
