"""The process: it listens on the loopback interface, says where, and ends when its stdin does."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from recalld import paths, whole_file
from recalld.paths import Paths
from recalld.web import keys
from recalld.web.app import build
from recalld.web.door import Door
from recalld.web.guard import PATIENCE_S
from recalld.web.peer import is_stranger

ADDRESS = "127.0.0.1"
"""And never another: what is remembered is for this machine alone."""
BACKLOG = 128
CONNECTIONS = 256
CROWD = CONNECTIONS // 2
"""From so many on, a new connection has to be the owner's, and the one that has been idle longest makes room for it."""
END_S = 3.0
NICE = 5
"""Below whatever hooks wait for."""


def main(argv: Sequence[str]) -> int:
    """Serve until told to stop; returns the exit code."""
    parser = argparse.ArgumentParser(prog="recalld.web", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--before", type=int, default=0, help="where any will do, this one if it is free")
    arguments = parser.parse_args(argv)
    os.umask(0o077)
    os.nice(NICE)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    home = paths.find()
    try:
        listening = _listen(arguments.port, arguments.before)
        token = keys.token(home.http_token)
    except OSError as error:
        line = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        print(line, file=sys.stderr)  # noqa: T201  # what the daemon reads
        return 1
    asyncio.run(_serve(home, listening, token))
    return 0


def _listen(port: int, before: int) -> socket.socket:
    """A listening socket. Raises OSError whose `strerror` says what to do."""
    for wanted in (port, 0) if port or not before else (before, 0):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, wanted))
        except OSError as error:
            listening.close()
            if port:
                line = f"port {port} cannot be had ({error.strerror}); `recalld config set http.port 0` takes any"
                raise OSError(error.errno, line) from error
            continue
        listening.listen(BACKLOG)
        return listening
    raise OSError(0, "no port is free on the loopback interface")


async def _serve(home: Paths, listening: socket.socket, token: str) -> None:
    port = listening.getsockname()[1]
    door = Door(home, keys.Keys(token, time.monotonic))
    app, mcp = build(door, port)
    config = uvicorn.Config(
        app, http=Patient, ws="none", lifespan="off", loop="asyncio", log_config=None, access_log=False,
        server_header=False, proxy_headers=False, limit_concurrency=CONNECTIONS, timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True
        door.changes.stop()

    threading.Thread(target=_until_eof, args=(loop, stop), daemon=True).start()
    serving = asyncio.ensure_future(server.serve([listening]))
    while not server.started and not serving.done():  # noqa: ASYNC110  # it tells nobody
        await asyncio.sleep(0.01)
    if server.started:
        url = f"http://{ADDRESS}:{port}"
        with whole_file.written(home.http_facts) as file:
            file.write(json.dumps({"url": url, "port": port, "pid": os.getpid()}).encode())
        print(url, flush=True)  # noqa: T201  # what the daemon reads
    try:
        await serving
    finally:
        await mcp.close()
        _remove(home.http_facts)


def _until_eof(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    """Wait for the end of stdin, which the daemon holds and nobody writes to; then end, in order or not."""
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            pass
    with contextlib.suppress(RuntimeError):  # it has ended already
        loop.call_soon_threadsafe(stop)
    time.sleep(END_S)
    os._exit(1)


def _remove(path: Path) -> None:
    """Unless another process serves by now."""
    with contextlib.suppress(OSError, ValueError):
        if json.loads(path.read_text())["pid"] == os.getpid():
            path.unlink()


class Patient(H11Protocol):
    """The protocol, with an end to its patience: who says nothing, or half of a head, keeps no place for long.

    Nor do others keep the owner out: where it is crowded, they are turned away, and whoever is idle makes room.
    """

    _late: asyncio.TimerHandle | None = None
    heard = 0.0
    """When, by the loop's clock, it last said anything."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection begins."""
        super().connection_made(transport)
        self.heard = self.loop.time()
        self._late = self.loop.call_later(PATIENCE_S, transport.close)
        if len(self.connections) > CROWD:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """More has come."""
        self.heard = self.loop.time()
        super().data_received(data)
        half = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if half and self._late is None:
            self._late = self.loop.call_later(PATIENCE_S, self.transport.close)
        elif not half:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        """It ends."""
        self._forget()
        super().connection_lost(exc)

    @property
    def idle(self) -> bool:
        """Whether there is no request that waits for its answer."""
        return not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete)

    def _make_room(self) -> None:
        if self.client and self.server and is_stranger(self.client[1], self.server[1] or 0):
            self.transport.abort()
            return
        others = (other for other in self.connections if isinstance(other, Patient) and other is not self)
        if idle := [other for other in others if other.idle]:
            min(idle, key=lambda other: other.heard).transport.abort()

    def _forget(self) -> None:
        if self._late:
            self._late.cancel()
            self._late = None
