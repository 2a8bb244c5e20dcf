"""The launchd agent of macOS: the property list of `systemd/` with the absolute paths of this installation."""

from __future__ import annotations

import contextlib
import os
import plistlib
from collections.abc import Mapping
from pathlib import Path

from recalld.errors import UnavailableError
from recalld.install import tools
from recalld.paths import Paths

LABEL = "dev.recalld"
PLIST = f"{LABEL}.plist"


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
    """The property list. `places`: variables that the daemon must see."""
    agent = plistlib.loads((templates / PLIST).read_bytes())
    agent["ProgramArguments"] = [str(command), "run"]
    agent["Sockets"]["Listeners"]["SockPathName"] = str(paths.socket)
    agent["StandardOutPath"] = agent["StandardErrorPath"] = str(paths.log / "launchd.log")
    if places:
        agent["EnvironmentVariables"] = dict(places)
    return plistlib.dumps(agent, sort_keys=False)


def socket_in(where: Path) -> Path | None:
    """The socket of the agent in this property list; None where there is none."""
    try:
        return Path(plistlib.loads(where.read_bytes())["Sockets"]["Listeners"]["SockPathName"])
    except (OSError, plistlib.InvalidFileException, KeyError, TypeError):
        return None


def install(plist: bytes, where: Path, run: tools.Run = tools.run) -> None:
    """Write the property list and load it anew. Raises UnavailableError."""
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_bytes(plist)
    _unload(run)
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
    try:
        run(["launchctl", "print", f"{target}/{LABEL}"])
    except UnavailableError:
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


def _unload(run: tools.Run) -> None:
    with contextlib.suppress(UnavailableError):  # it was not loaded
        stop(run)
