"""Commands that put memories in order: tag tags archive restore move."""

from __future__ import annotations

import argparse
import functools
import shlex
from typing import Any

from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.change import say, say_each, short
from recalld.cli.command import SCOPES, Command, Told, here, ids, place
from recalld.errors import InputError


def _tag_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="its id, or the start of it")
    parser.add_argument("tags", nargs="*", metavar="TAG", help="a tag to add; +TAG is the same")
    parser.add_argument("-r", "--remove", action="append", default=[], metavar="TAG", help="may be given again")


def tag(arguments: argparse.Namespace) -> Told:
    """Change a memory's tags."""
    added = [name.removeprefix("+") for name in arguments.tags]
    before = ask("show", id=arguments.id)
    row = ask("tag", writes=True, id=before["id"], add=added, remove=arguments.remove)
    gone = [shlex.quote(name) for name in before["tags"] if name not in row["tags"]]
    new = [f"--remove {shlex.quote(name)}" for name in row["tags"] if name not in before["tags"]]
    back = " ".join(["tag", short(row["id"]), *gone, *new]) if gone or new else ""
    done = f"tagged {output.safe(', '.join(row['tags'])) or 'with nothing'}"
    return Told(row, functools.partial(say, done, back=output.safe(back)))


def _tags_options(parser: argparse.ArgumentParser) -> None:
    place(parser, "of this project: its NAME, a PATH in it, or all (default: the project of this folder)")
    actions = parser.add_subparsers(dest="action", metavar="rename", title="actions (none: list them)")
    rename = actions.add_parser("rename", help="give a tag another name", allow_abbrev=False)
    rename.add_argument("old", metavar="OLD")
    rename.add_argument("new", metavar="NEW", help="where this one is in use already, both become one")
    # Unset, so that the same option given before the action stays.
    rename.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    rename.add_argument("--project", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def tags(arguments: argparse.Namespace) -> Told:
    """List tags, or rename one."""
    given = {"project": arguments.project, "cwd": here()}
    if arguments.action is None:
        return Told(ask("tags", **given), _show_tags)
    old, new = arguments.old, arguments.new
    apart = new not in {one["tag"] for one in ask("tags", **given)}
    rows = ask("tags-rename", writes=True, old=old, new=new, **given)
    lines = [f"{old} is {new} now, in {output.plural(len(rows), 'memory', 'memories')}"]
    if apart:  # else nothing tells any more which of them had which
        lines.append(f"take it back with: recalld tags rename {shlex.quote(new)} {shlex.quote(old)}")
    return Told(rows, lambda _: print(output.safe("\n".join(lines))))


def _show_tags(found: list[dict[str, Any]]) -> None:
    if found:
        table = output.grid(8, None)
        for one in found:
            table.add_row(output.text(f"{one['memories']:,}".rjust(8), "dim"), output.text(one["tag"]))
        output.show(table)
    else:
        print("no memory here has a tag")


def archive(arguments: argparse.Namespace) -> Told:
    """Take memories out of force."""
    rows = ask("archive", writes=True, ids=arguments.ids)
    return Told(rows, functools.partial(say_each, "archived", back="restore"))


def restore(arguments: argparse.Namespace) -> Told:
    """Bring memories back into force."""
    return Told(ask("restore", writes=True, ids=arguments.ids), _say_restored)


def _say_restored(rows: list[dict[str, Any]]) -> None:
    say_each("in force again", rows, back="archive")
    if any(row["conflicts"] for row in rows):
        print("it contradicts what took its place; `recalld conflicts` shows both")


def _move_options(parser: argparse.ArgumentParser) -> None:
    ids(parser)
    parser.add_argument("--project", metavar="NAME|PATH", help="to this project")
    parser.add_argument("--scope", choices=SCOPES, help="user: everywhere; org: the team; project: this folder's")


def move(arguments: argparse.Namespace) -> Told:
    """Let memories hold elsewhere."""
    if not arguments.project and not arguments.scope:
        raise InputError("say where to: --project NAME, or --scope user, project or org")
    before = {row["id"]: row for row in (ask("show", id=reference) for reference in arguments.ids)}
    rows = ask(
        "move", writes=True, ids=list(before), project=arguments.project, scope=arguments.scope, cwd=here()
    )  # fmt: skip
    return Told(rows, functools.partial(_say_moved, before=before))


def _say_moved(rows: list[dict[str, Any]], before: dict[str, dict[str, Any]]) -> None:
    for row in rows:
        was = before[row["id"]]
        place = f"--project {shlex.quote(was['project'])}" if was["project"] else f"--scope {was['scope']}"
        say("moved", row, back=f"move {short(row['id'])} {output.safe(place)}")


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
