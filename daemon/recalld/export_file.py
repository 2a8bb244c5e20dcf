"""Reading an export: checked whole before anything of it is stored; what is wrong is told with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from recalld.carried import FORMAT, LISTS, VERSION, Carried, Conflict, Head, Project, cycle, problem
from recalld.errors import InputError

MAX_BYTES = 1 << 30
T = TypeVar("T")

_HALF = re.compile(
    r"(?<!\\)(?:\\\\)*(\\u(?:[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\u)[dD][c-fC-F][0-9a-fA-F]{2}))"
)


class Parsed(NamedTuple):
    """A file that can be taken in."""

    head: Head
    projects: list[Project]
    conflicts: list[Conflict]
    memories: list[Carried]


def parts(parsed: Parsed, size: int) -> Iterator[dict[str, Any]]:
    """The arguments of one `import` after the other, `size` memories each; the conflicts come with the last."""
    common = {"head": msgspec.to_builtins(parsed.head), "projects": msgspec.to_builtins(parsed.projects)}
    for at in range(0, max(1, len(parsed.memories)), size):
        last = at + size >= len(parsed.memories)
        conflicts = msgspec.to_builtins(parsed.conflicts) if last else []
        yield {**common, "memories": msgspec.to_builtins(parsed.memories[at : at + size]), "conflicts": conflicts}


def counted(done: Iterable[dict[str, int]]) -> dict[str, int]:
    """What the parts of an import came to together. Projects are new to the first part only, or to all of a rehearsal."""
    total = dict.fromkeys(("added", "updated", "known", "deleted_here", "projects"), 0)
    for part in done:
        for name in total:
            total[name] = max(total[name], part[name]) if name == "projects" else total[name] + part[name]
    return total


class _Whole(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    exported_at: str = ""
    key: str | None = None
    projects: list[msgspec.Raw] = []
    conflicts: list[msgspec.Raw] = []
    memories: list[msgspec.Raw] = []


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    project: msgspec.Raw = msgspec.Raw()
    conflict: msgspec.Raw = msgspec.Raw()
    memory: msgspec.Raw = msgspec.Raw()


def read(path: Path) -> Parsed:
    """The export in `path`, JSON or JSON lines. Raises InputError, naming the line, for anything that is wrong in it."""
    if not path.is_file():
        raise InputError(f"{path}: no regular file")
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"{path}: larger than {MAX_BYTES >> 20} MiB; an export of that size comes in parts")
    return parse(path.read_bytes(), path)


def parse(data: bytes, path: Path) -> Parsed:
    """What `read` does, with the file's content at hand. path: what errors name."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}:{data.count(10, 0, error.start) + 1}: not UTF-8 text") from error
    if half := _HALF.search(text):
        line = text.count("\n", 0, half.end()) + 1
        raise InputError(f"{path}:{line}: {half[1]} is half a character (a lone surrogate)")
    return _read_lines(path, text) if _is_lines(text) else _read_whole(path, text)


def _is_lines(text: str) -> bool:
    """Whether the first line is an object by itself, and others follow."""
    first, _, rest = text.partition("\n")
    try:
        return bool(rest.strip()) and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _read_whole(path: Path, text: str) -> Parsed:
    try:
        whole = msgspec.json.decode(text, type=_Whole)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(_why_unreadable(path, text, error)) from error
    _accept(path, 1, whole.format, whole.version)

    def at(name: str) -> Callable[[int], int]:
        return lambda index: _line_of(text, name, index)

    head = Head(format=whole.format, version=whole.version, exported_at=whole.exported_at, key=whole.key)
    return _checked(
        path,
        head,
        _decode(path, whole.projects, Project, at("projects")),
        _decode(path, whole.conflicts, Conflict, at("conflicts")),
        _decode(path, whole.memories, Carried, at("memories")),
        (at("projects"), at("memories")),
    )


def _read_lines(path: Path, text: str) -> Parsed:
    raws: dict[str, list[msgspec.Raw]] = {name: [] for name in LISTS}
    lines: dict[str, list[int]] = {name: [] for name in LISTS}
    head: Head | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            if head is None:
                head = msgspec.json.decode(line, type=Head)
                _accept(path, number, head.format, head.version)
                continue
            found = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"{path}:{number}: {_plainly(error)}") from error
        for name in LISTS:
            if bytes(raw := getattr(found, LISTS[name])):
                raws[name].append(raw)
                lines[name].append(number)
    assert head is not None  # _is_lines saw an object in the first line
    return _checked(
        path,
        head,
        _decode(path, raws["projects"], Project, lines["projects"].__getitem__),
        _decode(path, raws["conflicts"], Conflict, lines["conflicts"].__getitem__),
        _decode(path, raws["memories"], Carried, lines["memories"].__getitem__),
        (lines["projects"].__getitem__, lines["memories"].__getitem__),
    )


def _accept(path: Path, line: int, name: str, version: int) -> None:
    if name != FORMAT:
        raise InputError(f"{path}:{line}: the format is {name[:40]!r}, not {FORMAT!r}")
    if not 1 <= version <= VERSION:
        raise InputError(f"{path}:{line}: version {version}; this recalld reads up to {VERSION}: upgrade it")


def _decode(path: Path, raws: Iterable[msgspec.Raw], kind: type[T], line: Callable[[int], int]) -> list[T]:
    decoder = msgspec.json.Decoder(kind)
    found = []
    for index, raw in enumerate(raws):
        try:
            item = decoder.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"{path}:{line(index)}: {_plainly(error)}") from error
        if (wrong := problem(item)) is not None:  # type: ignore[arg-type]  # the three kinds that it knows
            raise InputError(f"{path}:{line(index)}: {wrong}")
        found.append(item)
    return found


def _checked(
    path: Path,
    head: Head,
    projects: list[Project],
    conflicts: list[Conflict],
    memories: list[Carried],
    lines: tuple[Callable[[int], int], Callable[[int], int]],
) -> Parsed:
    """The parts, if they fit together."""
    refs: set[int] = set()
    for index, project in enumerate(projects):
        if project.ref in refs:
            raise InputError(f"{path}:{lines[0](index)}: project {project.ref} stands twice in the file")
        refs.add(project.ref)
    ids: set[str] = set()
    for index, memory in enumerate(memories):
        if memory.id in ids:
            raise InputError(f"{path}:{lines[1](index)}: {memory.id} stands twice in the file")
        ids.add(memory.id)
        if memory.project_ref is not None and memory.project_ref not in refs:
            raise InputError(f"{path}:{lines[1](index)}: there is no project {memory.project_ref} in the file")
    if (turning := cycle(memories)) is not None:
        index = next(number for number, memory in enumerate(memories) if memory.id == turning)
        raise InputError(f"{path}:{lines[1](index)}: {turning} takes its own place (superseded_by goes in a circle)")
    return Parsed(head, projects, conflicts, memories)


def _why_unreadable(path: Path, text: str, error: Exception) -> str:
    """The line where the text stops being JSON, or else what does not fit."""
    try:
        json.loads(text)
    except json.JSONDecodeError as broken:
        return f"{path}:{broken.lineno}: no valid JSON: {broken.msg}"
    except (ValueError, RecursionError):
        return f"{path}:1: nested too deeply"
    return f"{path}:1: not an export of recalld: {_plainly(error)}"


def _line_of(text: str, name: str, index: int) -> int:
    """The line at which item `index` of the top-level list `name` begins; only looked for to report it."""
    opening = re.search(rf'"{name}"\s*:\s*\[', text)
    if opening is None:
        return 1
    at, decoder = opening.end(), json.JSONDecoder()
    for _ in range(index):
        _, at = decoder.raw_decode(text, _skip(text, at))
    return text.count("\n", 0, _skip(text, at)) + 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _plainly(error: Exception) -> str:
    """The message of msgspec without its path notation."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return re.sub(r" - at `\$\.?(.*?)`$", r" (at \1)", str(error)).replace(" (at )", "")
