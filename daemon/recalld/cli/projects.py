"""The command `projects`: lists them, and puts right what was guessed wrong."""

from __future__ import annotations

import argparse
from typing import Any

from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.command import Command, Told, here, yes
from recalld.errors import InputError

VALUES = {"name": "TEXT", "merge": "INTO", "relink": "FOLDER", "purge": ""}
ACTIONS = {
    "name": "give it another name to show",
    "merge": "let two be one: memories and places go to INTO",
    "relink": "say where it is now",
    "purge": "remove it with all its memories",
}


def _options(parser: argparse.ArgumentParser) -> None:
    yes(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions (none: list them)")
    for name, summary in ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        action.add_argument("project", metavar="PROJECT", help="its name, its #number, or a path in it")
        if VALUES[name]:
            action.add_argument("value", metavar=VALUES[name])
        for flags in (("--json",), ("-y", "--yes")):
            # Unset, so that the same option given before the action stays.
            action.add_argument(*flags, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def projects(arguments: argparse.Namespace) -> Told:
    """List projects, or change one and list them."""
    if arguments.action is None:
        return Told(ask("projects"), _show)
    question = f"remove project {arguments.project} with all its memories for good?"
    if arguments.action == "purge" and not output.confirmed(question, given=arguments.yes):
        raise InputError("nothing was removed")
    value = getattr(arguments, "value", "")
    known = ask(
        "projects-change", writes=True, action=arguments.action, project=arguments.project, value=value, cwd=here()
    )
    return Told(known, _show)


def _show(known: list[dict[str, Any]]) -> None:
    if known:
        output.show(_table(known))
    else:
        print("no project is known yet")


def _table(known: list[dict[str, Any]]) -> Any:
    now = output.utc_now()
    table = output.grid(None) if output.narrow() else output.grid(4, 24, 8, 9, None)
    if not output.narrow():
        table.add_row(*(output.text(title, "dim") for title in ("", "project", "memories", "last seen", "where")))
    for info in known:
        where = info["places"] or info["identities"]
        if output.narrow():
            count = output.plural(info["memories"], "memory", "memories")
            facts = (f"#{info['id']}", count, output.day(info["last_seen_at"], now), *where)
            table.add_row(output.stacked(output.text(info["name"], "bold"), *facts))
            continue
        table.add_row(
            output.text(f"#{info['id']}", "cyan"),
            output.text(info["name"], "bold"),
            output.text(f"{info['memories']:,}".rjust(8)),
            output.text(output.day(info["last_seen_at"], now), "dim"),
            output.text("\n".join(where)),
        )
    return table


COMMANDS = (
    Command("projects", "[name|merge|relink|purge ...]", "the known projects, and putting right which is which",
            _options, projects,
            ("recalld projects", "recalld projects name shop 'The shop'", "recalld projects merge '#4' shop",
             "recalld projects relink shop ~/work/shop", "recalld projects purge old-demo")),
)  # fmt: skip
