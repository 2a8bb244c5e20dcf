"""Installing and uninstalling recalld for one user: hooks, service, self-check, and all of it out again."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from recalld import paths as places_of
from recalld.errors import InputError, UnavailableError
from recalld.install import assets, clients, known, overlay, running, selfcheck, service, settings, tools
from recalld.paths import APP, Paths

CLIENTS = ("claude-code", *clients.CLIENTS)

# Left behind by hooks and daemon beside the data; none of it is data.
_TRACES = ("start.lock", "plugin-notice", "daemon.lock", "recalld.sock", "http.token", "http.json")


@dataclass(frozen=True)
class Options:
    """What the owner chose. `service`: use a service manager where there is one."""

    service: bool = True
    client: str = CLIENTS[0]


def install(
    options: Options, backend: Iterable[str], environ: Mapping[str, str], run: tools.Run = tools.run
) -> Iterator[str]:
    """Set recalld up for this user, step by step; yields a line for the owner after each.

    `backend`: lines that say which extraction backend was found and what it may spend. Doing it again changes
    nothing but restarts the daemon. Raises InputError, ConfigError (settings that cannot be edited: nothing was
    done) and UnavailableError.
    """
    if options.client not in CLIENTS:
        raise InputError(f"--client {options.client}: not known; there are {', '.join(CLIENTS)}")
    refuse_foreign_home(Path.home())
    if options.client in clients.CLIENTS:
        yield from clients.install(options.client, places_of.find(environ), environ)
        return
    interpreter = check_interpreter(assets.interpreter())
    file = settings_file(environ)
    settings.check(file)
    paths = places_of.find(environ)
    paths.ensure()
    yield from overlay.keep(paths)
    start: list[str] = []
    reason = "as --no-service says"
    try:
        kind = service.manager(Path.home(), run) if options.service else None
        if kind:
            running.stop(paths)
            yield from service.install(kind, paths, environ, run)
            running.wait(paths)
        elif options.service:
            reason = "there is no service manager here"
    except UnavailableError as error:
        kind, reason = None, f"the service could not be set up: {error}"
    if not kind:
        service.uninstall(paths, environ, run)
        running.stop(paths)
        start = start_command(environ)
        running.start(start, paths)
        yield f"service: none ({reason}); the first hook that finds no daemon starts it"
    wanted = settings.entries(interpreter, assets.hook_script(), paths.socket, start)
    outcome = settings.add_hooks(file, wanted, paths.backups)
    known.note(paths, file)
    yield f"hooks: {file} ({outcome})"
    yield from backend
    yield from _prove(paths, wanted["SessionStart"])


def uninstall(environ: Mapping[str, str], *, purge: bool = False, run: tools.Run = tools.run) -> Iterator[str]:
    """Take out all that `install` and install.sh put in; memories and settings stay unless `purge`.

    Yields a line for the owner after each step. The program's own files go last, after the last line: the caller
    must not need another module after that. Raises ConfigError where Claude Code's settings cannot be edited
    (nothing was done), and UnavailableError.
    """
    refuse_foreign_home(Path.home())
    paths = places_of.find(environ)
    files = list(dict.fromkeys((settings_file(environ), *known.noted(paths))))
    for file in files:
        settings.check(file)
    for file in files:
        yield from _take_out(file, paths)
    known.forget(paths)
    yield from clients.uninstall_all(paths, environ)
    for unit in service.uninstall(paths, environ, run):
        yield f"service: removed {unit}"
    if running.stop(paths):
        yield "daemon: stopped"
    yield from _clear(paths, purge=purge, flat=bool(environ.get("RECALLD_HOME")))
    program = own_program()
    for launcher in _launchers(program):
        yield f"command: removed {launcher}"
    if not program:
        yield "the program itself stays: remove it with what installed it (uv tool, pipx, pip)"
    for folder in program:
        folder.unlink() if folder.is_symlink() else shutil.rmtree(folder, ignore_errors=True)
    for folder in {folder.parent for folder in program} | {paths.data, paths.config_dir, paths.state}:
        _remove_empty(folder)


def part(client: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Take recalld out of one MCP client's settings; yields lines for the owner. Raises InputError, ConfigError."""
    if client not in clients.CLIENTS:
        raise InputError(f"--client {client}: not known; there are {', '.join(clients.CLIENTS)}")
    refuse_foreign_home(Path.home())
    lines = list(clients.uninstall(client, places_of.find(environ), environ))
    yield from lines or [f"{clients.CLIENTS[client].title}: recalld was not in its settings"]


def settings_file(environ: Mapping[str, str]) -> Path:
    """Claude Code's settings."""
    return places_of.claude_config_dir(environ) / "settings.json"


def start_command(environ: Mapping[str, str]) -> list[str]:
    """The command with which a hook starts the daemon for this home, whatever the hook's own environment."""
    places = [f"{name}={value}" for name, value in assets.places(environ).items()]
    return [*(["/usr/bin/env", *places] if places else []), str(assets.command()), "run"]


def refuse_foreign_home(home: Path) -> None:
    """Raise InputError for root in another user's home, as under sudo: what root writes there its owner cannot change."""
    try:
        owner = home.stat().st_uid
    except OSError as error:
        raise InputError(f"the home folder {home} cannot be used: {error.strerror}") from error
    if os.geteuid() == 0 and owner != 0:
        raise InputError(f"{home} is another user's home: run this as its owner, without sudo")


def check_interpreter(path: Path) -> Path:
    """`path`, a Python that can run the hook in the empty environment it may be given. Raises UnavailableError."""
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", "import posix, _socket"], env={}, capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{path} cannot run the hook: {error}") from error
    if done.returncode:
        raise UnavailableError(f"{path} cannot run the hook: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return path


def own_program() -> list[Path]:
    """The virtual environments that install.sh made, the link to the present one first; none if it made none."""
    link = assets.prefix()
    if not (link.is_symlink() and link.name == "venv"):
        return []
    return [link, *(folder for folder in link.parent.glob("venv-*") if (folder / "pyvenv.cfg").exists())]


def _take_out(file: Path, paths: Paths) -> Iterator[str]:
    outcome = settings.remove_hooks(file, paths.backups)
    if outcome != "unchanged":
        yield f"hooks: taken out of {file}"
    if outcome == "removed":
        _remove_empty(file.parent)


def _prove(paths: Paths, entry: settings.Entry) -> Iterator[str]:
    if (running.status(paths) or {}).get("paused"):
        yield "self-check: left out, recalld is paused (`recalld resume`)"
        return
    arguments = entry["args"]
    assert isinstance(arguments, list)
    line = selfcheck.remember_and_recall(paths, [str(entry["command"]), *arguments])
    yield f"self-check: stored a memory and got it back through the hook: {line}"


def _clear(paths: Paths, *, purge: bool, flat: bool) -> Iterator[str]:
    """Remove what is not data, and with `purge` the data too. `flat`: all is in one folder that may hold other things."""
    folders = list(dict.fromkeys((paths.runtime, paths.state, paths.config_dir, paths.data)))
    for folder in folders:
        for name in _TRACES:
            (folder / name).unlink(missing_ok=True)
    shutil.rmtree(paths.log, ignore_errors=True)
    if purge:
        for part in (paths.backups, paths.models, paths.spool):
            shutil.rmtree(part, ignore_errors=True)
        for file in (paths.config, *paths.data.glob(f"{paths.database.name}*")):
            file.unlink(missing_ok=True)
        for folder in folders:
            if not flat and folder.name == APP:
                _remove_all_but(folder, own_program())
        yield f"data: removed {paths.data}"
    else:
        yield f"data: kept in {paths.data}"
    for folder in (paths.backups, paths.models, paths.spool, *folders):
        _remove_empty(folder)


def _remove_all_but(folder: Path, kept: Iterable[Path]) -> None:
    stay = set(kept)
    for part in folder.iterdir() if folder.is_dir() else ():
        if part in stay:
            continue
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def _launchers(program: Iterable[Path]) -> Iterator[Path]:
    """Remove install.sh's links to the command and its manual, and yield them; what others put there stays."""
    local, folders = Path.home() / ".local", list(program)
    manual = Path("share", "man", "man1", "recalld.1")
    for link, part in ((local / "bin" / "recalld", Path("bin", "recalld")), (local / manual, manual)):
        if link.is_symlink() and Path(os.readlink(link)) in {folder / part for folder in folders}:
            link.unlink()
            yield link
    for folder in ("share/man/man1", "share/man"):
        _remove_empty(local / folder)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
