"""A short-lived child process: one input, one bounded output, one deadline, nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recalld.errors import UnavailableError
from recalld.llm.protocol import BadReplyError, NoAnswerError

MAX_OUTPUT_BYTES = 1 << 20
_STDERR_BYTES = 2000
_DRAIN_S = 1.0
_KEPT = (
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "PYTHONPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@dataclass(frozen=True)
class Finished:
    """How a child ended. stderr: its last bytes only."""

    returncode: int
    stdout: bytes
    stderr: bytes


def environment(env: Mapping[str, str], *, proxies: bool = True, more: Sequence[str] = ()) -> dict[str, str]:
    """The little of `env` a child needs, and the mark that keeps our own hooks silent in it."""
    names = {*_KEPT, *more}
    if proxies:
        names |= {*_PROXIES, *(name.lower() for name in _PROXIES)}
    kept = {name: env[name] for name in names if env.get(name)}
    if "PYTHONPATH" in kept:  # the child runs in another folder
        kept["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in kept["PYTHONPATH"].split(os.pathsep))
    kept.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return {**kept, "RECALLD_DISABLE": "1"}


async def run(command: Sequence[str], stdin: bytes, *, env: Mapping[str, str], cwd: str, deadline_s: float) -> Finished:
    """Run `command` to its end in a session of its own, with no descriptor but the three standard ones.

    Whatever happens (deadline, too much output, cancellation), its whole process group is ended and it is reaped.
    Raises NoAnswerError at the deadline, BadReplyError above MAX_OUTPUT_BYTES, UnavailableError if it cannot be started.
    """
    name = os.path.basename(command[0])
    try:
        transport, child = await asyncio.get_running_loop().subprocess_exec(
            _Child, *command, env=dict(env), cwd=cwd, start_new_session=True, close_fds=True
        )
    except OSError as error:
        raise UnavailableError(f"{command[0]}: cannot be started: {error.strerror}") from error
    try:
        _feed(transport, stdin)
        async with asyncio.timeout(deadline_s):
            await asyncio.shield(child.closed)
    except TimeoutError:
        raise NoAnswerError(f"{name}: no answer within {deadline_s:g} s") from None
    finally:
        await asyncio.shield(_end(transport, child))
    if len(child.stdout) > MAX_OUTPUT_BYTES:
        raise BadReplyError(f"{name}: wrote more than {MAX_OUTPUT_BYTES} bytes")
    return Finished(transport.get_returncode() or 0, bytes(child.stdout), child.stderr)


def _feed(transport: asyncio.SubprocessTransport, data: bytes) -> None:
    """Write `data` and close the pipe behind it; a child that answers without reading it all may."""
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    pipe.write(data)
    pipe.close()


async def _end(transport: asyncio.SubprocessTransport, child: _Child) -> None:
    """End the whole group and reap the child."""
    child.kill_group()
    await child.exited
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_S):
            await asyncio.shield(child.closed)
    transport.close()  # a process that left the group may still hold our pipes; we do not wait for it


class _Child(asyncio.SubprocessProtocol):
    """What the child writes, and when it is gone.

    This and not `asyncio.subprocess`, whose `wait` returns only when nobody holds the pipes any more.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.stdout = bytearray()
        self.stderr = b""
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._pid = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._pid = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.stderr = (self.stderr + data)[-_STDERR_BYTES:]
        elif len(self.stdout) <= MAX_OUTPUT_BYTES:
            self.stdout += data
        else:
            self.kill_group()

    def process_exited(self) -> None:
        self.kill_group()  # what it leaves behind ends with it, so that the pipes close
        self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)

    def kill_group(self) -> None:
        """End every process of the group. Once the child is reaped its id may be another's: then nothing is done."""
        if self._pid and not self.exited.done():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
