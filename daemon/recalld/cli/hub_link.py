"""What all actions of `hub` need: the settings, the way to the hub, and what must not be seen on a command line."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from recalld.cli import output
from recalld.cli.calls import LONG_S, ask
from recalld.cli.command import Told
from recalld.errors import InputError, RecalldError
from recalld.paths import find

if TYPE_CHECKING:
    from recalld.config import HubConfig
    from recalld.hub.link import Link


def action(
    actions: Any, name: str, summary: str, options: Callable[[argparse.ArgumentParser], None] | None,
    run: Callable[[argparse.Namespace], Told | int],
) -> None:  # fmt: skip
    """Add one action to the parser's `actions`."""
    made = actions.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + ".", allow_abbrev=False
    )
    made.set_defaults(does=run)
    if options:
        options(made)
    for flag in ("--json", "--debug"):  # unset, so that the same option given before the action stays
        made.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def settings(dsn: str = "") -> HubConfig:
    """`[hub]` with this address, else that of this home. Raises InputError where there is none."""
    from recalld import config  # late: every command imports this module

    found = config.load(find().config).hub
    if not (dsn or found.dsn):
        raise InputError("this home belongs to no hub; `recalld hub join` changes that")
    return config.HubConfig(dsn=dsn or found.dsn, passfile=found.passfile)


def secret(given: str | None, what: str) -> str:
    """What must not be seen: as given, else typed unseen, else the first line of stdin. Raises InputError."""
    if given and given != "-":
        return given.strip()
    if given is None and output.someone():
        import getpass  # late: for a person only

        typed = getpass.getpass(f"recalld: {what}: ", sys.stderr)
    else:
        typed = sys.stdin.read() if sys.stdin else ""
    if not typed.strip():
        raise InputError(f"{what}: nothing was given; type it, or give it on stdin")
    return typed.strip()


TAKEN = "It goes from the hub and from the other members; your own machines keep it as theirs"


def agree(question: str, *, given: bool) -> None:
    """Go on only where the person says yes, or has said so by `--yes`: what is asked here others lose, too.

    Raises InputError.
    """
    if not (given or output.someone()):
        raise InputError(
            "this takes something from others, and nobody is here to be asked; --yes says that it is meant"
        )
    if not output.confirmed(question, given=given):
        raise InputError("nothing was changed")


def joined() -> AbstractContextManager[Link]:
    """The hub of this home, opened for the length of a block."""
    from recalld.hub.link import linked

    return linked(find(), settings(), functools.partial(ask, timeout_s=LONG_S), _say_busy)


def _say_busy() -> None:
    if sys.stderr and sys.stderr.isatty():
        print(
            "recalld: this home is being synchronised by another process, as the daemon's; waiting for it",
            file=sys.stderr,
        )


def cycle(link: Link) -> dict[str, Any]:
    """Bring both in step, with a bar on a terminal; what was done, in numbers."""
    with output.progress("synchronising", link.total()) as tick:
        return link.cycle(tick)


def soon(*, sealed: bool = False) -> dict[str, Any] | None:
    """Tell the hub at once, where it can be reached; None where that waits for the next time.

    sealed: also see whether anything is left there that it can read.
    """
    try:
        with joined() as link:
            done = cycle(link)
            return done | ({"clear": link.remote.clear_rows(link.me.stream)} if sealed else {})
    except RecalldError as error:
        print(f"recalld: the hub is told later: {error}", file=sys.stderr)
        return None
