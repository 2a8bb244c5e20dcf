"""recalld's entries in Claude Code's `settings.json`: put in, and taken out again, beside whatever else is there.

The file belongs to its owner and to other tools. Only our entries are touched, in the text itself (`json_text`), so
order, indentation and unknown keys stay as they are. A file that is not plain JSON is left alone: Claude Code 2.1
reads none with a comment or a trailing comma in it (a byte order mark it does not mind), so that hooks put into one
would never run.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from recalld.install import json_text, shared_file

Entry = Mapping[str, object]

# Seconds: Claude Code ends a hook after these. The hook's own deadlines are far shorter; this is for a hung machine.
TIMEOUTS_S = {"SessionStart": 5, "UserPromptSubmit": 5, "Stop": 5, "SessionEnd": 2}
HOOK_EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
    "SessionEnd": "session-end",
}

# Not `python hook.py`: Python ends with code 2 when its script is missing, and code 2 of a prompt hook blocks the user;
# a hook whose package was removed must say nothing instead. And a script is compiled each time it is run, which takes
# 2 of its 8 ms; read this way its compiled form is used, if it is there and up to date, as for any import.
RUN_IF_THERE = (
    "import sys,posix;from _frozen_importlib_external import SourceFileLoader as L;sys.argv.pop(0);p=sys.argv[0];"
    "posix.access(p,4) and exec(L('__main__',p).get_code('__main__'))"
)


def entries(interpreter: Path, script: Path, socket: Path, start: Sequence[str] = ()) -> dict[str, Entry]:
    """Our hook entry for each of Claude Code's events. `start`: the command that starts the daemon on demand."""
    return {
        event: {
            "type": "command",
            "command": str(interpreter),
            "args": ["-I", "-S", "-c", RUN_IF_THERE, str(script), name, str(socket), *start],
            "timeout": TIMEOUTS_S[event],
        }
        for event, name in HOOK_EVENTS.items()
    }


def is_ours(entry: object) -> bool:
    """Whether a hook entry runs recalld's hook script: from any prefix, in exec form or as a shell line."""
    if not isinstance(entry, dict):
        return False
    words = [word for word in (entry.get("command"), *_list(entry.get("args"))) if isinstance(word, str)]
    if len(words) == 1:
        try:
            words = shlex.split(words[0])
        except ValueError:
            return False
    for number, word in enumerate(words[:-1]):
        path = PurePath(word)
        if path.name == "hook.py" and words[number + 1] in HOOK_EVENTS.values():
            socket = PurePath(words[number + 2]).name if number + 2 < len(words) else ""
            return "recalld" in path.parts or socket == "recalld.sock"
    return False


def check(path: Path) -> None:
    """Raise ConfigError, naming file and line, where `add_hooks` would refuse the settings at `path`."""
    target = shared_file.target_of(path)
    text = shared_file.read(target).text
    if text is not None:
        shared_file.refuse_read_only(target)
        _parse(text, path)


def add_hooks(path: Path, wanted: Mapping[str, Entry], backups: Path) -> shared_file.Outcome:
    """Put `wanted` (an entry for each event) into the settings at `path`, in place of older entries of ours.

    A file that is there is first copied into `backups`, once. Raises ConfigError, with the line, where the file
    cannot be edited safely; it is untouched then.
    """

    def edit(text: str | None) -> str | None:
        if text is None:
            return _insert("{}\n", wanted)
        ours = _ours(_parse(text, path))
        if len(ours) == len(wanted) and {event: entry for event, _, _, entry in ours} == wanted:
            return text
        return _insert(_without_ours(text, path), wanted)

    return shared_file.rewrite(path, edit, lambda target, data: shared_file.keep(data, _backup(target, backups)))


def remove_hooks(path: Path, backups: Path) -> shared_file.Outcome:
    """Take our entries, and what holds nothing else, out of the settings at `path`.

    A file that `add_hooks` created (no copy in `backups`) and that is empty now is removed. Raises ConfigError.
    """
    target = shared_file.target_of(path)

    def edit(text: str | None) -> str | None:
        if text is None:
            return None
        left = _without_ours(text, path)
        ours_alone = left != text and json_text.load(left) == {} and not _backup(target, backups).exists()
        return None if ours_alone else left

    return shared_file.rewrite(path, edit)


def registered(path: Path) -> dict[str, list[str]]:
    """The words of our hook's command for each event that the settings at `path` have one for. Raises ConfigError."""
    text = shared_file.read(shared_file.target_of(path)).text
    ours = [] if text is None else _ours(_parse(text, path))
    return {event: [str(entry.get("command", "")), *map(str, _list(entry.get("args")))] for event, _, _, entry in ours}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _group(entry: Entry) -> dict[str, object]:
    return {"hooks": [entry]}


def _ours(root: Mapping[str, Any]) -> list[tuple[str, int, int, Any]]:
    """Our entries: event, index of the group, index in the group, entry."""
    return [
        (event, outer, inner, entry)
        for event, groups in _dict(root.get("hooks")).items()
        for outer, group in enumerate(_list(groups))
        for inner, entry in enumerate(_list(_dict(group).get("hooks")))
        if is_ours(entry)
    ]


def _without_ours(text: str, path: Path) -> str:
    """The text without our entries and the containers that hold nothing but them."""
    while ours := _ours(root := _parse(text, path)):
        event, outer, inner, _ = ours[0]
        groups = root["hooks"][event]
        where: tuple[json_text.Key, ...] = ("hooks", event, outer, "hooks", inner)
        if len(groups[outer]["hooks"]) == 1:
            where = where[:3]
            if len(groups) == 1:
                where = where[:2] if len(root["hooks"]) > 1 else where[:1]
        text = json_text.remove(text, where)
    return text


def _insert(text: str, wanted: Mapping[str, Entry]) -> str:
    if "hooks" not in json_text.load(text):
        return json_text.append(text, (), {event: [_group(wanted[event])] for event in wanted}, "hooks")
    for event, entry in wanted.items():
        if event in json_text.load(text)["hooks"]:
            text = json_text.append(text, ("hooks", event), _group(entry))
        else:
            text = json_text.append(text, ("hooks",), [_group(entry)], event)
    return text


def _parse(text: str, path: Path) -> dict[str, Any]:
    """The settings, checked as far as we edit them. Raises ConfigError with the line of what is wrong."""
    root = json_text.plain(text, path, "Claude Code")
    if not isinstance(root, dict):
        raise json_text.refusal(
            path, json_text.line_of(text, json_text.find(text, ())), "the settings are not an object"
        )
    hooks = root.get("hooks", {})
    if not isinstance(hooks, dict):
        raise json_text.refusal(
            path, json_text.line_of(text, json_text.find(text, ("hooks",))), '"hooks" is not an object'
        )
    for event in HOOK_EVENTS:
        if not isinstance(hooks.get(event, []), list):
            line = json_text.line_of(text, json_text.find(text, ("hooks", event)))
            raise json_text.refusal(path, line, f'"{event}" is not a list')
    return root


def _backup(target: Path, backups: Path) -> Path:
    """Where the copy of `target` from before our first change is kept; one for each settings file."""
    return backups / f"claude-settings-{hashlib.sha256(os.fsencode(target)).hexdigest()[:8]}.json"
