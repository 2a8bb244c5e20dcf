"""What a command is, and the options that several of them share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any, NamedTuple

TYPES = ("fact", "preference", "decision", "lesson", "progress", "summary")
SCOPES = ("user", "project", "org")
STATUSES = ("active", "pending", "superseded", "archived", "deleted", "all")


class Told(NamedTuple):
    """What a command found or did: `data` as `--json` prints it, `show(data)` as a person reads it. code: to exit with."""

    data: Any
    show: Callable[[Any], None]
    code: int = 0


class Command(NamedTuple):
    """One command. usage: its arguments as the overview shows them; the full ones come from `options`.

    run: does it and returns what to tell, or the exit code where it told everything by itself; what goes wrong is raised.
    """

    name: str
    usage: str
    summary: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Told | int]
    examples: tuple[str, ...]


def nothing(parser: argparse.ArgumentParser) -> None:
    """The options of a command that has none of its own."""


def filters(parser: argparse.ArgumentParser, limit: int) -> None:
    """The options of a list. limit: how many at most where nothing is said."""
    place(parser, "of this project: its NAME, a PATH in it, or all (default: the project of this folder)")
    parser.add_argument("--scope", choices=SCOPES, help="only those that hold there")
    parser.add_argument("--type", choices=TYPES, help="only those of this type")
    parser.add_argument(
        "--status", default="active", metavar="STATUS", help=f"{', '.join(STATUSES)}, or several with commas (active)"
    )
    parser.add_argument("--tag", metavar="TAG", help="only those with this tag")
    parser.add_argument("--limit", type=positive, default=limit, metavar="N", help=f"at most N ({limit})")


def place(parser: argparse.ArgumentParser, what: str) -> None:
    """`--project`."""
    parser.add_argument("--project", metavar="NAME|PATH|all", help=what)


def ids(parser: argparse.ArgumentParser) -> None:
    """One or more memories."""
    parser.add_argument("ids", nargs="+", metavar="ID", help="its id, or the start of it")


def yes(parser: argparse.ArgumentParser) -> None:
    """`--yes`."""
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def chosen(arguments: argparse.Namespace) -> dict[str, Any]:
    """What `filters` took in, as a verb takes it."""
    names = ("project", "scope", "type", "status", "tag", "limit")
    return {"cwd": here(), **{name: getattr(arguments, name) for name in names}}


def here() -> str:
    """The working directory; empty where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def positive(text: str) -> int:
    """A number of 1 or more. Raises ValueError, as argparse wants it."""
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number
