"""The rule files of other coding assistants: each statement of theirs as a proposal for the inbox."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from recalld.errors import InputError
from recalld.foreign import Foreign
from recalld.known_files import MAX_BYTES, KnownFiles
from recalld.known_files.sentences import readings
from recalld.model import Type
from recalld.paths import claude_config_dir

FILES = {
    "agents": ("AGENTS.md",),
    "cursor": (".cursorrules", ".cursor/rules/**/*.mdc"),
    "copilot": (".github/copilot-instructions.md", ".github/instructions/*.instructions.md"),
    "gemini": ("GEMINI.md", ".gemini/GEMINI.md"),
    "windsurf": (".windsurfrules", ".windsurf/rules/*.md"),
}
"""By the name that is kept as the memories' source."""

_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_SCOPE = re.compile(r"^(?:globs|applyTo|paths)\s*:[ \t]*(.*\S)[ \t]*$", re.MULTILINE)
_RULE = re.compile(
    r"\b(always|never|must|should|shall|prefer|avoid|don'?t|do not|only|use|keep|write|run|follow|ensure|make sure)\b"
    r"|必须|不要|禁止|避免|优先|始终|一律|不得|使用",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[\w'-]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Rules(NamedTuple):
    """What the rule files in a folder say, by program; and how many of their statements are left out, by reason."""

    folder: Path
    found: dict[str, list[Foreign]]
    left_out: dict[str, int]


def read(path: Path) -> Rules:
    """The statements of the rule files in the folder `path`, or of that one file. Raises InputError where there is none."""
    folder = Path(os.path.realpath(path if path.is_dir() else path.parent))
    files = list(_files(folder)) if path.is_dir() else [(_program(path), path)]
    if not path.exists() or not files:
        names = ", ".join(name for names in FILES.values() for name in names)
        raise InputError(f"{path}: no rule file is there; looked for are {names}")
    said = KnownFiles(claude_config_dir()).at(str(folder), None)
    found: dict[str, list[Foreign]] = {}
    left_out = {"Claude Code reads it already (CLAUDE.md)": 0, "no statement by itself": 0}
    for program, file in files:
        text, changed_at = _text(file, folder)
        for content in _statements(text):
            if said.says(content):
                left_out["Claude Code reads it already (CLAUDE.md)"] += 1
            elif not _whole(content):
                left_out["no statement by itself"] += 1
            else:
                kind = Type.DECISION if _RULE.search(content) else Type.FACT
                found.setdefault(program, []).append(Foreign(text=content, type=kind, at=changed_at))
    return Rules(folder, found, {reason: number for reason, number in left_out.items() if number})


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for program, patterns in FILES.items():
        for pattern in patterns:
            for file in sorted(folder.glob(pattern)):
                yield program, file


def _program(path: Path) -> str:
    """Whose file it is, by its name."""
    for program, patterns in FILES.items():
        if any(Path(path.name).match(pattern.rpartition("/")[2]) for pattern in patterns):
            return program
    return "rules"


def _text(file: Path, folder: Path) -> tuple[str, str]:
    """The beginning of a regular file that lies in `folder`, links followed, and when it was changed."""
    try:
        inside = os.path.commonpath((os.path.realpath(file), folder)) == str(folder)
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            if not inside or not stat.S_ISREG(status.st_mode):
                raise InputError(f"{file}: no regular file in {folder}; nothing was taken")
            text = opened.read(MAX_BYTES).decode("utf-8-sig", "replace").replace("\0", " ")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error
    return text, datetime.fromtimestamp(status.st_mtime, UTC).isoformat()


def _statements(text: str) -> Iterator[str]:
    """Each statement once; with the files that it holds for, where the file says that it holds for some only."""
    front = _FRONT.match(text)
    scope = _SCOPE.search(front[1]) if front else None
    where = scope[1].strip("\"'[] ") if scope else ""
    seen = set()
    for meant in readings(text[front.end() :] if front else text):
        # With its heading, unless it is a whole sentence.
        content = meant[0] if meant[0].endswith((".", "!", "。", "！")) and _whole(meant[0]) else meant[-1]
        if where and where not in ("*", "**", "**/*"):
            content = f"In {where}: {content}"
        if content not in seen:
            seen.add(content)
            yield content


def _whole(content: str) -> bool:
    """Whether it is more than a word or two, and leads to nothing that stands elsewhere."""
    headed = ": " in content
    enough = len(_WORDS.findall(content)) >= (2 if headed else 3) or len(_CJK.findall(content)) >= 6
    return enough and not content.endswith((":", "：", "?", "？"))
