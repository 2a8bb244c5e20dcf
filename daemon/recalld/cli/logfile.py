"""Reading the daemon's log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from recalld.cli.output import safe

NAME = "recalld.log"
_LINE_BYTES = 400
"""More than most lines have: so much of the file's end is read for each line asked for."""
_PAUSE_S = 0.3


def last(path: Path, count: int) -> list[str]:
    """The last `count` lines, over the file before this one where it was just turned; none where there is no file."""
    lines: list[str] = []
    for file in (path, path.with_name(f"{path.name}.1")):
        if len(lines) < count:
            lines = _tail(file, count - len(lines)) + lines
    return lines


def followed(path: Path, begin: list[str]) -> Iterator[str]:
    """`begin`, then each line that is added, also to the file that takes this one's place; never ends."""
    yield from begin
    inode, place = _place(path)
    while True:
        time.sleep(_PAUSE_S)
        present, size = _place(path)
        if present != inode:
            inode, place = present, 0
        if size > place:
            with path.open("rb") as file:
                file.seek(place)
                added = file.read()
            whole = added[: added.rfind(b"\n") + 1]
            place += len(whole)
            yield from _texts(whole)


def _tail(path: Path, count: int) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(0, size - count * _LINE_BYTES)
            file.seek(start)
            lines = _texts(file.read())
    except FileNotFoundError:
        return []
    return lines[1 if start else 0 :][-count:]


def _texts(data: bytes) -> list[str]:
    return [safe(line) for line in data.decode(errors="replace").splitlines()]


def _place(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_ino, status.st_size
