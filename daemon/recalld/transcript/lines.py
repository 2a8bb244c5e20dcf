"""Complete lines of a growing file, in bounded memory: never past a half line, never a line of any length at once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

# Longer lines are cut. Claude Code's own longest lines carry an image (5 MB, a third more in base64).
MAX_LINE_BYTES = 8 * 1024 * 1024
CUT_HEAD_BYTES = 256 * 1024
CUT_TAIL_BYTES = 64 * 1024
CUT_MARK = b" [... cut ...] "

_READ_BYTES = 1024 * 1024
_ESCAPE_BYTES = 6  # `\uXXXX`, the longest escape in JSON


class Line(NamedTuple):
    """data: without its line end; its middle is missing where it was too long. end: the offset after it."""

    start: int
    end: int
    data: bytes


def open_regular(path: Path) -> BinaryIO:
    """`path` opened to read, if it is a regular file and no link. Raises OSError.

    Without O_NONBLOCK a FIFO in its place would hold the caller for ever.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path}: not a regular file")
    return os.fdopen(descriptor, "rb", buffering=_READ_BYTES)


def starts_line(file: BinaryIO, offset: int) -> bool:
    """Whether a line can start at `offset`: it lies within the file, behind a line end."""
    if offset == 0:
        return True
    if offset > os.fstat(file.fileno()).st_size:
        return False
    file.seek(offset - 1)
    return file.read(1) == b"\n"


def complete_lines(file: BinaryIO, offset: int) -> Iterator[Line]:
    """The lines from `offset` on that have their line end; the offset must start one."""
    file.seek(offset)
    while data := file.readline(MAX_LINE_BYTES):
        start = offset
        offset += len(data)
        if not data.endswith(b"\n"):
            if len(data) < MAX_LINE_BYTES:
                return
            tail, length = _tail(file)
            if not tail:
                return
            data = _joined(data[:CUT_HEAD_BYTES], tail)
            offset += length
        yield Line(start, offset, data.rstrip(b"\r\n"))


def _tail(file: BinaryIO) -> tuple[bytes, int]:
    """The last bytes of the line being read, and how long its rest was; empty where its end is not written yet."""
    tail, length = b"", 0
    while part := file.readline(_READ_BYTES):
        length += len(part)
        tail = (tail + part)[-CUT_TAIL_BYTES:]
        if part.endswith(b"\n"):
            return tail, length
    return b"", length


def _joined(head: bytes, tail: bytes) -> bytes:
    """Head and tail of a JSON line whose middle was one long string, as JSON again: neither side cuts an escape."""
    if b"\\" in head[-_ESCAPE_BYTES:]:
        head = head[: _last_escape(head)]
    begin = _first_escape(tail) if b"\\" in tail[:_ESCAPE_BYTES] else _ESCAPE_BYTES
    return head + CUT_MARK + tail[begin:]


# A backslash behind any other byte always begins an escape, whatever stands before that.


def _last_escape(data: bytes) -> int:
    at = data.rfind(b"\\")
    while at > 0 and data[at - 1 : at] == b"\\":
        at -= 1
    return at


def _first_escape(data: bytes) -> int:
    at = data.find(b"\\", 1)
    while at > 0 and data[at - 1 : at] == b"\\":
        at = data.find(b"\\", at + 1)
    return at if at > 0 else len(data)
