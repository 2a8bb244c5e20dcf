"""Homes that belong to a hub, for tests that go through the real command line and real daemons."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from conftest import Home
from recalld.cli import main

REMOTE = '[remote "origin"]\n\turl = https://github.com/acme/shop.git\n'


def home_of(folder: Path) -> Home:
    """A home whose project is a clone of the team's shop."""
    folder.mkdir(parents=True)
    home = Home(folder)
    (home.project / ".git" / "config").write_text(REMOTE)
    return home


@contextlib.contextmanager
def inside(home: Home) -> Iterator[None]:
    """This process works in `home`, as a command would."""
    with mock.patch.dict(os.environ, home.environ, clear=True), contextlib.chdir(home.project):
        yield


def said(home: Home, *words: str, text: str = "") -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `recalld WORDS...`, in this very process: a start of Python costs a third of a second."""
    out, errors = io.StringIO(), io.StringIO()
    stdin = mock.patch("sys.stdin", io.StringIO(text))
    with inside(home), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors), stdin:
        code = main.main(words)
    return code, out.getvalue(), errors.getvalue()


def done(home: Home, *words: str, text: str = "") -> Any:
    """What `recalld WORDS... --json` prints; it must succeed."""
    code, out, errors = said(home, *words, "--json", text=text)
    assert (code, errors) == (0, ""), errors
    return json.loads(out)


def refused(home: Home, *words: str, text: str = "") -> str:
    """The one line of a command that must fail."""
    code, out, errors = said(home, *words, text=text)
    assert (code, out, errors.count("\n")) == (1, "", 1), (code, out, errors)
    return errors


def contents(home: Home, *words: str) -> set[str]:
    """All sentences that `list` shows there."""
    return {row["content"] for row in done(home, "list", *words)}


def children(pid: int) -> list[int]:
    """The processes that this one has begun."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == pid:
                found.append(int(folder.name))
    return found
