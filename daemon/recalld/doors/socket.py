"""The Unix socket: one request a connection, bytes until EOF both ways."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import stat
import struct
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from recalld import wire
from recalld.errors import InputError, RecalldError, StoreError

log = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 64 * 1024 * 1024
"""A longer request is not read further and gets no answer; Claude Code's own limit on a prompt is far below."""

READ_DEADLINE_S = 5.0
"""A peer that has not sent its whole request by then is dropped."""

BACKLOG = 256
CHECK_EVERY_S = 2.0
"""How often the socket file is looked for; a cleaner of temp folders may have removed it."""

_KEEP_FILE: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
"""From 3.13 on asyncio would remove the socket's file on closing, also that of systemd, which listens on."""

Answer = Callable[[wire.Request], Awaitable[bytes]]


class Door:
    """Listens on the socket and answers each request with `answer(request)`."""

    def __init__(self, path: Path, answer: Answer) -> None:
        self._path = path
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._inode: int | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def open(self, inherited: socket.socket | None = None) -> None:
        """Listen on `inherited`, else on a new socket at the path.

        One from systemd or launchd stays theirs: its file is neither made anew nor removed.
        """
        listening = inherited or self._bind()
        self._inode = None if inherited else _inode(self._path)
        self._server = await asyncio.start_unix_server(
            self._serve, sock=listening, limit=MAX_REQUEST_BYTES, **_KEEP_FILE
        )

    async def keep(self) -> None:
        """Bind anew whenever the socket file is gone or is another's; runs until cancelled."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            if self._inode is not None and _inode(self._path) != self._inode and self._server:
                log.warning("the socket file was removed; making it anew")
                self._server.close()
                with contextlib.suppress(OSError, StoreError):
                    await self.open()

    async def close(self) -> None:
        """Stop listening, let requests at hand finish (1 s at most), remove the file if it is still ours."""
        if self._server:
            self._server.close()
        if self._open:
            await asyncio.wait(self._open, timeout=1.0)
        if self._inode is not None and _inode(self._path) == self._inode:
            self._path.unlink(missing_ok=True)

    def _bind(self) -> socket.socket:
        """A listening socket for the owner only. The caller holds the daemon's lock, so a file that is there is dead.

        The path's folder becomes the working directory while binding: AF_UNIX limits a path to about 100 bytes.
        """
        folder = self._path.parent
        if (owner := folder.stat().st_uid) != os.getuid():
            raise StoreError(f"{folder}: belongs to uid {owner}, not to us; remove it or set RECALLD_HOME")
        before = os.getcwd()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)
        try:
            os.chdir(folder)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path.name)
            listening.bind(self._path.name)
        except OSError as error:
            listening.close()
            raise StoreError(f"{self._path}: {error.strerror}") from error
        finally:
            os.umask(mask)
            os.chdir(before)
        listening.listen(BACKLOG)
        return listening

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if (uid := _peer_uid(writer.get_extra_info("socket"))) != os.getuid():
                log.warning(
                    "a process of another user was turned away: uid %d, but only %d is answered", uid, os.getuid()
                )
                return
            async with asyncio.timeout(READ_DEADLINE_S):
                data = await _read(reader)
            writer.write(await self._reply(data))
            await writer.drain()
        except (OSError, TimeoutError, ValueError):
            log.info("a request was not received whole")
        finally:
            self._open.discard(task)
            writer.close()

    async def _reply(self, data: bytes) -> bytes:
        """The answer; none at all where a hook's work failed, so that its Stop goes to the spool."""
        try:
            return await self._answer(wire.parse_request(data))
        except InputError as error:
            log.warning("a request was refused: %s", type(error).__name__)
            return refusal(error) if data.startswith(b"call") else wire.NO_REPLY
        except RecalldError as error:
            log.warning("a request failed: %s", type(error).__name__)
            return refusal(error) if data.startswith(b"call") else b""
        except Exception as error:  # a door is the last to catch
            log.exception("request failed")
            internal = RecalldError(f"the daemon failed ({type(error).__name__}); see `recalld logs`")
            return refusal(internal) if data.startswith(b"call") else b""


def success(result: Any) -> bytes:
    """The reply to a call that worked."""
    return msgspec.json.encode({"ok": result})


def refusal(error: RecalldError) -> bytes:
    """The reply to a call that was refused: one line, and the error's name for the client to raise again."""
    return json.dumps({"error": str(error), "kind": type(error).__name__}).encode()


async def _read(reader: asyncio.StreamReader) -> bytes:
    parts, size = [], 0
    while part := await reader.read(1 << 16):
        parts.append(part)
        size += len(part)
        if size > MAX_REQUEST_BYTES:
            raise ValueError("request too large")
    return b"".join(parts)


def _peer_uid(connection: socket.socket) -> int:
    """The user at the other end, as the kernel knows it."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    # macOS: struct xucred of <sys/ucred.h> (version, uid, ...), by LOCAL_PEERCRED = 1 at level SOL_LOCAL = 0
    return int(struct.unpack_from("Ii", connection.getsockopt(0, 1, 76))[1])


def _inode(path: Path) -> int | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino if stat.S_ISSOCK(status.st_mode) else None
