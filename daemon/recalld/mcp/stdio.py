"""`recalld mcp`: one client, on this process's standard input and output."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
import threading
from io import BufferedReader, TextIOWrapper
from typing import IO, Any, cast

import msgspec

from recalld.mcp.refusing import refusal, too_long

MAX_LINE_BYTES = 4 * 1024 * 1024
"""A longer message is not read; the largest that a tool takes is a fraction of it."""
LAST_S = 10.0
"""So long the end of stdin waits for what was asked before it."""


class Wire:
    """The two streams of the protocol, taken away from everything else in this process.

    Made before anything heavy is imported: what a library, a child process or a warning prints on file descriptor 1
    from then on, or has printed into Python's buffer already, goes to stderr, and nobody but us reads what the client
    sends.
    """

    def __init__(self) -> None:
        self.out = Answers(TextIOWrapper(os.fdopen(os.dup(1), "wb"), encoding="utf-8", newline="\n"))
        self.lines = Lines(os.fdopen(os.dup(0), "rb"), self.out)
        silence = os.open(os.devnull, os.O_RDWR)
        os.dup2(silence, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # stderr is closed
            os.dup2(silence, 1)
        os.close(silence)


class _Head(msgspec.Struct, frozen=True):
    """What tells a request from its answer, and which one a cancellation means."""

    method: str = ""
    id: int | str | None = None
    params: dict[str, Any] | None = None


class Answers:
    """What goes to the client, from whichever thread: one line after the other. Knows what is still to be answered."""

    def __init__(self, stream: TextIOWrapper) -> None:
        self._stream, self._one = stream, threading.Condition()
        self._asked: set[int | str] = set()

    def write(self, line: str) -> None:
        """Send a line."""
        head = msgspec.json.decode(line, type=_Head)
        with self._one:
            try:
                self._stream.write(line)
                self._stream.flush()
            except OSError:  # nobody hears the others either
                self._asked.clear()
                raise
            finally:
                if not head.method:
                    self._settle(head.id)

    def expect(self, line: str) -> None:
        """Take note of a message from the client: a request is to be answered, a cancelled one is not any more."""
        head = msgspec.json.decode(line, type=_Head)
        with self._one:
            if head.method == "notifications/cancelled":
                self._settle((head.params or {}).get("requestId"))
            elif head.method and head.id is not None:
                self._asked.add(head.id)

    def wait(self) -> None:
        """Until all is answered, for LAST_S at most."""
        with self._one:
            self._one.wait_for(lambda: not self._asked, LAST_S)

    def _settle(self, number: Any) -> None:
        if isinstance(number, int | str):  # a cancellation may name anything
            self._asked.discard(number)
        self._one.notify_all()

    def flush(self) -> None:
        """Nothing is ever left."""


class Lines:
    """The client's messages, one a line, with lone surrogates replaced. What is no message is refused here."""

    def __init__(self, stream: BufferedReader, answers: Answers) -> None:
        self._stream, self._answers = stream, answers

    def readline(self) -> str:
        """The next message; empty at the end, which is not told before all is answered: the SDK drops the rest then."""
        while line := self._stream.readline(MAX_LINE_BYTES):
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                self._answers.write(too_long(line, MAX_LINE_BYTES))
                while line and not line.endswith(b"\n"):
                    line = self._stream.readline(MAX_LINE_BYTES)
            elif line.strip():
                text = mended(line.decode("utf-8", "replace"))
                if (refused := refusal(text)) is None:
                    self._answers.expect(text)
                    return text
                self._answers.write(refused)
        self._answers.wait()
        return ""


_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


def mended(line: str) -> str:
    r"""JSON text whose lone surrogates (`\ud83d` without its half) are replaced: no UTF-8 can hold them."""
    if "\\ud" not in line and "\\uD" not in line:
        return line
    return _ESCAPES.sub(lambda match: "\\ufffd" if match["lone"] else match[0], line)


def serve(project: str | None, client: str | None) -> int:
    """Serve until the client closes our standard input. project, client: as the owner gave them."""
    wire = Wire()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a reading thread cannot be woken
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="recalld mcp: %(message)s")
    asyncio.run(_serve(wire, project, client))
    return 0


async def _serve(wire: Wire, project: str | None, client: str | None) -> None:
    import anyio  # late, with the SDK: the streams have to be ours by then
    from mcp.server.stdio import stdio_server

    from recalld.mcp.bounds import named
    from recalld.mcp.server import Served, build

    given = Served(client, named(project, os.getcwd()) if project else None)
    server = build(lambda _: given)
    lines, answers = (anyio.wrap_file(cast("IO[str]", stream)) for stream in (wire.lines, wire.out))
    async with stdio_server(lines, answers) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
