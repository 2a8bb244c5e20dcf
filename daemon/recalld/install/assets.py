"""Where this installation's own files are: the absolute paths that hooks and units are given."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import recalld
from recalld.errors import UnavailableError

# Variables that move recalld's or Claude Code's files. What a daemon is started by later (the service manager, a
# hook) may not have them, so those set at install time are written down there.
PLACES = ("RECALLD_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR")

# Of a script that pip or uv made: `#!/path/python`, or by way of the shell where the path is long or has blanks in it.
_INTERPRETER = re.compile(r"""#!(?:/bin/sh\n'''exec' "?([^\n"]+?)"? "\$0"|([^\n]+))""")


def prefix() -> Path:
    """The folder of this virtual environment, by its lasting name.

    install.sh builds each version in a folder of its own and points the link `venv` beside it at the newest: the
    link's name outlives an upgrade, the folder's does not.
    """
    here = Path(sys.prefix)
    link = here.parent / "venv"
    try:
        return link if link.is_symlink() and link.samefile(here) else here
    except OSError:
        return here


def interpreter() -> Path:
    """The real Python executable behind this one, without shims or virtual environment: what starts fastest."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    # One step at most of resolving: a version manager's or Debian's own link (python3 -> python3.11) may go
    # through folders that a later patch release renames.
    path = Path(os.path.abspath(base))
    if not os.access(path, os.X_OK):
        raise UnavailableError(f"the Python that runs this ({path}) cannot be found again; give its full path")
    return path


def command() -> Path:
    """The `recalld` command of this installation."""
    path = prefix() / "bin" / "recalld"
    if not path.exists():
        raise UnavailableError(f"there is no {path}: install recalld with install.sh, uv or pip first")
    return path


def broken(program: Path) -> str:
    """Why a command cannot be run (it, or the Python that its first lines name, is not there); empty where it can."""
    if not os.access(program, os.X_OK):
        return f"{program} is not there"
    with program.open("rb") as file:
        named = _INTERPRETER.match(os.fsdecode(file.read(1000)))
    python = (named[1] or named[2]) if named else ""
    return f"{program} is run by {python}, which is not there" if python and not os.access(python, os.X_OK) else ""


def hook_script() -> Path:
    """The hook script inside the installed package, or in the checkout of an editable installation."""
    return _asset("hooks") / "hook.py"


def line_script() -> Path:
    """The script for Claude Code's status line, beside the hook's."""
    return _asset("hooks") / "line.py"


def units() -> Path:
    """The folder of the systemd units and the launchd agent."""
    return _asset("systemd")


def places(environ: Mapping[str, str]) -> dict[str, str]:
    """Those of PLACES that are set."""
    return {name: environ[name] for name in PLACES if environ.get(name)}


def _asset(name: str) -> Path:
    package = Path(recalld.__file__).parent
    installed = package / "assets" / name
    if not installed.is_dir():
        return package.parents[1] / name
    if installed.is_relative_to(sys.prefix):
        return prefix() / installed.relative_to(sys.prefix)
    return installed
