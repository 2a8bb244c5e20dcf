"""`recalld doctor`: each thing recalld depends on, looked at by itself, with a way out where it is not as it should be."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recalld import config, embed, extract
from recalld.errors import RecalldError, StoreError
from recalld.install import assets, running, service, settings, setup
from recalld.paths import Paths
from recalld.store.connection import open_reader, snapshot
from recalld.store.migrate import scripts

FREE_BYTES = 200 * 1024 * 1024
"""Room for the database, its WAL, and a backup of a store of usual size."""


class Check(NamedTuple):
    """One assumption. detail: what was found, in a sentence. fix: what to do; empty where nothing is to be done."""

    check: str
    ok: bool
    detail: str
    fix: str = ""


class _Home(NamedTuple):
    """What all checks look at. status: the daemon's, None where none answers."""

    paths: Paths
    environ: Mapping[str, str]
    status: dict[str, Any] | None


def examine(paths: Paths, environ: Mapping[str, str]) -> list[Check]:
    """The result of every check, in the order one would mend them. Changes nothing."""
    home = _Home(paths, environ, running.status(paths))
    return [_guarded(name, look, home) for name, look in CHECKS.items()]


def _guarded(name: str, look: Callable[[_Home], tuple[str, str]], home: _Home) -> Check:
    """A check's result. `look` returns the detail, and a fix only where something is wrong."""
    try:
        detail, fix = look(home)
    except RecalldError as error:
        return Check(name, False, str(error), "mend what the line says, then run `recalld doctor` again")
    except OSError as error:
        return Check(name, False, f"{error.filename or name}: {error.strerror}", "see that this file can be read")
    return Check(name, not fix, detail, fix)


def _folders(home: _Home) -> tuple[str, str]:
    paths = home.paths
    for folder in dict.fromkeys((paths.data, paths.config_dir, paths.state, paths.runtime)):
        if not folder.exists():
            continue
        status = folder.stat()
        if status.st_uid != os.getuid():
            return f"{folder} belongs to user {status.st_uid}, not to you", f"chown it to you, or remove it: {folder}"
        if stat.S_IMODE(status.st_mode) & 0o077:
            return f"{folder} can be read by others (mode {stat.S_IMODE(status.st_mode):o})", f"chmod 700 {folder}"
    return f"{paths.data} and the others are yours alone", ""


def _disk(home: _Home) -> tuple[str, str]:
    folder = next(part for part in (home.paths.data, *home.paths.data.parents) if part.exists())
    free = shutil.disk_usage(folder).free
    detail = f"{free / 2**30:.1f} GiB are free for {home.paths.data}"
    return detail, "free some space: nothing can be remembered on a full disk" if free < FREE_BYTES else ""


def _config(home: _Home) -> tuple[str, str]:
    config.load(home.paths.config)
    where = home.paths.config
    return f"{where} is valid" if where.exists() else "no config.toml: the defaults are in force", ""


def _interpreter(home: _Home) -> tuple[str, str]:
    return f"{setup.check_interpreter(assets.interpreter())} runs the hook", ""


def _hooks(home: _Home) -> tuple[str, str]:
    for file in setup.settings_files(home.environ):
        entries = dict(_entries(file))
        missing = [event for event in settings.HOOK_EVENTS if event not in entries]
        if missing:
            if not entries and _plugin(file.parent):
                continue
            return f"{file}: no hook of recalld for {', '.join(missing)}", "recalld install"
        for event, words in entries.items():
            if problem := _problem(words, home.paths):
                return f"{file}: the hook for {event} {problem}", "recalld install"
    return "all four are registered and lead to files that are there", ""


def _entries(file: Path) -> Iterator[tuple[str, list[str]]]:
    """Our hooks in Claude Code's settings: event, and the words of the command."""
    settings.check(file)
    try:
        hooks = json.loads(file.read_text(encoding="utf-8")).get("hooks", {})
    except FileNotFoundError:
        return
    for event, groups in hooks.items():
        for group in groups if isinstance(groups, list) else ():
            for entry in group.get("hooks", ()) if isinstance(group, dict) else ():
                if settings.is_ours(entry):
                    yield event, [str(entry.get("command", "")), *map(str, entry.get("args", ()))]


def _problem(words: list[str], paths: Paths) -> str:
    """What is wrong with a hook's command; empty where nothing is."""
    if len(words) > 1 and not os.access(words[0], os.X_OK):
        return f"is run by {words[0]}, which is not there"
    for number, word in enumerate(words):
        if Path(word).name == "hook.py":
            if not Path(word).is_file():
                return f"leads to {word}, which is not there"
            if number + 2 < len(words) and words[number + 2] != str(paths.socket):
                return f"asks at {words[number + 2]}, but this home's socket is {paths.socket}"
    return ""


def _plugin(claude: Path) -> bool:
    """Whether Claude Code has recalld as a plugin, whose hooks stand in the plugin itself."""
    try:
        return '"recalld@' in (claude / "plugins" / "installed_plugins.json").read_text(encoding="utf-8")
    except OSError:
        return False


def _socket(home: _Home) -> tuple[str, str]:
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


def _service(home: _Home) -> tuple[str, str]:
    kind = service.in_charge(home.paths, home.environ)
    if kind is None:
        return "none is set up; hooks start the daemon when they find none", ""
    state = service.state(kind)
    detail = f"{kind} says: {state}"
    return detail, "recalld restart; `recalld logs` tells why it ended" if state.startswith("failed") else ""


def _database(home: _Home) -> tuple[str, str]:
    path = home.paths.database
    if not path.exists():
        return "there is none yet; the first start makes it", ""
    try:
        version, said = _looked_into(path)
    except StoreError as error:
        return str(error).partition("; `recalld doctor`")[0], _way_back(home.paths)
    known = len(scripts())
    if version > known:
        return f"{path} is of a newer recalld (schema {version}, this one knows {known})", "upgrade recalld"
    if said != "ok":
        return f"{path} is damaged: {said}", _way_back(home.paths)
    return f"sound, schema {version}, {path.stat().st_size / 2**20:.1f} MiB", ""


def _looked_into(path: Path) -> tuple[int, str]:
    """The schema's version, and SQLite's own word on the file. Raises StoreError, TransientError."""
    db = open_reader(path)
    try:
        with snapshot(db):
            return int(db.pragma("user_version")), str(db.execute("pragma quick_check(1)").get)
    finally:
        db.close()


def _way_back(paths: Paths) -> str:
    copies = sorted(paths.backups.glob("memories-*.db"))
    if not copies:
        return f"recalld stop, move {paths.database} away, recalld start"
    return f"recalld stop, put {copies[-1]} in its place (and remove the -wal and -shm files beside it), recalld start"


def _model(home: _Home) -> tuple[str, str]:
    if home.status:
        model = home.status["model"]
        wrong = str(model["state"]).startswith("vectors paused")
        fix = "recalld config set embed.model builtin; until then search goes by words alone"
        return f"{model['id']}: {model['state']}", fix if wrong else ""
    name = config.load(home.paths.config).embed.model
    if name != embed.BUILTIN:
        return f"{name} is loaded when the daemon starts", ""
    embed.load(name, home.paths.models)
    return f"{name} can be loaded", ""


def _backend(home: _Home) -> tuple[str, str]:
    loaded = config.load(home.paths.config)
    choice = extract.choose(loaded, home.environ)
    wanted = loaded.extract.backend
    fix = f"recalld config set extract.backend auto, or give {wanted} what it misses"
    return choice.reason, fix if wanted not in ("auto", choice.backend) else ""


def _spool(home: _Home) -> tuple[str, str]:
    folder = home.paths.spool
    waiting = sum(file.suffix == ".hook" for file in folder.iterdir()) if folder.is_dir() else 0
    if not waiting:
        return "empty: every turn has been taken in", ""
    fix = "recalld start" if home.status is None else "`recalld logs` tells why they are not taken in"
    return f"{waiting} waiting in {folder}", fix


def _queue(home: _Home) -> tuple[str, str]:
    if home.status is None:
        return "not looked at: no daemon answers", ""
    jobs = home.status["jobs"]
    if jobs["dead"]:
        return f"{jobs['dead']} extractions gave up: {home.status['last_error']}", "recalld maintain --retry"
    return f"{jobs['ready']} waiting, none gave up", ""


CHECKS: Mapping[str, Callable[[_Home], tuple[str, str]]] = {
    "folders": _folders,
    "disk": _disk,
    "config": _config,
    "interpreter": _interpreter,
    "hooks": _hooks,
    "service": _service,
    "socket": _socket,
    "database": _database,
    "model": _model,
    "backend": _backend,
    "spool": _spool,
    "queue": _queue,
}
