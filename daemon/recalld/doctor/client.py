"""Checks of Claude Code: its hooks, what else remembers there, and whether it takes what it is given."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from recalld.client import Client
from recalld.doctor.check import Home
from recalld.install import around, assets, settings, setup
from recalld.paths import Paths, claude_config_dir
from recalld.transcript.held import taken_ids


def check_hooks(home: Home) -> tuple[str, str]:
    """Whether Claude Code runs our hooks, and they lead here."""
    file = setup.settings_file(home.environ)
    settings.check(file)
    entries = settings.registered(file)
    if not entries and _plugin(file.parent):
        return "they come with the plugin of Claude Code", ""
    if missing := [event for event in settings.HOOK_EVENTS if event not in entries]:
        return f"{file}: no hook of recalld for {', '.join(missing)}", "recalld install"
    for event, words in entries.items():
        if problem := _problem(words, home.paths):
            return f"{file}: the hook for {event} {problem}", "recalld install"
    return "all four are registered and lead to files that are there", ""


def _problem(words: list[str], paths: Paths) -> str:
    """What is wrong with a hook's command; empty where nothing is."""
    if len(words) > 1 and not os.access(words[0], os.X_OK):
        return f"is run by {words[0]}, which is not there"
    for number, word in enumerate(words):
        if Path(word).name == "hook.py":
            if not Path(word).is_file():
                return f"leads to {word}, which is not there"
            if number + 2 < len(words) and words[number + 2] != str(paths.socket):
                return f"asks at {words[number + 2]}, but this home's socket is {paths.socket}"
            if words[number + 3 :] and (problem := assets.broken(Path(words[-2]))):
                return f"cannot start the daemon: {problem}"
    return ""


def _plugin(claude: Path) -> bool:
    """Whether Claude Code has recalld as a plugin, whose hooks stand in the plugin itself."""
    try:
        return '"recalld@' in (claude / "plugins" / "installed_plugins.json").read_text(encoding="utf-8")
    except OSError:
        return False


def check_other_memories(home: Home) -> tuple[str, str]:
    """Whether another memory gives to the same sessions."""
    claude = claude_config_dir(home.environ)
    moved = bool(home.environ.get("CLAUDE_CONFIG_DIR"))
    return around.other_memories(claude, (claude if moved else Path.home()) / ".claude.json")


def check_context(home: Home) -> tuple[str, str]:
    """Whether what hooks print reaches the model: Claude Code ignores an answer of a shape that it does not know."""
    if home.status is None:
        return "not looked at: no daemon answers", ""
    shown = []
    for given in Client(home.paths.socket).call("handed"):
        with contextlib.suppress(OSError):  # a transcript that was removed tells nothing
            taken = taken_ids(Path(given["transcript"]))
            shown.append(any(memory.startswith(short) for memory in given["memories"] for short in taken))
    if not shown:
        return "no session that can be looked at was given anything yet", ""
    if any(shown):
        return f"Claude Code took {sum(shown)} of the last {len(shown)} injections", ""
    fix = "look at /hooks in Claude Code, then recalld install; if Claude Code is newer than this recalld, upgrade it"
    return f"the transcripts show none of the last {len(shown)} injections: Claude Code took or kept none", fix
