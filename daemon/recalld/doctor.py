"""`recalld doctor`: each thing recalld depends on, looked at by itself, with a way out where it is not as it should be."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recalld import __version__, config, embed, extract, maintain, surroundings
from recalld.client import Client
from recalld.errors import RecalldError, StoreError
from recalld.install import around, assets, control, encryption, running, service, settings, setup
from recalld.paths import Paths, claude_config_dir, spooled
from recalld.store import rescue
from recalld.store.connection import in_wal_mode, open_reader, translated
from recalld.store.migrate import scripts
from recalld.store.store import utc_now
from recalld.transcript.held import taken_ids

FREE_BYTES = 200 * 1024 * 1024
"""Room for the database, its WAL, and a backup of a store of usual size."""


REPAIR_S = 600.0
"""For making all indexes of a large store anew."""


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


def mend(paths: Paths, environ: Mapping[str, str]) -> list[str]:
    """Take each way out that can do no harm, in the same order; returns what was done, in a sentence each."""
    done = []
    home = _Home(paths, environ, running.status(paths))
    for name, way in MENDS.items():
        if _guarded(name, CHECKS[name], home).ok:
            continue
        try:
            said = way(home)
        except (RecalldError, OSError) as error:
            said = f"cannot be mended: {error}"
        if said:
            done.append(f"{name}: {said}")
            home = home._replace(status=running.status(paths))
    return done


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
        if not os.access(folder, os.W_OK):
            return f"{folder} cannot be written to", f"mount it for writing, or chmod 700 {folder}"
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
    file = setup.settings_file(home.environ)
    settings.check(file)
    entries = settings.registered(file)
    if not entries and _plugin(file.parent):
        return "they come with the plugin of Claude Code", ""
    if missing := [event for event in settings.HOOK_EVENTS if event not in entries]:
        return f"{file}: no hook of recalld for {', '.join(missing)}", "recalld install"
    for event, words in entries.items():
        if problem := _problem(words, home.paths):
            return f"{file}: the hook for {event} {problem}", "recalld install"
    return "all four are registered and lead to files that are there", ""


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
            if words[number + 3 :] and (problem := assets.broken(Path(words[-2]))):
                return f"cannot start the daemon: {problem}"
    return ""


def _plugin(claude: Path) -> bool:
    """Whether Claude Code has recalld as a plugin, whose hooks stand in the plugin itself."""
    try:
        return '"recalld@' in (claude / "plugins" / "installed_plugins.json").read_text(encoding="utf-8")
    except OSError:
        return False


def _other_memories(home: _Home) -> tuple[str, str]:
    claude = claude_config_dir(home.environ)
    moved = bool(home.environ.get("CLAUDE_CONFIG_DIR"))
    return around.other_memories(claude, (claude if moved else Path.home()) / ".claude.json")


def _version(home: _Home) -> tuple[str, str]:
    if home.status is None:
        return f"{__version__}; no daemon answers", ""
    return around.versions(str(home.status["version"]), __version__)


def _clock(home: _Home) -> tuple[str, str]:
    now, path, count = utc_now(), home.paths.database, 0
    if path.exists():
        # Too old or damaged: other checks tell.
        with contextlib.suppress(StoreError), translated(path), contextlib.closing(open_reader(path)) as db:
            count = maintain.ahead(db, now)
    return around.clock(now, count)


def _watches(home: _Home) -> tuple[str, str]:
    return around.watches(str((home.status or {}).get("watch", "off")))


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
    if (program := service.program(kind, home.environ)) and (problem := assets.broken(program)):
        return f"{kind} cannot start it: {problem}", "recalld install"
    state = service.state(kind)
    detail = f"{kind} says: {state}"
    return detail, "recalld restart; `recalld logs` tells why it ended" if state.startswith("failed") else ""


def _database(home: _Home) -> tuple[str, str]:
    path = home.paths.database
    if not path.exists():
        return "there is none yet; the first start makes it", ""
    found = rescue.examine(path)
    if found.damage:
        return f"{path} is damaged: {found.damage}", _way_back(home.paths)
    version, known = rescue.schema(path), len(scripts())
    if version > known:
        return f"{path} is of a newer recalld (schema {version}, this one knows {known})", "upgrade recalld"
    rescued = f"; {home.status['rescued']}" if home.status and home.status.get("rescued") else ""
    wal = in_wal_mode(path) or surroundings.on_network(path.parent)
    chosen = "" if wal else ", with a rollback journal, as somebody has set (`pragma journal_mode=wal` is faster)"
    return f"sound, schema {version}, {path.stat().st_size / 2**20:.1f} MiB{chosen}{rescued}", ""


def _way_back(paths: Paths) -> str:
    copies = rescue.copies(paths.backups)
    return "recalld doctor --fix" + (f"; or recalld restore-backup {copies[0]}" if copies else "")


def _encryption(home: _Home) -> tuple[str, str]:
    state = encryption.state(home.paths)
    way = f"recalld encrypt {'on' if state.on else 'off'}"
    if state.problem:
        return state.problem, f"let the key be had again (unlock the keyring, mount the key file), or {way}"
    if state.unfinished:
        return f"not yet {'encrypted' if state.on else 'plain'}: {', '.join(state.unfinished)}", way
    return f"on, the key is in {state.key}" if state.on else "off: the disk's own encryption is all there is", ""


def _model(home: _Home) -> tuple[str, str]:
    if home.status:
        model = home.status["model"]
        wrong = str(model["state"]).startswith("vectors paused")
        way = "install recalld again" if model["id"] == embed.BUILTIN else "recalld config set embed.model builtin"
        fix = f"{way}; until then search goes by words alone"
        return f"{model['id']}: {model['state']}", fix if wrong else ""
    name = config.load(home.paths.config).embed.model
    if name != embed.BUILTIN:
        return f"{name} is loaded when the daemon starts", ""
    embed.load(name, home.paths.models)
    return f"{name} can be loaded", ""


def _backend(home: _Home) -> tuple[str, str]:
    loaded = config.load(home.paths.config)
    wanted = loaded.extract.backend
    if home.status:  # the daemon's environment counts, and it may have found another
        backend, reason = home.status["backend"], str(home.status["backend_reason"])
    else:
        backend, reason = (choice := extract.choose(loaded, home.environ)).backend, choice.reason
    fix = f"recalld config set extract.backend auto, or give {wanted} what it misses"
    return reason, fix if wanted not in ("auto", backend) else ""


def _spool(home: _Home) -> tuple[str, str]:
    folder = home.paths.spool
    waiting = len(spooled(folder))
    if trouble := (home.status or {}).get("trouble"):
        return str(trouble), "recalld restart (it completes a schema that lacks a part); `recalld logs` tells more"
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


def _http(home: _Home) -> tuple[str, str]:
    door = (home.status or {}).get("http") or {"state": "off"}
    token = home.paths.http_token
    if token.exists() and (mode := stat.S_IMODE(token.stat().st_mode)) & 0o077:
        return f"{token} can be read by others (mode {mode:o})", f"rm {token}, then recalld restart: a new one is made"
    if door["state"] == "serving":
        return f"serves at {door['url']}, for this machine alone", ""
    if door["state"] == "failed":
        return f"does not serve: {door['error']}", "mend what the line says, or recalld config set http.enabled false"
    return "off; `recalld ui` turns it on" if door["state"] == "off" else f"is {door['state']}", ""


def _context(home: _Home) -> tuple[str, str]:
    """Whether what hooks print reaches the model: Claude Code ignores an answer of a shape that it does not know."""
    if home.status is None:
        return "not looked at: no daemon answers", ""
    shown = []
    for given in Client(home.paths.socket).call("handed"):
        with contextlib.suppress(OSError):  # a transcript that was removed tells nothing
            taken = taken_ids(Path(given["transcript"]))
            shown.append(any(memory.startswith(short) for memory in given["memories"] for short in taken))
    if not shown:
        return "no session that can be looked at was given anything yet", ""
    if any(shown):
        return f"Claude Code took {sum(shown)} of the last {len(shown)} injections", ""
    fix = "look at /hooks in Claude Code, then recalld install; if Claude Code is newer than this recalld, upgrade it"
    return f"the transcripts show none of the last {len(shown)} injections: Claude Code took or kept none", fix


CHECKS: Mapping[str, Callable[[_Home], tuple[str, str]]] = {
    "folders": _folders,
    "disk": _disk,
    "surroundings": lambda home: surroundings.carried_off(home.paths.data),
    "file system": lambda home: surroundings.file_system(home.paths.data),
    "config": _config,
    "interpreter": _interpreter,
    "hooks": _hooks,
    "other memories": _other_memories,
    "service": _service,
    "socket": _socket,
    "version": _version,
    "database": _database,
    "clock": _clock,
    "encryption": _encryption,
    "model": _model,
    "backend": _backend,
    "claude": lambda home: around.claude_program(home.environ, Path.home()),
    "watches": _watches,
    "spool": _spool,
    "queue": _queue,
    "context": _context,
    "http": _http,
}


def _mend_folders(home: _Home) -> str:
    paths = home.paths
    for folder in (paths.data, paths.config_dir, paths.state, paths.runtime):
        if folder.exists() and folder.stat().st_uid == os.getuid():
            folder.chmod(0o700)
    return "they are yours alone now"


def _mend_socket(home: _Home) -> str:
    if home.status:
        home.paths.socket.chmod(0o600)
        return "it is yours alone now"
    home.paths.ensure()
    control.stop(home.paths)
    return f"the daemon was started (process {control.start(home.paths)['pid']})"


def _mend_service(home: _Home) -> str:
    control.stop(home.paths)
    return f"started again (process {control.start(home.paths)['pid']})"


def _mend_database(home: _Home) -> str:
    paths = home.paths
    found = rescue.examine(paths.database)
    if found.indexes and home.status:
        made = Client(paths.socket, REPAIR_S).call("repair")["repaired"]
        return f"indexes made anew: {', '.join(made) or 'none'}"
    if not found.damage:
        return ""
    with control.alone(paths):
        return rescue.rescue(paths.database, paths.backups, utc_now(), found.damage)


def _mend_queue(home: _Home) -> str:
    return f"{Client(home.paths.socket).call('retry')['revived']} extractions will be tried again"


MENDS: Mapping[str, Callable[[_Home], str]] = {
    "folders": _mend_folders,
    "service": _mend_service,
    "socket": _mend_socket,
    "database": _mend_database,
    "queue": _mend_queue,
}
"""What can be done about a check that failed; for the others only the owner can."""
