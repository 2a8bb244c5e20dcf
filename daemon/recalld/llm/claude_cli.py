"""The `claude` backend: the user's own Claude Code, run once without hooks, settings, tools or transcript."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from recalld.errors import TransientError
from recalld.llm import child, protocol
from recalld.llm.prompt import Question
from recalld.llm.protocol import BadReplyError, Reply

# What Claude Code needs to reach and pay for its model, beyond what every child gets.
_PASSED = ("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "XDG_CONFIG_HOME", "NODE_EXTRA_CA_CERTS", "CLOUD_ML_REGION")
_PASSED_PREFIXES = ("ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "AWS_", "GOOGLE_", "VERTEX_")
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",  # the queue waits, not a process
    "MAX_STRUCTURED_OUTPUT_RETRIES": "1",
    "MAX_THINKING_TOKENS": "0",
}
_PAYING = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
_LOGGED_OUT = "Not logged in"


def find(env: Mapping[str, str], home: Path) -> str:
    """The path of `claude`, or "": on PATH, else where its installers put it (a service has no PATH of the user's)."""
    if found := shutil.which("claude", path=env.get("PATH", "")):
        return os.path.abspath(found)
    return next((str(path) for path in _places(home) if path.is_file() and os.access(path, os.X_OK)), "")


def _places(home: Path) -> Iterator[Path]:
    yield home / ".local/bin/claude"
    yield home / ".claude/local/claude"
    for prefix in (
        home / ".npm-global",
        home / ".npm-packages",
        home / ".bun",
        home / ".volta",
        home / ".local/share/pnpm",
    ):
        yield prefix / "bin/claude"
    yield home / ".local/share/pnpm/claude"
    yield home / "Library/pnpm/claude"
    for root in ("/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew", "/usr"):
        yield Path(root) / "bin/claude"
    yield Path("/snap/bin/claude")
    for versions in (
        home / ".nvm/versions/node",
        home / ".local/share/fnm/node-versions",
        home / ".asdf/installs/nodejs",
    ):
        for version in sorted(versions.glob("*"), key=_changed_at, reverse=True):
            yield version / "bin/claude"
            yield version / "installation/bin/claude"


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def account(env: Mapping[str, str], config_dir: Path, home: Path) -> Literal["key", "login", ""]:
    """How Claude Code would pay, as far as files tell without starting it: by the token, by its login, or not at all."""
    if any(env.get(name) for name in _PAYING):
        return "key"
    if env.get("CLAUDE_CODE_OAUTH_TOKEN") or (config_dir / ".credentials.json").is_file():
        return "login"
    # On macOS the login is in the keychain; the account's name is in this file, which a custom folder holds itself.
    state = (config_dir if env.get("CLAUDE_CONFIG_DIR") else home) / ".claude.json"
    try:
        data = json.loads(state.read_bytes())
    except (OSError, ValueError):
        return ""
    return "login" if sys.platform == "darwin" and isinstance(data, dict) and data.get("oauthAccount") else ""


async def call(
    path: str, question: Question, model: str, env: Mapping[str, str], *, max_tokens: int, deadline_s: float
) -> Reply:
    """Ask through `claude -p`. Raises TransientError, BadReplyError, UnavailableError."""
    command = [
        path, "-p", "--model", model, "--no-session-persistence",
        "--settings", '{"disableAllHooks":true}', "--setting-sources", "", "--tools", "", "--strict-mcp-config",
        "--system-prompt", question.system, "--output-format", "json",
        "--json-schema", json.dumps(protocol.schema()),
    ]  # fmt: skip
    passed = [name for name in env if name in _PASSED or name.startswith(_PASSED_PREFIXES)]
    environment = child.environment(env, more=passed) | _QUIET | {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(max_tokens)}
    environment["PATH"] = os.pathsep.join(
        (str(Path(path).parent), environment["PATH"])
    )  # npm's `claude` looks for node
    with tempfile.TemporaryDirectory(prefix="recalld-", ignore_cleanup_errors=True) as folder:
        finished = await child.run(command, question.user.encode(), env=environment, cwd=folder, deadline_s=deadline_s)
    return read(finished)


def read(finished: child.Finished) -> Reply:
    """The client's result as a reply. Raises BadReplyError, TransientError where there is none."""
    try:
        result = msgspec.json.decode(finished.stdout)
    except msgspec.DecodeError:
        result = None
    if not isinstance(result, dict) or result.get("type") != "result":
        return _unreadable(finished)
    text = str(result.get("result") or "")
    cost = result.get("total_cost_usd")
    common: dict[str, Any] = {
        "tokens": protocol.tokens(result.get("usage")),
        "cost_usd": float(cost) if isinstance(cost, int | float) else None,
    }
    if result.get("is_error") or finished.returncode:
        status = result.get("api_error_status")
        said = text or str(result.get("subtype") or "claude failed")
        return Reply(error=said, status=status if isinstance(status, int) else 0, **common)
    return Reply(
        call=result.get("structured_output"), text=text, stop_reason=str(result.get("stop_reason") or ""), **common
    )


def _unreadable(finished: child.Finished) -> Reply:
    said = (finished.stdout + b"\n" + finished.stderr).decode("utf-8", "replace").strip()
    if _LOGGED_OUT.lower() in said.lower():
        return Reply(error=_LOGGED_OUT, status=401)
    if protocol.limited(said):
        raise TransientError("claude: a limit is reached", protocol.LIMIT_WAIT_S)
    raise BadReplyError(f"claude ended with {finished.returncode} and no result")
