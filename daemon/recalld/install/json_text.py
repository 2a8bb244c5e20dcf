"""Editing a JSON document as text, so that everything not edited stays byte for byte as it was.

Positions are offsets into the text, which must be valid JSON (`load` it first) but for a byte order mark. A path is the
keys and indexes that lead from the root to a value, as in `("hooks", "Stop", 0)`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from recalld.errors import ConfigError

Key = str | int
_BLANK = re.compile(r"\ufeff?[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """One member of an object or list: from `start` (its key, if it has one) to `end`, its value from `value` on."""

    key: Key
    start: int
    value: int
    end: int


def load(text: str, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """The document's value. Raises json.JSONDecodeError; its position is that in the text, but for the mark."""
    return json.loads(text.removeprefix("\ufeff"), parse_constant=parse_constant)


def plain(text: str, path: Path, reader: str = "") -> object:
    """What the text of the file at `path` holds. Raises ConfigError with the line where it is not plain JSON.

    reader: the program that reads it, if that one takes nothing else either.
    """

    def constant(name: str) -> NoReturn:
        raise refusal(path, line_of(text, text.find(name)), f"not plain JSON: {name}")

    if not text.strip("\ufeff \t\r\n"):
        # Its owner's program may be in the middle of writing it: to fill it now would lose what comes.
        raise refusal(path, 1, "the file is empty; write {} into it, or delete it, and try again")
    try:
        return load(text, constant)
    except json.JSONDecodeError as error:
        what = f"not plain JSON: {error.msg[0].lower()}{error.msg[1:]} (column {error.colno})"
        if reader and error.doc[error.pos :].lstrip().startswith(("//", "/*", "}", "]", ",")):
            what = f"{reader} ignores a file with comments or trailing commas; take them out"
        raise refusal(path, error.lineno, what) from error
    except RecursionError as error:
        raise refusal(path, 1, "not plain JSON: nested too deeply") from error


def refusal(path: Path, line: int, what: str) -> ConfigError:
    """The error for a file that is left alone."""
    return ConfigError(f"{path}:{line}: {what}; nothing was changed")


def _skip(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]


def members(text: str, at: int) -> list[Member]:
    """The members of the object or list that begins at `at`, in order; none for any other value."""
    named = text[at] == "{"
    if not named and text[at] != "[":
        return []
    found: list[Member] = []
    position = _skip(text, at + 1)
    while text[position] not in "]}":
        start, key = position, len(found)
        if named:
            key, position = scanstring(text, position + 1)
            position = _skip(text, _skip(text, position) + 1)
        end = _DECODER.raw_decode(text, position)[1]
        found.append(Member(key, start, position, end))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found


def find(text: str, path: Sequence[Key]) -> int:
    """Where the value at `path` begins. Of a key given twice the last counts, as for every JSON reader."""
    at = _skip(text, 0)
    for key in path:
        at = [member.value for member in members(text, at) if member.key == key][-1]
    return at


def line_of(text: str, at: int) -> int:
    """The line, from 1, of an offset."""
    return text.count("\n", 0, at) + 1


def append(text: str, path: Sequence[Key], value: object, key: str | None = None) -> str:
    """The text with `value` as last member (named `key` in an object) of the container at `path`.

    It is laid out as its new neighbours are: on lines of their own with their indentation, or all in one line.
    """
    at = find(text, path)
    siblings = members(text, at)
    if siblings:
        lead = text[at + 1 : siblings[0].start]
        end, close = siblings[-1].end, ""
        cut = end
    else:
        unit = _unit(text)
        depth = _indentation(text, at)
        newline = _newline(text)
        # An empty document has no style yet: it gets the usual one.
        spread = "\n" in text.strip() or text.strip("\ufeff \t\r\n") in ("{}", "[]")
        lead, close = (newline + depth + unit, newline + depth) if spread else ("", "")
        end, cut = at + 1, _skip(text, at + 1)
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
    written = lead + name + _layout(value, lead, _unit(text)) + close
    return text[:end] + ("," + (written if lead else " " + written) if siblings else written) + text[cut:]


def remove(text: str, path: Sequence[Key]) -> str:
    """The text without the member at `path`, and without the comma that set it off."""
    *parent, key = path
    at = find(text, parent)
    siblings = members(text, at)
    index = max(number for number, member in enumerate(siblings) if member.key == key)
    member = siblings[index]
    if index > 0:
        return text[: siblings[index - 1].end] + text[member.end :]
    if len(siblings) > 1:
        return text[: member.start] + text[siblings[1].start :]
    return text[: at + 1] + text[_skip(text, member.end) :]


def _layout(value: object, lead: str, unit: str) -> str:
    if "\n" not in lead:
        return json.dumps(value, ensure_ascii=False)
    line = lead[: lead.index("\n") + 1] + lead.rpartition("\n")[2]
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", line)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """One step of indentation: what stands before the root's first member, two spaces where it has no line of its own."""
    at = _skip(text, 0)
    first = members(text, at)[:1]
    lead = text[at + 1 : first[0].start] if first else ""
    return lead.rpartition("\n")[2] or "  "


def _indentation(text: str, at: int) -> str:
    """The blanks at the beginning of the line that offset `at` is on."""
    begin = text.rfind("\n", 0, at) + 1
    return text[begin : _skip(text, begin)].lstrip("\ufeff") if _skip(text, begin) <= at else ""
