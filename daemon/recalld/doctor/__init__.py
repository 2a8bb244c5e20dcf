"""`recalld doctor`: each thing recalld depends on, looked at by itself, with a way out where it is not as it should be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recalld import surroundings
from recalld.doctor import client, daemon, hub, machine, store
from recalld.doctor.check import Check, Home, Look, Mend
from recalld.errors import RecalldError
from recalld.install import around, running
from recalld.paths import Paths

CHECKS: Mapping[str, Look] = {
    "folders": machine.check_folders,
    "disk": machine.check_disk,
    "surroundings": lambda home: surroundings.carried_off(home.paths.data),
    "file system": lambda home: surroundings.file_system(home.paths.data),
    "config": store.check_config,
    "interpreter": machine.check_interpreter,
    "hooks": client.check_hooks,
    "other memories": client.check_other_memories,
    "service": daemon.check_service,
    "socket": daemon.check_socket,
    "version": daemon.check_version,
    "database": store.check_database,
    "clock": machine.check_clock,
    "encryption": store.check_encryption,
    "model": store.check_model,
    "backend": store.check_backend,
    "claude": lambda home: around.claude_program(home.environ, Path.home()),
    "watches": machine.check_watches,
    "spool": daemon.check_spool,
    "queue": daemon.check_queue,
    "context": client.check_context,
    "http": daemon.check_http,
    "hub": hub.check_hub,
}
"""Every check, in the order one would mend them."""

MENDS: Mapping[str, Mend] = {
    "folders": machine.mend_folders,
    "service": daemon.mend_service,
    "socket": daemon.mend_socket,
    "database": store.mend_database,
    "queue": daemon.mend_queue,
}
"""What can be done about a check that failed; for the others only the owner can."""


def examine(paths: Paths, environ: Mapping[str, str]) -> list[Check]:
    """The result of every check, in their order. Changes nothing."""
    home = Home(paths, environ, running.status(paths))
    return [_guarded(name, look, home) for name, look in CHECKS.items()]


def mend(paths: Paths, environ: Mapping[str, str]) -> list[str]:
    """Take each way out that can do no harm, in the same order; returns what was done, in a sentence each."""
    done = []
    home = Home(paths, environ, running.status(paths))
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


def _guarded(name: str, look: Look, home: Home) -> Check:
    """A check's result, whatever the look at it raises."""
    try:
        detail, fix = look(home)
    except RecalldError as error:
        return Check(name, False, str(error), "mend what the line says, then run `recalld doctor` again")
    except OSError as error:
        return Check(name, False, f"{error.filename or name}: {error.strerror}", "see that this file can be read")
    return Check(name, not fix, detail, fix)
