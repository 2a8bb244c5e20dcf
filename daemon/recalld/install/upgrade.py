"""Bringing a newer recalld in, the way this one was installed; where that fails, the present one goes on.

- install.sh builds the new version in an environment beside the present one, tries it, and only then switches.
- `uv tool` and `pipx` replace their environment; where the new version cannot prove itself, the old one is put back.
- Anything else (a plain `pip install`) belongs to its owner, who is told the command.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from recalld import __version__
from recalld import paths as places_of
from recalld.errors import InputError, UnavailableError
from recalld.install import assets, service, setup, tools

TIMEOUT_S = 900.0
"""For a whole build, over a slow network."""
LINES = 8
"""So much of what a failed step said is kept: the cause seldom stands in its last line."""

Kind = Literal["install.sh", "uv", "pipx"]


class StepError(UnavailableError):
    """A step failed. said: the lines before, which tell why."""

    def __init__(self, line: str, said: Sequence[str]) -> None:
        super().__init__(line)
        self.said = tuple(said)


class Way(NamedTuple):
    """How this recalld was installed. source: the checkout or archive it came from; None for an index."""

    kind: Kind
    source: Path | None


def way() -> Way:
    """How this environment came about. Raises InputError where only its owner can upgrade it."""
    prefix = Path(sys.prefix)
    source = _source()
    if setup.own_program():
        return Way("install.sh", source)
    if (prefix / "uv-receipt.toml").exists():
        return Way("uv", source)
    if (prefix / "pipx_metadata.json").exists():
        return Way("pipx", source)
    python = prefix / "bin" / "python"
    raise InputError(
        f"recalld was put into {prefix} by pip or another tool: `{python} -m pip install --upgrade recalld`, "
        "then `recalld install`"
    )


def upgrade(given: Path | None, environ: Mapping[str, str]) -> Iterator[str]:
    """Bring the newest version in, or that of `given`, a checkout or a wheel; yields a line after each step.

    The program that runs this may be gone afterwards: the caller must not need another module. Raises InputError,
    UnavailableError; the version before is in its place then.
    """
    setup.refuse_foreign_home(Path.home())
    installed, given = way(), given and given.absolute()
    if given and not given.exists():
        raise InputError(f"{given}: there is no such checkout or wheel")
    command = str(assets.command())  # by its lasting name, which can only be told while this version is in place
    if installed.kind == "install.sh":
        yield from _by_script(given, installed.source, environ)
    else:
        yield from _by_tool(installed.kind, given, command, environ)
    version = _output([command, "--version"], environ)
    yield f"recalld {__version__} -> {version.split()[-1]}"


def _by_script(given: Path | None, source: Path | None, environ: Mapping[str, str]) -> Iterator[str]:
    folder = given or source
    if folder is None or not (folder / "install.sh").is_file():
        raise InputError(
            f"the checkout that recalld was installed from ({folder or 'not known'}) is not there any more; "
            "name one: `recalld upgrade FOLDER`"
        )
    if given is None and (folder / ".git").exists():
        quiet = {**environ, "GIT_TERMINAL_PROMPT": "0"}
        yield f"{folder}: {_output(['git', '-C', str(folder), 'pull', '--ff-only'], quiet).splitlines()[-1]}"
    served = service.in_charge(places_of.find(environ), environ) is not None
    command = ["/bin/sh", str(folder / "install.sh"), *([] if served else ["--no-service"])]
    yield from _output(command, environ).splitlines()


def _by_tool(kind: Kind, given: Path | None, command: str, environ: Mapping[str, str]) -> Iterator[str]:
    tool = shutil.which(kind, path=environ.get("PATH"))
    if tool is None:
        raise UnavailableError(f"recalld was installed with {kind}, which is not on the PATH any more")
    paths = places_of.find(environ)
    served = service.in_charge(paths, environ) is not None
    force = [tool, *(["tool"] if kind == "uv" else []), "install", "--force"]
    prove = [command, "install", *([] if served else ["--no-service"])]
    try:
        _output([*force, str(given or "recalld")], environ)
        yield from _output(prove, environ).splitlines()
    except UnavailableError:
        _output([*force, f"recalld=={__version__}"], environ)
        _output(prove, environ)
        raise


def _source() -> Path | None:
    """Where the installed package came from, if from a folder or file (PEP 610)."""
    text = metadata.distribution("recalld").read_text("direct_url.json")
    url = urlsplit(json.loads(text).get("url", "")) if text else None
    return Path(unquote(url.path)) if url and url.scheme == "file" else None


def _output(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """What a command prints. Raises StepError, UnavailableError."""
    done = tools.finished(command, environ, TIMEOUT_S, cwd=Path.home())
    if done.returncode:
        raise _failed(os.path.basename(command[0]), done)
    return done.stdout.strip() or "done"


def _failed(program: str, done: subprocess.CompletedProcess[str]) -> StepError:
    """Why a command failed; the line that ends it all is its own, where it is of ours."""
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    ours = bool(said) and said[-1].startswith("recalld: ")
    line = said.pop().removeprefix("recalld: ") if ours else f"{program} failed with code {done.returncode}"
    return StepError(line, said[-LINES:])
