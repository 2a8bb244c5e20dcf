"""Commands that change memories: add edit delete pin unpin feedback undo."""

from __future__ import annotations

import argparse
import functools
import shlex
import sys
from datetime import datetime, timedelta
from typing import Any

from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.command import SCOPES, TYPES, Command, Told, here, ids, nothing, yes
from recalld.ends import when
from recalld.errors import InputError

Row = dict[str, Any]

VERDICTS = ("useful", "useless", "missed")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help="a sentence; `-` reads it from stdin")
    parser.add_argument("--project", metavar="NAME|PATH", help="another project than that of this folder")
    parser.add_argument("--scope", choices=SCOPES, default="project", help="where it holds (project)")
    parser.add_argument("--type", choices=TYPES, default="fact", help="what kind of statement it is (fact)")
    parser.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG", help="may be given again")
    parser.add_argument("--pin", action="store_true", help="give it to every session, first of all")
    parser.add_argument("--expires", type=when, metavar="WHEN", help="2026-12-31, 90d, 12h or 2w: it ends then")


def add(arguments: argparse.Namespace) -> Told:
    """Store a sentence."""
    begun = output.utc_now()
    row = ask(
        "add", writes=True, text=_text(arguments.text), cwd=here(), project=arguments.project, scope=arguments.scope,
        type=arguments.type, tags=arguments.tags, pin=arguments.pin, expires=arguments.expires,
    )  # fmt: skip
    return Told(row, functools.partial(_say_added, begun=begun))


def _say_added(row: Row, begun: datetime) -> None:
    # The database's clock has milliseconds, and cuts.
    fresh = datetime.fromisoformat(row["created_at"]) >= begun - timedelta(milliseconds=1)
    say("remembered" if fresh else "known already", row)
    if fresh:
        print(f"take it back with: recalld delete {short(row['id'])}")


def _edit_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="its id, or the start of it")
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the new sentence; `-` reads it from stdin")
    parser.add_argument(
        "--local-only", choices=("on", "off"), help="on: it never leaves this machine, nor does a remote model see it"
    )


def edit(arguments: argparse.Namespace) -> Told:
    """Replace a sentence, if it is still the one that was looked at, or say whether it may leave this machine."""
    if not arguments.text and not arguments.local_only:
        raise InputError("say what to change: the new sentence, or --local-only on or off")
    before = ask("show", id=arguments.id)
    seen = {"id": before["id"], "version": before["version"]}
    text = _text(arguments.text) if arguments.text else None
    if arguments.local_only:
        row = ask("patch", writes=True, **seen, content=text, local_only=arguments.local_only == "on")
    else:
        row = ask("edit", writes=True, **seen, text=text)
    words = [shlex.quote(output.safe(before["content"]))] if text is not None else []
    if row["local_only"] != before["local_only"]:
        words.append(f"--local-only {'on' if before['local_only'] else 'off'}")
    back = " ".join(["edit", short(row["id"]), *words])
    kept = ", kept on this machine" if arguments.local_only == "on" else ""
    return Told(row, lambda row: say(f"changed{kept}", row, back=back))


def _delete_options(parser: argparse.ArgumentParser) -> None:
    ids(parser)
    yes(parser)


def delete(arguments: argparse.Namespace) -> Told:
    """Erase memories; more than one only after asking."""
    ask_before_many(arguments, "delete", "deleted")
    return Told(ask("delete", writes=True, ids=arguments.ids), _say_deleted)


def ask_before_many(arguments: argparse.Namespace, verb: str, done: str) -> None:
    """Show what several ids stand for, and ask whether all of that is meant. Raises InputError where it is not."""
    if len(arguments.ids) < 2 or arguments.yes:
        return
    if output.someone():
        for reference in arguments.ids:
            say(f"to {verb}", ask("show", id=reference), stream=sys.stderr)
    if not output.confirmed(f"{verb} these {len(arguments.ids)} memories for good?", given=False):
        raise InputError(f"nothing was {done}")


def _say_deleted(rows: list[Row]) -> None:
    for row in rows:
        say("deleted", row)
        print(f"have it back with: recalld add {_options(row)}{shlex.quote(output.safe(row['content']))}")


def _options(row: Row) -> str:
    """The options with which `add` stores this memory once more."""
    scope = f"--scope {row['scope']} " if row["scope"] != "project" else ""
    project = f"--project {shlex.quote(row['project'])} " if row["project"] else ""
    kind = f"--type {row['type']} " if row["type"] != "fact" and row["type"] in TYPES else ""
    return scope + project + kind + ("--pin " if row["pinned"] else "")


def pin(arguments: argparse.Namespace) -> Told:
    """Pin memories."""
    return Told(ask("pin", writes=True, ids=arguments.ids), functools.partial(say_each, "pinned", back="unpin"))


def unpin(arguments: argparse.Namespace) -> Told:
    """Unpin memories."""
    return Told(ask("unpin", writes=True, ids=arguments.ids), functools.partial(say_each, "unpinned", back="pin"))


def undo(arguments: argparse.Namespace) -> Told:
    """Take back what was learnt last."""
    return Told(ask("undo", writes=True), _say_undone)


def _say_undone(undone: dict[str, list[Row]]) -> None:
    for row in undone["removed"]:
        say("forgotten", row)
    for row in undone["restored"]:
        say("as before", row)
    if not undone["removed"] and not undone["restored"]:
        print("what was learnt last is gone already")


def _feedback_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="its id, or the start of it")
    parser.add_argument("verdict", choices=VERDICTS, help="missed: the last prompt should have had it")


def feedback(arguments: argparse.Namespace) -> Told:
    """Say whether a memory was of use."""
    row = ask("feedback", writes=True, id=arguments.id, verdict=arguments.verdict, cwd=here())
    other = {"useful": "useless", "useless": "useful"}.get(arguments.verdict)
    back = f"feedback {short(row['id'])} {other}" if other else ""
    return Told(row, functools.partial(say, f"noted as {arguments.verdict}", back=back))


def _text(words: list[str]) -> str:
    return sys.stdin.read() if words == ["-"] else " ".join(words)


def short(memory_id: str) -> str:
    """An id as it is shown where it stands alone."""
    return memory_id[: len("m-") + output.SHORT_DIGITS]


def say(done: str, row: Row, *, back: str = "", stream: Any = None) -> None:
    """Print what was done to a memory, on one line. back: the command that takes it back."""
    where = {"user": "you", "org": "team"}.get(row["scope"], row["project"] or "-")
    content = output.safe(row["content"] or "(deleted)")
    print(f"{done}: {content} ({short(row['id'])}, {row['type']}, {output.safe(where)})", file=stream or sys.stdout)
    if back:
        print(f"take it back with: recalld {back}")


def say_each(done: str, rows: list[Row], *, back: str = "") -> None:
    """Print what was done to memories. back: the command that takes it back for all of them."""
    for row in rows:
        say(done, row)
    if back and rows:
        print(f"take it back with: recalld {back} {' '.join(short(row['id']) for row in rows)}")


COMMANDS = (
    Command("add", "TEXT", "remember a sentence", _add_options, add,
            ("recalld add 'The API listens on port 8080.'", "recalld add --scope user --type preference 'Answer briefly.'",
             "recalld add --pin --expires 2w 'The release freeze ends on Friday.'")),
    Command("edit", "ID [TEXT]", "put another sentence in a memory's place, or keep it on this machine", _edit_options, edit,
            ("recalld edit 1a2b3c 'The API listens on port 8081.'", "recalld edit 1a2b3c --local-only on")),
    Command("delete", "ID...", "forget memories for good; they do not come back by themselves", _delete_options, delete,
            ("recalld delete 1a2b3c", "recalld delete 1a2b3c 4d5e6f --yes")),
    Command("pin", "ID...", "give memories to every session, first of all", ids, pin, ("recalld pin 1a2b3c",)),
    Command("unpin", "ID...", "take `pin` back", ids, unpin, ("recalld unpin 1a2b3c",)),
    Command("feedback", "ID VERDICT", "say whether a memory was useful, useless or missed", _feedback_options, feedback,
            ("recalld feedback 1a2b3c useful", "recalld feedback 1a2b3c missed")),
    Command("undo", "", "take back what was learnt last", nothing, undo, ("recalld undo",)),
)  # fmt: skip
