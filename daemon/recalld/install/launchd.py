"""The launchd agent of macOS: the property list of `systemd/` with the absolute paths of this installation."""

from __future__ import annotations

import contextlib
import os
import plistlib
import time
from collections.abc import Mapping
from pathlib import Path

from recalld.errors import UnavailableError
from recalld.install import tools
from recalld.paths import Paths

LABEL = "dev.recalld"
PLIST = f"{LABEL}.plist"

UNLOAD_S = 5.0
"""`bootout` returns before the agent is gone; one that is bootstrapped in that time is refused."""
_POLL_S = 0.1
# Bytes of an AF_UNIX path on macOS (sun_path less the final NUL).
_SOCKET_PATH_BYTES = 103


def available(run: tools.Run = tools.run) -> bool:
    """Whether launchd has a domain for this user's agents."""
    try:
        run(["launchctl", "print", domain(run)])
    except UnavailableError:
        return False
    return True


def domain(run: tools.Run = tools.run) -> str:
    """The graphical session's domain, and over SSH without one the user's."""
    try:
        run(["launchctl", "print", f"gui/{os.getuid()}"])
    except UnavailableError:
        return f"user/{os.getuid()}"
    return f"gui/{os.getuid()}"


def file(home: Path) -> Path:
    """Where the agent's property list is kept."""
    return home / "Library" / "LaunchAgents" / PLIST


def render(templates: Path, paths: Paths, command: Path, places: Mapping[str, str]) -> bytes:
    """The property list. `places`: variables that the daemon must see.

    Raises UnavailableError for a path that no property list or socket can have.
    """
    if len(os.fsencode(paths.socket)) > _SOCKET_PATH_BYTES:
        raise UnavailableError(f"the path of the socket is too long for launchd: {paths.socket}")
    agent = plistlib.loads((templates / PLIST).read_bytes())
    agent["ProgramArguments"] = [str(command), "run"]
    agent["Sockets"]["Listeners"]["SockPathName"] = str(paths.socket)
    agent["StandardOutPath"] = agent["StandardErrorPath"] = str(paths.log / "launchd.log")
    if places:
        agent["EnvironmentVariables"] = dict(places)
    try:
        return plistlib.dumps(agent, sort_keys=False)
    except ValueError as error:  # XML knows no control characters
        raise UnavailableError(f"launchd cannot start a program in such a folder: {error}") from error


def program_in(where: Path) -> Path | None:
    """The program that this agent starts; None where there is none."""
    try:
        return Path(plistlib.loads(where.read_bytes())["ProgramArguments"][0])
    except (OSError, plistlib.InvalidFileException, KeyError, TypeError, IndexError):
        return None


def socket_in(where: Path) -> Path | None:
    """The socket of the agent in this property list; None where there is none."""
    try:
        return Path(plistlib.loads(where.read_bytes())["Sockets"]["Listeners"]["SockPathName"])
    except (OSError, plistlib.InvalidFileException, KeyError, TypeError):
        return None


def install(plist: bytes, where: Path, run: tools.Run = tools.run) -> None:
    """Write the property list and load it anew, also where the owner once disabled it. Raises UnavailableError."""
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_bytes(plist)
    _unload(run)
    run(["launchctl", "enable", f"{domain(run)}/{LABEL}"])
    start(where, run)


def uninstall(where: Path, run: tools.Run = tools.run) -> list[Path]:
    """Unload and remove the agent; returns the files that were there."""
    if not where.exists():
        return []
    _unload(run)
    where.unlink()
    return [where]


def start(where: Path, run: tools.Run = tools.run) -> None:
    """Load the agent, if it is not loaded, and start the daemon. Raises UnavailableError."""
    target = domain(run)
    if not _loaded(target, run):
        run(["launchctl", "bootstrap", target, str(where)])
    run(["launchctl", "kickstart", f"{target}/{LABEL}"])


def stop(run: tools.Run = tools.run) -> None:
    """Unload the agent: until `start` or the next login nothing starts the daemon. Raises UnavailableError."""
    run(["launchctl", "bootout", f"{domain(run)}/{LABEL}"])


def state(run: tools.Run = tools.run) -> str:
    """The daemon's state in launchd's word, as in `running`. Raises UnavailableError."""
    for line in run(["launchctl", "print", f"{domain(run)}/{LABEL}"]).splitlines():
        key, _, value = line.strip().partition(" = ")
        if key == "state":
            return value
    return "unknown"


def _loaded(target: str, run: tools.Run) -> bool:
    try:
        run(["launchctl", "print", f"{target}/{LABEL}"])
    except UnavailableError:
        return False
    return True


def _unload(run: tools.Run) -> None:
    """Unload the agent, if it is loaded, and wait until it is gone."""
    with contextlib.suppress(UnavailableError):  # it was not loaded
        stop(run)
    target, deadline = domain(run), time.monotonic() + UNLOAD_S
    while _loaded(target, run) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
