"""Commands that put memories in order: tag tags archive restore move."""

from __future__ import annotations

import argparse
from typing import Any

from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.change import say, short
from recalld.cli.command import SCOPES, Command, here, ids, place
from recalld.errors import InputError


def _tag_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="its id, or the start of it")
    parser.add_argument("tags", nargs="*", metavar="TAG", help="a tag to add; +TAG is the same")
    parser.add_argument("-r", "--remove", action="append", default=[], metavar="TAG", help="may be given again")


def tag(arguments: argparse.Namespace) -> int:
    """Change a memory's tags."""
    added = [name.removeprefix("+") for name in arguments.tags]
    row = ask("tag", writes=True, id=arguments.id, add=added, remove=arguments.remove)
    if arguments.json:
        output.print_json(row)
    else:
        say(f"tagged {output.safe(', '.join(row['tags'])) or 'with nothing'}", row)
    return 0


def _tags_options(parser: argparse.ArgumentParser) -> None:
    place(parser, "of this project: its NAME, a PATH in it, or all (default: the project of this folder)")
    actions = parser.add_subparsers(dest="action", metavar="rename", title="actions (none: list them)")
    rename = actions.add_parser("rename", help="give a tag another name", allow_abbrev=False)
    rename.add_argument("old", metavar="OLD")
    rename.add_argument("new", metavar="NEW", help="where this one is in use already, both become one")
    # Unset, so that the same option given before the action stays.
    rename.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    rename.add_argument("--project", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def tags(arguments: argparse.Namespace) -> int:
    """List tags, or rename one."""
    if arguments.action == "rename":
        rows = ask(
            "tags-rename", writes=True, old=arguments.old, new=arguments.new, project=arguments.project, cwd=here()
        )
        if arguments.json:
            output.print_json(rows)
        else:
            count = output.plural(len(rows), "memory", "memories")
            print(output.safe(f"{arguments.old} is {arguments.new} now, in {count}"))
        return 0
    found = ask("tags", project=arguments.project, cwd=here())
    if arguments.json:
        output.print_json(found)
    elif found:
        table = output.grid(8, None)
        for one in found:
            table.add_row(output.text(f"{one['memories']:,}".rjust(8), "dim"), output.text(one["tag"]))
        output.show(table)
    else:
        print("no memory here has a tag")
    return 0


def archive(arguments: argparse.Namespace) -> int:
    """Take memories out of force."""
    rows = _changed("archive", arguments, "archived")
    if rows and not arguments.json:
        print(f"take it back with: recalld restore {' '.join(short(row['id']) for row in rows)}")
    return 0


def restore(arguments: argparse.Namespace) -> int:
    """Bring memories back into force."""
    rows = _changed("restore", arguments, "in force again")
    if not arguments.json and any(row["conflicts"] for row in rows):
        print("it contradicts what took its place; `recalld conflicts` shows both")
    return 0


def _changed(verb: str, arguments: argparse.Namespace, done: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ask(verb, writes=True, ids=arguments.ids)
    if arguments.json:
        output.print_json(rows)
    else:
        for row in rows:
            say(done, row)
    return rows


def _move_options(parser: argparse.ArgumentParser) -> None:
    ids(parser)
    parser.add_argument("--project", metavar="NAME|PATH", help="to this project")
    parser.add_argument("--scope", choices=SCOPES, help="user: everywhere; org: the team; project: this folder's")


def move(arguments: argparse.Namespace) -> int:
    """Let memories hold elsewhere."""
    if not arguments.project and not arguments.scope:
        raise InputError("say where to: --project NAME, or --scope user, project or org")
    rows = ask(
        "move", writes=True, ids=arguments.ids, project=arguments.project, scope=arguments.scope, cwd=here()
    )  # fmt: skip
    if arguments.json:
        output.print_json(rows)
        return 0
    for row in rows:
        say("moved", row)
    return 0


COMMANDS = (
    Command("tag", "ID TAG...", "add tags to a memory, or remove some", _tag_options, tag,
            ("recalld tag 1a2b3c tech:redis area:cache", "recalld tag 1a2b3c +tech:valkey --remove tech:redis")),
    Command("tags", "[rename OLD NEW]", "the tags in use, and giving one another name", _tags_options, tags,
            ("recalld tags", "recalld tags rename tech:postgres tech:postgresql")),
    Command("archive", "ID...", "take memories out of force; they stay readable", ids, archive,
            ("recalld archive 1a2b3c",)),
    Command("restore", "ID...", "bring archived or superseded memories back into force", ids, restore,
            ("recalld restore 1a2b3c",)),
    Command("move", "ID... --project P | --scope S", "let memories hold in another project, or everywhere",
            _move_options, move, ("recalld move 1a2b3c --project shop", "recalld move 1a2b3c --scope user")),
)  # fmt: skip
