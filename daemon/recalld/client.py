"""Talking to the daemon: what the command line uses, and any Python program may."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Any

from recalld import errors, paths
from recalld.errors import RecalldError, UnavailableError

TIMEOUT_S = 30.0


class Client:
    """The daemon of one home.

    >>> Client().call("search", query="which database", cwd=os.getcwd())  # doctest: +SKIP
    """

    def __init__(self, socket_path: Path | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._path = socket_path or paths.find().socket
        self._timeout_s = timeout_s

    def call(self, verb: str, /, **arguments: Any) -> Any:
        """What `verb` answers, as plain data.

        Raises UnavailableError where no daemon answers, and the daemon's own refusal (InputError, ConflictError, ...).
        """
        reply = self.exchange(f"call {verb}\n".encode() + json.dumps(arguments).encode())
        try:
            answer = json.loads(reply)
        except ValueError as error:
            raise UnavailableError(f"{self._path}: the daemon's answer was cut short") from error
        if "ok" in answer:
            return answer["ok"]
        raised = getattr(errors, str(answer.get("kind")), RecalldError)
        raise raised(answer.get("error", "the daemon failed; see `recalld logs`"))

    def exchange(self, request: bytes) -> bytes:
        """Send `request` and return the reply, both whole. Raises UnavailableError."""
        try:
            with connected(self._path, self._timeout_s) as connection:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: connection.recv(1 << 16), b""))
        except OSError as error:
            raise UnavailableError(f"{self._path}: no daemon answers ({error})") from error


@contextlib.contextmanager
def connected(path: Path, timeout_s: float) -> Any:
    """A connection to the socket at `path`, of any length: AF_UNIX takes about 100 bytes, a name in a folder fewer."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    try:
        if len(os.fsencode(path)) < 100:
            connection.connect(str(path))
        else:
            before = os.open(".", os.O_RDONLY)
            try:
                os.chdir(path.parent)
                connection.connect(path.name)
            finally:
                os.fchdir(before)
                os.close(before)
        yield connection
    finally:
        connection.close()
