"""The library of the encryption: installed into a folder of its own that Python looks into first, and taken out again.

It brings a module with the name of the plain one. Beside it rather than over it, a try that fails leaves nothing, what
package managers do to the environment does not undo it, and taking it out is to remove a folder.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from recalld import ENCRYPTION
from recalld.errors import InputError, UnavailableError
from recalld.install import tools
from recalld.paths import Paths
from recalld.store import key

PACKAGES = ("apsw-sqlite3mc>=3.50", "keyring>=25")
"""As the extra `encryption` in pyproject.toml."""
TIMEOUT_S = 600.0

_TRY = """import sys; sys.path.insert(0, sys.argv[1]); import apsw, keyring
db = apsw.Connection(":memory:"); sys.exit(not hasattr(apsw, "mc_version"))"""
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def works(folder: str = ENCRYPTION) -> bool:
    """Whether this environment's Python, with `folder` in front, can read and write encrypted databases."""
    done = subprocess.run([sys.executable, "-P", "-c", _TRY, folder], capture_output=True, cwd="/", check=False)
    return done.returncode == 0


def provide(wheels: Path | None = None) -> bool:
    """See to it that the library is there, for this process too; False where it was.

    wheels: a folder to take it from, instead of a registry. Raises InputError, UnavailableError; nothing was changed then.
    """
    if works():
        return False
    if sys.prefix == sys.base_prefix:
        raise InputError(
            f"recalld has no environment of its own here ({sys.prefix}): install it with install.sh, uv tool or pipx"
        )
    new = tempfile.mkdtemp(prefix="recalld-encryption-", dir=sys.prefix)
    try:
        _install(new, wheels)
        shutil.rmtree(ENCRYPTION, ignore_errors=True)  # of another Python, say
        os.rename(new, ENCRYPTION)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    if ENCRYPTION not in sys.path:
        sys.path.insert(0, ENCRYPTION)
    importlib.invalidate_caches()
    return True


def remove() -> bool:
    """Take the library out again; False where it was not there."""
    if not os.path.isdir(ENCRYPTION):
        return False
    going = tempfile.mkdtemp(prefix="recalld-encryption-", dir=sys.prefix)
    os.rename(ENCRYPTION, os.path.join(going, "old"))  # at once: whoever starts now finds all of it or nothing
    shutil.rmtree(going, ignore_errors=True)
    return True


def keep(paths: Paths) -> Iterator[str]:
    """After an upgrade into a new environment: install what the encrypted database of this home needs. Yields a line."""
    kept = key.record(paths.database)
    if kept and kept.on and provide():
        yield "encryption: the library that reads the database is installed in this environment, too"


def _install(folder: str, wheels: Path | None) -> None:
    """Into `folder`, with uv where there is one, else or where that fails with pip. Raises UnavailableError."""
    offline = ["--no-index", "--find-links", str(wheels.absolute())] if wheels else []
    options = ["--quiet", "--target", folder, *offline, *PACKAGES]
    reason = "neither uv nor pip is there"
    if uv := shutil.which("uv"):
        if not wheels and os.environ.get("PIP_NO_INDEX", "") not in ("", "0", "false"):
            options = ["--no-index", *options]  # for which uv has no variable
        reason = _run([uv, "pip", "install", "--python", sys.executable, "--compile-bytecode", *options])
    pip = [sys.executable, "-P", "-m", "pip"]
    if reason and not _run([*pip, "--version"]):
        reason = _run([*pip, "install", "--disable-pip-version-check", "--no-input", *options])
    if not reason and not works(folder):
        reason = f"it does not work with {sys.executable}"
    if reason:
        raise UnavailableError(
            f"the library of the encryption could not be installed ({reason}); nothing was changed. "
            "Without network: --find-links FOLDER, a folder of wheels"
        )


def _run(command: Sequence[str]) -> str:
    """Run it; what went wrong in a line, empty where nothing did."""
    try:
        done = tools.finished(command, _environ(), TIMEOUT_S)
    except UnavailableError as error:
        return str(error)
    said = " ".join((done.stderr.strip() or done.stdout.strip()).split())
    return "" if done.returncode == 0 else said[-300:] or f"{command[0]} ended with code {done.returncode}"


def _environ() -> dict[str, str]:
    """The environment of this process; uv is told, too, what the owner has told pip, as install.sh does."""
    env = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    if links := env.get("PIP_FIND_LINKS"):
        env.setdefault("UV_FIND_LINKS", links.replace(" ", ","))
    if index := env.get("PIP_INDEX_URL"):
        env.setdefault("UV_DEFAULT_INDEX", index)
    return env
