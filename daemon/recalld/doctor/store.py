"""Checks of what is kept and what makes sense of it: configuration, database, encryption, model, backend."""

from __future__ import annotations

from recalld import config, embed, extract, surroundings
from recalld.client import Client
from recalld.doctor.check import Home
from recalld.install import control, encryption
from recalld.paths import Paths
from recalld.store import rescue
from recalld.store.connection import in_wal_mode
from recalld.store.migrate import scripts
from recalld.store.store import utc_now

REPAIR_S = 600.0
"""For making all indexes of a large store anew."""


def check_config(home: Home) -> tuple[str, str]:
    """Whether config.toml is valid."""
    config.load(home.paths.config)
    where = home.paths.config
    return f"{where} is valid" if where.exists() else "no config.toml: the defaults are in force", ""


def check_database(home: Home) -> tuple[str, str]:
    """Whether the database is sound, and of a schema that this program knows."""
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


def mend_database(home: Home) -> str:
    """Make indexes anew, or put the best copy in a damaged database's place."""
    paths = home.paths
    found = rescue.examine(paths.database)
    if found.indexes and home.status:
        made = Client(paths.socket, REPAIR_S).call("repair")["repaired"]
        return f"indexes made anew: {', '.join(made) or 'none'}"
    if not found.damage:
        return ""
    with control.alone(paths):
        return rescue.rescue(paths.database, paths.backups, utc_now(), found.damage)


def check_encryption(home: Home) -> tuple[str, str]:
    """Whether the database is as the owner wants it, and its key can be had."""
    state = encryption.state(home.paths)
    way = f"recalld encrypt {'on' if state.on else 'off'}"
    if state.problem:
        return state.problem, f"let the key be had again (unlock the keyring, mount the key file), or {way}"
    if state.unfinished:
        return f"not yet {'encrypted' if state.on else 'plain'}: {', '.join(state.unfinished)}", way
    return f"on, the key is in {state.key}" if state.on else "off: the disk's own encryption is all there is", ""


def check_model(home: Home) -> tuple[str, str]:
    """Whether texts can be embedded."""
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


def check_backend(home: Home) -> tuple[str, str]:
    """Whether the backend that is wanted is there."""
    loaded = config.load(home.paths.config)
    wanted = loaded.extract.backend
    if home.status:  # the daemon's environment counts, and it may have found another
        backend, reason = home.status["backend"], str(home.status["backend_reason"])
    else:
        backend, reason = (choice := extract.choose(loaded, home.environ)).backend, choice.reason
    fix = f"recalld config set extract.backend auto, or give {wanted} what it misses"
    return reason, fix if wanted not in ("auto", backend) else ""
