"""Checks of the running daemon: its service, socket, version, what waits for it, and its HTTP door."""

from __future__ import annotations

import os
import stat

from recalld import __version__
from recalld.client import Client
from recalld.doctor.check import Home
from recalld.install import around, assets, control, service
from recalld.paths import spooled


def check_service(home: Home) -> tuple[str, str]:
    """Whether the service manager, if one is in charge, can keep it running."""
    kind = service.in_charge(home.paths, home.environ)
    if kind is None:
        return "none is set up; hooks start the daemon when they find none", ""
    if (program := service.program(kind, home.environ)) and (problem := assets.broken(program)):
        return f"{kind} cannot start it: {problem}", "recalld install"
    state = service.state(kind)
    detail = f"{kind} says: {state}"
    return detail, "recalld restart; `recalld logs` tells why it ended" if state.startswith("failed") else ""


def mend_service(home: Home) -> str:
    """Start it again."""
    control.stop(home.paths)
    return f"started again (process {control.start(home.paths)['pid']})"


def check_socket(home: Home) -> tuple[str, str]:
    """Whether it answers, to the owner alone."""
    path = home.paths.socket
    if home.status is None:
        return f"no daemon answers at {path}", "recalld restart"
    found = path.lstat()
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
        return f"{path} is not a socket of yours", f"remove {path}, then recalld restart"
    if stat.S_IMODE(found.st_mode) & 0o077:
        return f"{path} is open to others (mode {stat.S_IMODE(found.st_mode):o})", f"chmod 600 {path}"
    paused = ", but is paused: `recalld resume`" if home.status.get("paused") else ""
    return f"the daemon (process {home.status['pid']}) answers{paused}", ""


def mend_socket(home: Home) -> str:
    """Shut the socket to others, or start what should listen there."""
    if home.status:
        home.paths.socket.chmod(0o600)
        return "it is yours alone now"
    home.paths.ensure()
    control.stop(home.paths)
    return f"the daemon was started (process {control.start(home.paths)['pid']})"


def check_version(home: Home) -> tuple[str, str]:
    """Whether it is of the same version as this program."""
    if home.status is None:
        return f"{__version__}; no daemon answers", ""
    return around.versions(str(home.status["version"]), __version__)


def check_spool(home: Home) -> tuple[str, str]:
    """Whether what hooks left behind was taken in."""
    folder = home.paths.spool
    waiting = len(spooled(folder))
    if trouble := (home.status or {}).get("trouble"):
        return str(trouble), "recalld restart (it completes a schema that lacks a part); `recalld logs` tells more"
    if not waiting:
        return "empty: every turn has been taken in", ""
    fix = "recalld start" if home.status is None else "`recalld logs` tells why they are not taken in"
    return f"{waiting} waiting in {folder}", fix


def check_queue(home: Home) -> tuple[str, str]:
    """Whether an extraction gave up."""
    if home.status is None:
        return "not looked at: no daemon answers", ""
    jobs = home.status["jobs"]
    if jobs["dead"]:
        return f"{jobs['dead']} extractions gave up: {home.status['last_error']}", "recalld maintain --retry"
    return f"{jobs['ready']} waiting, none gave up", ""


def mend_queue(home: Home) -> str:
    """Try again what gave up."""
    return f"{Client(home.paths.socket).call('retry')['revived']} extractions will be tried again"


def check_http(home: Home) -> tuple[str, str]:
    """Whether the HTTP door serves, if it is wanted, and its token is the owner's."""
    door = (home.status or {}).get("http") or {"state": "off"}
    token = home.paths.http_token
    if token.exists() and (mode := stat.S_IMODE(token.stat().st_mode)) & 0o077:
        return f"{token} can be read by others (mode {mode:o})", f"rm {token}, then recalld restart: a new one is made"
    if door["state"] == "serving":
        return f"serves at {door['url']}, for this machine alone", ""
    if door["state"] == "failed":
        return f"does not serve: {door['error']}", "mend what the line says, or recalld config set http.enabled false"
    return "off; `recalld ui` turns it on" if door["state"] == "off" else f"is {door['state']}", ""
