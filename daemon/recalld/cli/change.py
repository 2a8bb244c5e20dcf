"""Commands that change memories: add edit delete pin unpin feedback undo."""

from __future__ import annotations

import argparse
import shlex
import sys
from datetime import datetime, timedelta
from typing import Any

from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.command import SCOPES, TYPES, Command, here, ids, nothing, yes
from recalld.errors import InputError

VERDICTS = ("useful", "useless", "missed")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help="a sentence; `-` reads it from stdin")
    parser.add_argument("--project", metavar="NAME|PATH", help="another project than that of this folder")
    parser.add_argument("--scope", choices=SCOPES, default="project", help="where it holds (project)")
    parser.add_argument("--type", choices=TYPES, default="fact", help="what kind of statement it is (fact)")
    parser.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG", help="may be given again")
    parser.add_argument("--pin", action="store_true", help="give it to every session, first of all")
    parser.add_argument("--expires", metavar="WHEN", help="2026-12-31, 90d, 12h or 2w: it ends then")


def add(arguments: argparse.Namespace) -> int:
    """Store a sentence."""
    begun = output.utc_now()
    row = ask(
        "add", writes=True, text=_text(arguments.text), cwd=here(), project=arguments.project, scope=arguments.scope,
        type=arguments.type, tags=arguments.tags, pin=arguments.pin, expires=arguments.expires,
    )  # fmt: skip
    if arguments.json:
        output.print_json(row)
        return 0
    # The database's clock has milliseconds, and cuts.
    fresh = datetime.fromisoformat(row["created_at"]) >= begun - timedelta(milliseconds=1)
    say("remembered" if fresh else "known already", row)
    if fresh:
        print(f"take it back with: recalld delete {short(row['id'])}")
    return 0


def _edit_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="its id, or the start of it")
    parser.add_argument("text", nargs="+", metavar="TEXT", help="the new sentence; `-` reads it from stdin")


def edit(arguments: argparse.Namespace) -> int:
    """Replace a sentence, if it is still the one that was looked at."""
    before = ask("show", id=arguments.id)
    row = ask("edit", writes=True, id=before["id"], text=_text(arguments.text), version=before["version"])
    if arguments.json:
        output.print_json(row)
        return 0
    say("changed", row)
    print(f"take it back with: recalld edit {short(row['id'])} {shlex.quote(output.safe(before['content']))}")
    return 0


def _delete_options(parser: argparse.ArgumentParser) -> None:
    ids(parser)
    yes(parser)


def delete(arguments: argparse.Namespace) -> int:
    """Erase memories; more than one only after asking."""
    if len(arguments.ids) > 1:
        doomed = [ask("show", id=reference) for reference in arguments.ids]
        if not arguments.json:
            for row in doomed:
                say("to delete", row, stream=sys.stderr)
        if not output.confirmed(f"delete these {len(doomed)} memories for good?", given=arguments.yes):
            raise InputError("nothing was deleted")
    rows = ask("delete", writes=True, ids=arguments.ids)
    if arguments.json:
        output.print_json(rows)
        return 0
    for row in rows:
        say("deleted", row)
        print(f"have it back with: recalld add {_options(row)}{shlex.quote(output.safe(row['content']))}")
    return 0


def _options(row: dict[str, Any]) -> str:
    """The options with which `add` stores this memory once more."""
    scope = f"--scope {row['scope']} " if row["scope"] != "project" else ""
    project = f"--project {shlex.quote(row['project'])} " if row["project"] else ""
    kind = f"--type {row['type']} " if row["type"] != "fact" and row["type"] in TYPES else ""
    return scope + project + kind + ("--pin " if row["pinned"] else "")


def pin(arguments: argparse.Namespace) -> int:
    """Pin memories."""
    return _pinned(arguments, "pin", "unpin")


def unpin(arguments: argparse.Namespace) -> int:
    """Unpin memories."""
    return _pinned(arguments, "unpin", "pin")


def _pinned(arguments: argparse.Namespace, verb: str, opposite: str) -> int:
    rows = ask(verb, writes=True, ids=arguments.ids)
    if arguments.json:
        output.print_json(rows)
        return 0
    for row in rows:
        say(f"{verb}ned", row)
    print(f"take it back with: recalld {opposite} {' '.join(short(row['id']) for row in rows)}")
    return 0


def undo(arguments: argparse.Namespace) -> int:
    """Take back what was learnt last."""
    undone = ask("undo", writes=True)
    if arguments.json:
        output.print_json(undone)
        return 0
    for row in undone["removed"]:
        say("forgotten", row)
    for row in undone["restored"]:
        say("as before", row)
    if not undone["removed"] and not undone["restored"]:
        print("what was learnt last is gone already")
    return 0


def _feedback_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="its id, or the start of it")
    parser.add_argument("verdict", choices=VERDICTS, help="missed: the last prompt should have had it")


def feedback(arguments: argparse.Namespace) -> int:
    """Say whether a memory was of use."""
    row = ask("feedback", writes=True, id=arguments.id, verdict=arguments.verdict, cwd=here())
    if arguments.json:
        output.print_json(row)
        return 0
    say(f"noted as {arguments.verdict}", row)
    if arguments.verdict != "missed":
        other = "useless" if arguments.verdict == "useful" else "useful"
        print(f"take it back with: recalld feedback {short(row['id'])} {other}")
    return 0


def _text(words: list[str]) -> str:
    return sys.stdin.read() if words == ["-"] else " ".join(words)


def short(memory_id: str) -> str:
    """An id as it is shown where it stands alone."""
    return memory_id[: len("m-") + output.SHORT_DIGITS]


def say(done: str, row: dict[str, Any], stream: Any = None) -> None:
    """Print what was done to a memory, on one line."""
    where = {"user": "you", "org": "team"}.get(row["scope"], row["project"] or "-")
    content = output.safe(row["content"] or "(deleted)")
    print(f"{done}: {content} ({short(row['id'])}, {row['type']}, {output.safe(where)})", file=stream or sys.stdout)


COMMANDS = (
    Command("add", "TEXT", "remember a sentence", _add_options, add,
            ("recalld add 'The API listens on port 8080.'", "recalld add --scope user --type preference 'Answer briefly.'",
             "recalld add --pin --expires 2w 'The release freeze ends on Friday.'")),
    Command("edit", "ID TEXT", "put another sentence in a memory's place", _edit_options, edit,
            ("recalld edit 1a2b3c 'The API listens on port 8081.'",)),
    Command("delete", "ID...", "forget memories for good; they do not come back by themselves", _delete_options, delete,
            ("recalld delete 1a2b3c", "recalld delete 1a2b3c 4d5e6f --yes")),
    Command("pin", "ID...", "give memories to every session, first of all", ids, pin, ("recalld pin 1a2b3c",)),
    Command("unpin", "ID...", "take `pin` back", ids, unpin, ("recalld unpin 1a2b3c",)),
    Command("feedback", "ID VERDICT", "say whether a memory was useful, useless or missed", _feedback_options, feedback,
            ("recalld feedback 1a2b3c useful", "recalld feedback 1a2b3c missed")),
    Command("undo", "", "take back what was learnt last", nothing, undo, ("recalld undo",)),
)  # fmt: skip
