"""What else is on this machine that recalld has to get along with: other memories, the clock, the system's watches.

Each function tells what was found, in a sentence, and what to do (empty: nothing).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import recalld
from recalld.install import settings
from recalld.llm import claude_cli

# Programs that give Claude Code a memory, by what stands in their hooks' commands, plugins' names or servers' names.
_MEMORIES = re.compile(
    r"claude-mem\b|claude-memory|mem0|openmemory|supermemory|episodic-memory|basic-memory|memory-mcp|mcp-memory|"
    r"mcp-server-memory|server-memory|memory-service|memory-bank|memory-keeper|memtether|graphiti|\bzep\b|\bletta\b|"
    r"\bcipher\b|context-mode|engram|\bcognee\b",
    re.IGNORECASE,
)
_INOTIFY_LIMITS = "sudo sysctl fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=524288"


def other_memories(claude: Path, login: Path) -> tuple[str, str]:
    """Other programs that remember: whose hooks or plugins give to the same sessions, and servers that only answer.

    claude: Claude Code's folder. login: its `.claude.json`.
    """
    both = sorted({*_hooked(_read(claude / "settings.json")), *_plugins(_read(claude / "settings.json"))})
    servers = _dict(_read(login).get("mcpServers"))
    asked = sorted(name for name, server in servers.items() if _MEMORIES.search(f"{name} {server}"))
    noted = f"; as MCP servers, which are no hindrance: {', '.join(asked)}" if asked else ""
    if not both:
        return f"none gives to sessions beside recalld{noted}", ""
    fix = "keep one of them: switch the other's plugin or hooks off, or `recalld pause`"
    return f"{', '.join(both)} gives to the same sessions, so that things are said twice{noted}", fix


def clock(now: datetime, ahead: int) -> tuple[str, str]:
    """Whether the clock can be right. ahead: how many stored times lie in the future."""
    built = datetime.fromtimestamp(os.stat(recalld.__file__).st_mtime, UTC)
    said = f"{now:%Y-%m-%d %H:%M} UTC"
    if now < built and (built - now).days >= 1:
        return f"it says {said}, but this program was installed on {built:%Y-%m-%d}", "set the clock right"
    if ahead:
        fix = "set the clock right; if it is right now, `recalld maintain` dates them back to today"
        return f"it says {said}, but {ahead} of the stored times lie in the future: it was wrong then, or is now", fix
    return f"{said}, and nothing stored is from the future", ""


def watches(mode: str) -> tuple[str, str]:
    """Whether the system tells of new transcripts. mode: how the daemon sees them, or `off`."""
    seen = {"inotify": "the system tells the daemon", "polling": "the daemon looks every few seconds"}
    detail = f"new transcripts: {seen.get(mode, 'not looked for')}"
    if sys.platform != "linux" or (problem := _inotify_problem()) == "":
        return detail, ""
    return f"{detail}; {problem}, which all your programs share", _INOTIFY_LIMITS


def claude_program(environ: Mapping[str, str], home: Path) -> tuple[str, str]:
    """Where the `claude` program is, which the backend of that name starts; not having one is no fault."""
    found = claude_cli.find(environ, home)
    return (found, "") if found else ('not found; only `extract.backend = "claude"` would need it', "")


def versions(running: str, own: str) -> tuple[str, str]:
    """Whether the daemon that runs is of this program's version."""
    if running == own:
        return f"{own}, daemon and program", ""
    return f"the daemon is {running}, this program {own}", "recalld restart"


def _hooked(root: Mapping[str, Any]) -> Iterator[str]:
    for event, groups in _dict(root.get("hooks")).items():
        for group in groups if isinstance(groups, list) else ():
            for entry in _dict(group).get("hooks") or ():
                words = json.dumps(entry, ensure_ascii=False)
                if not settings.is_ours(entry) and (found := _MEMORIES.search(words)):
                    yield f"{found[0]} (hook of {event})"


def _plugins(root: Mapping[str, Any]) -> Iterator[str]:
    for name, enabled in _dict(root.get("enabledPlugins")).items():
        if enabled and _MEMORIES.search(name):
            yield f"{name} (plugin)"


def _inotify_problem() -> str:
    """What keeps a program of this user from watching folders; empty where nothing does."""
    system = ctypes.CDLL(None, use_errno=True)
    handle = system.inotify_init1(os.O_CLOEXEC)
    if handle < 0:
        reached = ctypes.get_errno() == errno.EMFILE
        return "the limit of inotify instances is reached" if reached else os.strerror(ctypes.get_errno())
    try:
        if system.inotify_add_watch(handle, b"/", 0x100) < 0:  # IN_CREATE
            reached = ctypes.get_errno() == errno.ENOSPC
            return "the limit of inotify watches is reached" if reached else os.strerror(ctypes.get_errno())
    finally:
        os.close(handle)
    return ""


def _read(path: Path) -> dict[str, Any]:
    """The object in a JSON file; nothing where it cannot be read, which other checks tell."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        return _dict(json.loads(path.read_text(encoding="utf-8-sig")))
    return {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
