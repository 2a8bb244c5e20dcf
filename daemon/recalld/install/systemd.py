"""The systemd user units: the templates of `systemd/` with the absolute paths of this installation."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from recalld.errors import UnavailableError
from recalld.install import tools
from recalld.paths import Paths

SOCKET, SERVICE = "recalld.socket", "recalld.service"

# Bytes of an AF_UNIX path that systemd can listen on (sun_path less the final NUL).
_SOCKET_PATH_BYTES = 107
# From this version on the pause between restarts can grow.
_BACKOFF_VERSION = 254
_SCRATCH = Path("/tmp")  # noqa: S108 - granted to the sandboxed daemon, not used here


def available(home: Path, run: tools.Run = tools.run) -> bool:
    """Whether a user manager runs that starts services in this home."""
    try:
        return environment(run).get("HOME") == str(home)
    except UnavailableError:
        return False


def environment(run: tools.Run = tools.run) -> dict[str, str]:
    """The user manager's own environment. Raises UnavailableError where there is no user manager."""
    lines = run(["systemctl", "--user", "show-environment"]).splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def folder(environ: Mapping[str, str]) -> Path:
    """Where the user manager with this environment looks for units."""
    config = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or Path.home()) / ".config"
    return Path(config) / "systemd" / "user"


def render(
    templates: Path,
    paths: Paths,
    command: Path,
    writable: Sequence[Path],
    places: Mapping[str, str],
    *,
    version: int,
    sandbox: bool,
) -> dict[str, str]:
    """The text of both units, by file name.

    `writable`: folders and files outside recalld's own that the daemon may write. `places`: variables that the
    daemon must see. `version`: systemd's. Raises UnavailableError for a path that no unit can express.
    """
    for path in (command, paths.socket, *writable):
        if set("\"'\\\n") & set(str(path)):
            raise UnavailableError(f"systemd cannot start a program with quotes in its path: {path}")
    if len(os.fsencode(paths.socket)) > _SOCKET_PATH_BYTES:
        raise UnavailableError(f"the path of the socket is too long for systemd: {paths.socket}")
    service = (templates / SERVICE).read_text(encoding="utf-8")
    socket = (templates / SOCKET).read_text(encoding="utf-8")
    own = dict.fromkeys((paths.data, paths.config_dir, paths.state, paths.runtime))
    # systemd reads quotes in lists of paths, and takes the path of a socket as it stands.
    allowed = " ".join(_quoted(f"-{path}") for path in (*own, *writable, _SCRATCH))
    service = _set(service, "ExecStart", f"ExecStart={_quoted(str(command))} run")
    service = _set(service, "ReadWritePaths", f"ReadWritePaths={allowed}")
    if not sandbox:
        service = re.sub(r"# Sandbox\..*?(?=\[Install\])", "", service, flags=re.DOTALL)
    extra = [f"Environment={_quoted(f'{name}={value}')}" for name, value in places.items()]
    if version >= _BACKOFF_VERSION:
        extra += ["RestartSteps=5", "RestartMaxDelaySec=300"]
    service = _set(service, "RestartSec", "\n".join(["RestartSec=5", *extra]))
    return {
        SOCKET: _set(socket, "ListenStream", f"ListenStream={str(paths.socket).replace('%', '%%')}"),
        SERVICE: service,
    }


def program_in(where: Path) -> Path | None:
    """The program that the unit in this folder starts; None where there is none."""
    try:
        text = (where / SERVICE).read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r'^ExecStart="?(.+?)"? run$', text, flags=re.MULTILINE)
    return Path(found[1].replace("%%", "%")) if found else None


def socket_in(where: Path) -> Path | None:
    """The socket of the units in this folder; None where there are none."""
    try:
        text = (where / SOCKET).read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^ListenStream=(.+)$", text, flags=re.MULTILINE)
    return Path(found[1].replace("%%", "%")) if found else None


def version(run: tools.Run = tools.run) -> int:
    """The version of systemd; 0 where it cannot be told."""
    found = re.match(r"systemd (\d+)", run(["systemctl", "--version"]))
    return int(found[1]) if found else 0


def sandbox_works(run: tools.Run = tools.run) -> bool:
    """Whether this machine lets a user service have namespaces of its own; some kernels forbid it."""
    properties = ("PrivateUsers=yes", "ProtectSystem=strict", "ProtectHome=read-only", "RestrictNamespaces=yes")
    options = [word for name in properties for word in ("-p", name)]
    try:
        run(["systemd-run", "--user", "--wait", "--quiet", "--collect", *options, "true"])
    except UnavailableError:
        return False
    return True


def install(units: Mapping[str, str], where: Path, run: tools.Run = tools.run) -> None:
    """Write the units, have the socket opened now and at each login, and start the service anew."""
    where.mkdir(parents=True, exist_ok=True)
    for name, text in units.items():
        if not (where / name).is_file() or (where / name).read_text(encoding="utf-8") != text:
            (where / name).write_text(text, encoding="utf-8")
    run(["systemctl", "--user", "daemon-reload"])
    run(["systemctl", "--user", "enable", SOCKET])
    run(["systemctl", "--user", "stop", SERVICE, SOCKET])
    start(run)


def uninstall(where: Path, run: tools.Run = tools.run) -> list[Path]:
    """Stop and remove the units; returns the files that were there. Works without a user manager too."""
    found = [where / name for name in (SOCKET, SERVICE) if (where / name).exists()]
    if not found:
        return []
    for command in (["disable", "--now", SOCKET], ["stop", SERVICE]):
        _try(["systemctl", "--user", *command], run)
    for path in found:
        path.unlink()
    # Without a manager nobody undid what `enable` did.
    (where / "sockets.target.wants" / SOCKET).unlink(missing_ok=True)
    for empty in (where / "sockets.target.wants", where, where.parent):
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()
    for command in (["daemon-reload"], ["reset-failed", SERVICE, SOCKET]):
        _try(["systemctl", "--user", *command], run)
    return found


def start(run: tools.Run = tools.run) -> None:
    """Open the socket and start the service, also after it gave up. Raises UnavailableError."""
    _try(["systemctl", "--user", "reset-failed", SERVICE, SOCKET], run)
    run(["systemctl", "--user", "start", SOCKET, SERVICE])


def stop(run: tools.Run = tools.run) -> None:
    """Stop service and socket: until the next `start` or login nothing starts them. Raises UnavailableError."""
    run(["systemctl", "--user", "stop", SERVICE, SOCKET])


def state(run: tools.Run = tools.run) -> str:
    """The service's state in systemd's words, as in `active (running)`. Raises UnavailableError."""
    shown = run(["systemctl", "--user", "show", SERVICE, "--property=ActiveState,SubState"])
    values = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    return f"{values.get('ActiveState', 'unknown')} ({values.get('SubState', 'unknown')})"


def _try(command: Sequence[str], run: tools.Run) -> None:
    with contextlib.suppress(UnavailableError):  # what is to be undone may be undone already, or its manager be gone
        run(command)


def _quoted(word: str) -> str:
    word = word.replace("%", "%%")
    return f'"{word}"' if re.search(r"\s", word) else word


def _set(text: str, key: str, line: str) -> str:
    """The unit with `line` in the place of the first assignment of `key`, and no other assignment of it."""
    lines = text.splitlines()
    places = [number for number, old in enumerate(lines) if old.startswith(f"{key}=")]
    lines[places[0]] = line
    return "\n".join(old for number, old in enumerate(lines) if number not in places[1:]) + "\n"
