"""One call to the daemon over its socket: bytes until EOF both ways. Small, since every command of `recalld` waits for it."""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recalld import errors
from recalld.errors import RecalldError, UnavailableError

PATIENCE_S = 3.0
"""A daemon that has not answered by then is taken for hung; it answers within milliseconds even while it loads."""
LONGEST = 100
"""AF_UNIX takes paths of about so many bytes."""
_ELSEWHERE = _thread.allocate_lock()
"""The working directory belongs to the whole process: one thread at a time may be elsewhere."""


class SilentError(UnavailableError):
    """No daemon answers. hung: one is there, but takes longer than it may."""

    def __init__(self, line: str, *, hung: bool) -> None:
        super().__init__(line)
        self.hung = hung


def call(path: Path, verb: str, arguments: dict[str, Any], timeout_s: float) -> Any:
    """What `verb` answers, as plain data. timeout_s: for the whole call.

    Raises SilentError where no daemon answers in time, UnavailableError where its answer is cut short, and the daemon's
    own refusal (InputError, ConflictError, ...).
    """
    return answer(path, exchange(path, request(verb, arguments), timeout_s))


def offer(path: Path, verb: str, arguments: dict[str, Any], timeout_s: float, *, writes: bool) -> Any:
    """As `call`, for whoever can do it in another way where this raises SilentError: the daemon will not do it any more.

    writes: it changes something, so it must not be left with a daemon that hangs now and may do it much later.
    """
    if not writes:
        return call(path, verb, arguments, timeout_s)
    call(path, "status", {}, PATIENCE_S)
    try:
        return call(path, verb, arguments, max(timeout_s, 2 * PATIENCE_S))
    except SilentError as error:
        raise UnavailableError(str(error)) from error


def request(verb: str, arguments: dict[str, Any]) -> bytes:
    """A call as the socket takes it."""
    return f"call {verb}\n".encode() + json.dumps(arguments).encode()


def answer(path: Path, reply: bytes) -> Any:
    """What a reply holds. Raises the refusal that it is."""
    try:
        said = json.loads(reply)
    except ValueError as error:
        raise UnavailableError(f"{path}: the daemon's answer was cut short; `recalld logs` tells why") from error
    if "ok" in said:
        return said["ok"]
    kind = getattr(errors, str(said.get("kind")), None)
    raised = kind if isinstance(kind, type) and issubclass(kind, RecalldError) else RecalldError
    raise raised(said.get("error", "the daemon failed; see `recalld logs`"))


def exchange(path: Path, sent: bytes, timeout_s: float) -> bytes:
    """Send a request and return the reply, both whole. Raises SilentError."""
    until = time.monotonic() + timeout_s
    parts: list[bytes] = []
    try:
        with connected(path, timeout_s) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while True:
                connection.settimeout(max(until - time.monotonic(), 0.001))
                if not (part := connection.recv(1 << 16)):
                    return b"".join(parts)
                parts.append(part)
    except OSError as error:
        raise silent(path, error, timeout_s) from error


def silent(path: Path, error: OSError, timeout_s: float) -> SilentError:
    """What to raise where nobody answers."""
    if hung := isinstance(error, TimeoutError):
        line = f"{path}: no answer within {timeout_s:g} s; `recalld status` tells what the daemon does"
    else:
        line = f"{path}: no daemon answers ({error.strerror or error}); `recalld start` starts it"
    return SilentError(line, hung=hung)


@contextlib.contextmanager
def connected(path: Path, timeout_s: float) -> Iterator[socket.socket]:
    """A connection to the socket at `path`, closed after the block. Raises OSError."""
    connection = connect(path, timeout_s)
    try:
        yield connection
    finally:
        connection.close()


def connect(path: Path, timeout_s: float) -> socket.socket:
    """A connection to the socket at `path`, of any length: a bare name in its own folder is short. Raises OSError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    try:
        if len(os.fsencode(path)) < LONGEST:
            connection.connect(str(path))
        else:
            with _ELSEWHERE:
                before = os.open(".", os.O_RDONLY)
                try:
                    os.chdir(path.parent)
                    connection.connect(path.name)
                finally:
                    os.fchdir(before)
                    os.close(before)
    except BaseException:
        connection.close()
        raise
    return connection
