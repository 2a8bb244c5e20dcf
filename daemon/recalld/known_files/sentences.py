"""The statements in a Markdown file: one a sentence or list item, each to be read without what is around it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from recalld import segment
from recalld.statement.atoms import stem

MAX_LINE_CHARS = 2_000
SHORT_WORDS = 8
"""A line of at most so many words may be the value of what its heading names."""
MAX_IMPORTS = 30


class Sentence(NamedTuple):
    """A statement, and the stems of its words."""

    text: str
    words: frozenset[str]


_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_SCOPED = re.compile(r"^paths\s*:", re.MULTILINE)
_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*$")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?|^\s*>+\s*")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_SIGNS = re.compile(r"[*_]{2,3}|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`+|\|")
_END = re.compile(r"(?<=[.!?;])\s+(?=[^a-z])|(?<=[。！？；])")
_DENIES = re.compile(
    r"\b(avoid|don'?t|do not|never|not|no|forbidden|prohibited|anti-?patterns?)\b|禁止|不要|避免|不得|别", re.IGNORECASE
)
_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:~/|\.{0,2}/)?[\w.\-~][^\s,;:!?)\]\"']*)")
_CODE = re.compile(r"`[^`\n]*`")


def sentences(text: str) -> tuple[Sentence, ...]:
    """The statements of `text`, in order; none of rules that hold for some paths only, which may never be loaded.

    What stands under a heading that denies ("Avoid") is read as denied. Code blocks say nothing, nor does the title.
    """
    front = _FRONT.match(text)
    if front and _SCOPED.search(front[1]):
        return ()
    meant = (reading for each in readings(text[front.end() :] if front else text) for reading in each)
    return tuple(Sentence(each, words) for each in dict.fromkeys(meant) if (words := words_of(each)))


def readings(text: str) -> Iterator[list[str]]:
    """Each statement of Markdown without front matter, as it may be meant; the last one says what its heading does, too."""
    heading = ""
    for line in _prose(text):
        if title := _HEADING.match(line):
            heading = "" if title[1] == "#" else _plain(title[2])
            continue
        for sentence in _END.split(_plain(_MARKER.sub("", line))):
            if found := _readings(sentence.strip(), heading):
                yield found


def words_of(text: str) -> frozenset[str]:
    """The stems of the words that say something."""
    return frozenset(map(stem, segment.terms(text)))


def imports(text: str, path: str) -> tuple[str, ...]:
    """The files that `text`, which stands in the file `path`, takes in with `@file`."""
    folder = os.path.dirname(path)
    found: dict[str, None] = {}
    for line in _prose(text):
        for match in _IMPORT.finditer(_CODE.sub(" ", line)):
            named = os.path.expanduser(match[1].rstrip("."))
            found[os.path.normpath(os.path.join(folder, named))] = None
    return tuple(found)[:MAX_IMPORTS]


def _prose(text: str) -> list[str]:
    """The lines of `text` outside of comments and code blocks; a line that goes on an item is joined to it."""
    lines: list[str] = []
    fenced = False
    for line in _COMMENT.sub("", text).splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            lines.append("")
        elif not fenced:
            goes_on = lines and lines[-1].strip() and line.strip() and not _HEADING.match(lines[-1])
            if goes_on and not (_ITEM.match(line) or _HEADING.match(line) or line.lstrip().startswith(("|", ">"))):
                lines[-1] = f"{lines[-1]} {line.strip()}"[:MAX_LINE_CHARS]
            else:
                lines.append(line[:MAX_LINE_CHARS])
    return lines


def _plain(text: str) -> str:
    """`text` without marks of emphasis, code and links."""
    return " ".join(_SIGNS.sub("", _LINK.sub(r"\1", text)).split())


def _readings(sentence: str, heading: str) -> list[str]:
    """`sentence` as it may be meant under its heading."""
    if not sentence:
        return []
    if _DENIES.search(heading):
        return [sentence if _DENIES.search(sentence) else f"Never {sentence[0].lower()}{sentence[1:]}"]
    if heading and len(sentence.split()) <= SHORT_WORDS:
        return [sentence, f"{heading}: {sentence}"]
    return [sentence]
