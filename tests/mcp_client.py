"""The SDK's own client on a real `recalld mcp`, and the bare wire for what no client would send."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters, types
from mcp.client.context import ClientRequestContext
from mcp.client.stdio import stdio_client

import forked
from conftest import PACKAGE, PATIENCE_S, Home, command

T = TypeVar("T")
MODES = ("legacy", "auto")
"""The two ways of the protocol: with a handshake (to 2025-11-25), and each request on its own (from 2026-07-28)."""
HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}},
}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def run(work: Coroutine[Any, Any, T], patience_s: float = 3 * PATIENCE_S) -> T:
    """What `work` returns; it must end."""

    async def limited() -> T:
        async with asyncio.timeout(patience_s):
            return await work

    return asyncio.run(limited())


@contextlib.asynccontextmanager
async def client(
    home: Home, *words: str, roots: Sequence[str | Path] | None = None, mode: str = "auto", name: str = "tester",
    cwd: Path | None = None, **environ: str,
) -> AsyncIterator[Client]:  # fmt: skip
    """A client of `recalld mcp WORDS...`. roots: the folders or URIs it tells, None for one that cannot tell any."""
    environ = {**home.environ, **environ}
    usual = forked.same_interpreter(environ, str(PACKAGE))
    program, *arguments = forked.command(forked.MCP, "mcp", *words) if usual else command("mcp", *words)
    server = StdioServerParameters(command=program, args=arguments, env=environ, cwd=str(cwd or home.root))
    uris = [root if isinstance(root, str) else root.as_uri() for root in roots or ()]

    async def told(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in uris])

    with open(home.root / "mcp.log", "a") as log:
        async with Client(
            stdio_client(server, errlog=log), mode=mode, list_roots_callback=None if roots is None else told,
            client_info=types.Implementation(name=name, version="1"), cache=None,
        ) as connected:  # fmt: skip
            yield connected


async def call(on: Client, tool: str, **arguments: Any) -> Any:
    """The data a tool answers; it must succeed."""
    done = await on.call_tool(tool, arguments)
    assert not done.is_error, done.content
    return done.structured_content


async def refused(on: Client, tool: str, **arguments: Any) -> str:
    """The one line in which a tool refuses."""
    done = await on.call_tool(tool, arguments)
    assert done.is_error, done.structured_content
    assert done.structured_content is None
    (content,) = done.content
    assert isinstance(content, types.TextContent)
    assert "\n" not in content.text
    return content.text


class Wire:
    """A `recalld mcp` process and its bare streams."""

    def __init__(self, home: Home, *words: str, **environ: str) -> None:
        self.process = subprocess.Popen(
            command("mcp", *words), env={**home.environ, **environ}, cwd=home.project, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.lines: list[bytes] = []

    def send(self, message: dict[str, Any] | str | bytes) -> None:
        """A message, or whatever is no message."""
        data = json.dumps(message) if isinstance(message, dict) else message
        assert self.process.stdin
        self.process.stdin.write((data.encode() if isinstance(data, str) else data) + b"\n")
        self.process.stdin.flush()

    def answer(self, number: int | str | None) -> dict[str, Any]:
        """The answer to request `number`; None: to what had none."""
        assert self.process.stdout
        while line := self.process.stdout.readline():
            self.lines.append(line)
            said: dict[str, Any] = json.loads(line)
            if said.get("id", "") == number:
                return said
        raise AssertionError(f"no answer to {number}: {self.process.communicate()}")

    def greet(self) -> None:
        """The handshake."""
        self.send(HELLO)
        self.answer(0)
        self.send(READY)

    def close(self) -> tuple[int, str]:
        """Close its stdin; returns its exit code and what it wrote to stderr."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        self.lines += out.splitlines(keepends=True)
        return self.process.returncode, err.decode()


@contextlib.contextmanager
def wire(home: Home, *words: str, **environ: str) -> Iterator[Wire]:
    """`Wire` for the length of a block, with the handshake done."""
    made = Wire(home, *words, **environ)
    try:
        made.greet()
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
            made.process.communicate()


def tool_call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    """A `tools/call` as it goes over the wire."""
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
