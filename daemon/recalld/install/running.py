"""The daemon as a process: begun, waited for and ended where no service manager does that."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Sequence
from typing import IO, Any

from recalld import calling
from recalld.errors import RecalldError, UnavailableError
from recalld.paths import Paths

START_S = 20.0
STOP_S = 20.0
HUNG_S = 5.0
_POLL_S = 0.05


def status(paths: Paths) -> dict[str, Any] | None:
    """What the daemon says of itself; None where none answers."""
    try:
        answer = calling.call(paths.socket, "status", {}, 5.0)
    except RecalldError:
        return None
    return answer if isinstance(answer, dict) else None


def start(command: Sequence[str], paths: Paths) -> dict[str, Any]:
    """Start the daemon detached, unless one answers, and wait until it does; returns its status. `command`: absolute.

    Raises UnavailableError after START_S, or as soon as it ended without serving.
    """
    if serving := status(paths):
        return serving
    reading, writing = os.pipe()  # on a full disk there is no log, but stderr tells as well
    streams: list[tuple[Any, ...]] = [
        *((os.POSIX_SPAWN_OPEN, handle, os.devnull, os.O_RDWR, 0) for handle in range(2)),
        (os.POSIX_SPAWN_DUP2, writing, 2),
    ]
    with open(reading, "rb") as said:
        try:
            child = os.posix_spawn(command[0], [*command], os.environ, file_actions=streams, setsid=True)
        except OSError as error:
            raise UnavailableError(f"{command[0]}: cannot be started: {error.strerror}") from error
        finally:
            os.close(writing)
        return wait(paths, child, said)


def wait(paths: Paths, child: int | None = None, said: IO[bytes] | None = None) -> dict[str, Any]:
    """Wait until the daemon serves; returns its status. `child`: the process that is to become it, if it is ours.

    said: the other end of its stderr. Raises UnavailableError as `start` does.
    """
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        # Looked at first: a daemon that lost the race to another ends, and that other one serves.
        ended, code = os.waitpid(child, os.WNOHANG) if child else (0, 0)
        if serving := status(paths):
            return serving
        if ended:
            reason = f": {line}" if said and (line := _last_line(said)) else "; `recalld logs` tells why"
            raise UnavailableError(f"the daemon ended with code {os.waitstatus_to_exitcode(code)}{reason}")
        time.sleep(_POLL_S)
    raise UnavailableError(f"the daemon did not serve within {START_S:.0f} s; `recalld logs` tells why")


def _last_line(pipe: IO[bytes]) -> str:
    """The last line that waits in the pipe, without our name before it; empty where none does."""
    os.set_blocking(pipe.fileno(), False)
    lines = (pipe.read() or b"").decode(errors="replace").splitlines()
    return lines[-1].removeprefix("recalld: ") if lines else ""


def stop(paths: Paths) -> bool:
    """End the daemon gracefully, a hung one by force, and wait for it; False where none ran. Raises UnavailableError."""
    running = status(paths)
    pid = running.get("pid") if running else holder(paths)
    if not isinstance(pid, int):
        return False
    locked = holder(paths) == pid
    for number, within_s in ((signal.SIGTERM, STOP_S if running else HUNG_S), (signal.SIGKILL, HUNG_S)):
        # By force, nothing is lost either: what it has committed is safe, and what it was doing is done again.
        for signal_ in (number, signal.SIGCONT):  # one that was stopped takes a signal only when it goes on
            _signal(pid, signal_)
        if _gone(paths, pid, within_s, locked=locked):
            return True
    raise UnavailableError(f"the daemon (process {pid}) cannot be ended")


def holder(paths: Paths) -> int | None:
    """The process that holds this home's lock, whether it answers or not; None where none does."""
    try:
        lock = os.open(paths.lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        number = os.read(lock, 20).decode(errors="replace").strip()
        return int(number) if number.isdigit() else None
    finally:
        os.close(lock)
    return None


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _gone(paths: Paths, pid: int, within_s: float, *, locked: bool) -> bool:
    """Whether the process ends in that time. `locked`: it has the lock, and to let go of it is the last it does.

    The lock counts, then: nobody may ever ask after a process that ended in a container without an init.
    """
    deadline = time.monotonic() + within_s
    while _alive(pid) and not (locked and holder(paths) != pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _alive(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # begun by this very process: a zombie until it is asked after
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
