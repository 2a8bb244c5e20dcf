"""The service manager that keeps the daemon running: systemd, launchd, or none."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from recalld import paths as places_of
from recalld.errors import UnavailableError
from recalld.install import assets, launchd, systemd, tools
from recalld.paths import Paths

Manager = Literal["systemd", "launchd"]


def manager(home: Path, run: tools.Run = tools.run) -> Manager | None:
    """The service manager at hand for this home; None where hooks have to start the daemon themselves."""
    if sys.platform == "darwin":
        return "launchd" if launchd.available(run) else None
    return "systemd" if systemd.available(home, run) else None


def install(kind: Manager, paths: Paths, environ: Mapping[str, str], run: tools.Run = tools.run) -> list[str]:
    """Set the service up and start it; returns lines that tell what was done. Raises UnavailableError."""
    command, places = assets.command(), assets.places(environ)
    if kind == "launchd":
        where = launchd.file(Path.home())
        launchd.install(launchd.render(assets.units(), paths, command, places), where, run)
        return [f"service: launchd agent {where}"]
    sandbox = systemd.sandbox_works(run)
    writable = [places_of.claude_config_dir(environ), Path.home() / ".claude.json"]
    units = systemd.render(
        assets.units(), paths, command, writable, places, version=systemd.version(run), sandbox=sandbox
    )
    where = systemd.folder(systemd.environment(run))
    systemd.install(units, where, run)
    note = "" if sandbox else " (without its sandbox: this system lets users have no namespaces)"
    return [f"service: systemd user unit {where / systemd.SERVICE}{note}"]


def uninstall(paths: Paths, environ: Mapping[str, str], run: tools.Run = tools.run) -> list[Path]:
    """Stop this home's service and remove its files; returns those that were there."""
    kind = in_charge(paths, environ)
    if kind == "launchd":
        return launchd.uninstall(launchd.file(Path.home()), run)
    return systemd.uninstall(systemd.folder(environ), run) if kind == "systemd" else []


def in_charge(paths: Paths, environ: Mapping[str, str]) -> Manager | None:
    """Which manager has this home's service, by its files; a service of another RECALLD_HOME is none of ours."""
    if launchd.socket_in(launchd.file(Path.home())) == paths.socket:
        return "launchd"
    return "systemd" if systemd.socket_in(systemd.folder(environ)) == paths.socket else None


def program(kind: Manager, environ: Mapping[str, str]) -> Path | None:
    """What the service starts."""
    if kind == "launchd":
        return launchd.program_in(launchd.file(Path.home()))
    return systemd.program_in(systemd.folder(environ))


def start(kind: Manager, run: tools.Run = tools.run) -> None:
    """Start the daemon and its socket. Raises UnavailableError."""
    if kind == "launchd":
        launchd.start(launchd.file(Path.home()), run)
    else:
        systemd.start(run)


def stop(kind: Manager, run: tools.Run = tools.run) -> None:
    """Stop the daemon and its socket, until `start` or the next login. Raises UnavailableError."""
    if kind == "launchd":
        launchd.stop(run)
    else:
        systemd.stop(run)


def state(kind: Manager | None, run: tools.Run = tools.run) -> str:
    """The service's state in its manager's words; `not installed` and `unknown` where there is none to ask."""
    if kind is None:
        return "not installed"
    try:
        return launchd.state(run) if kind == "launchd" else systemd.state(run)
    except UnavailableError:
        return "unknown"
