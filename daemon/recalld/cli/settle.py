"""Commands about what waits for the owner's word: conflicts resolve inbox confirm reject."""

from __future__ import annotations

import argparse
from typing import Any

from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.change import say, short
from recalld.cli.command import Command, here, ids, place


def _of_project(parser: argparse.ArgumentParser) -> None:
    place(parser, "of this project: its NAME, a PATH in it, or all (default: the project of this folder)")


def conflicts(arguments: argparse.Namespace) -> int:
    """Show what contradicts what, side by side."""
    found = ask("conflicts", project=arguments.project, cwd=here())
    if arguments.json:
        output.print_json(found)
    elif found:
        now = output.utc_now()
        parts: list[Any] = []
        for conflict in found:
            parts += [output.text(f"conflict {conflict['conflict_id']}", "bold"), _sides(conflict, now), ""]
        output.show(*parts, output.text("settle one with: recalld resolve NUMBER --keep A|B|both", "dim"))
    else:
        print("nothing contradicts anything here; `recalld conflicts --project all` looks everywhere")
    return 0


def _sides(conflict: dict[str, Any], now: Any) -> Any:
    """Both memories in columns of one width."""
    table = output.grid(None, None)
    columns = []
    for side, name in (("A", "older"), ("B", "newer")):
        row = conflict[name]
        facts = [row["type"], output.day(row["last_seen"], now), f"by {row['origin']}", short(row["id"])]
        cell = output.text(f"{side}  {row['content']}", "" if name == "older" else "bold")
        cell.append(output.safe(f"\n   {', '.join(facts)}"), style="dim")
        columns.append(cell)
    table.add_row(*columns)
    return table


def _resolve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "conflict", metavar="CONFLICT", type=_number, help="its number, as `recalld conflicts` shows it"
    )
    parser.add_argument("--keep", choices=("A", "B", "both"), required=True, help="A is the older one, B the newer")


def _number(text: str) -> int:
    return int(text.removeprefix("#"))


def resolve(arguments: argparse.Namespace) -> int:
    """Settle a conflict."""
    settled = ask("resolve", writes=True, conflict=arguments.conflict, keep=arguments.keep)
    if arguments.json:
        output.print_json(settled)
        return 0
    for row in settled["kept"]:
        say("kept", row)
    for row in settled["superseded"]:
        say("superseded", row)
        print(f"take it back with: recalld restore {short(row['id'])}")
    return 0


def inbox(arguments: argparse.Namespace) -> int:
    """Show what waits to be confirmed."""
    rows = ask("inbox", project=arguments.project, cwd=here())
    if arguments.json:
        output.print_json(rows)
    elif rows:
        known, now = output.shortened(row["id"] for row in rows), output.utc_now()
        advice = "answer with: recalld confirm ID... or recalld reject ID..."
        output.show(output.memory_table(rows, now, known, "confidence"), "", output.text(advice, "dim"))
    else:
        print("nothing waits for you here; `recalld inbox --project all` looks everywhere")
    return 0


def confirm(arguments: argparse.Namespace) -> int:
    """Let waiting memories count."""
    return _answer(arguments, "confirm", "holds now", "recalld archive")


def reject(arguments: argparse.Namespace) -> int:
    """Delete waiting memories."""
    return _answer(arguments, "reject", "rejected, and will not be proposed again", "")


def _answer(arguments: argparse.Namespace, verb: str, done: str, back: str) -> int:
    rows = ask(verb, writes=True, ids=arguments.ids)
    if arguments.json:
        output.print_json(rows)
        return 0
    for row in rows:
        say(done, row)
    if back and rows:
        print(f"take it out of force with: {back} {' '.join(short(row['id']) for row in rows)}")
    return 0


COMMANDS = (
    Command("inbox", "", "what waits for your yes or no", _of_project, inbox,
            ("recalld inbox", "recalld inbox --project all")),
    Command("confirm", "ID...", "let memories of the inbox count", ids, confirm, ("recalld confirm 1a2b3c 4d5e6f",)),
    Command("reject", "ID...", "delete memories of the inbox; they are not proposed again", ids, reject,
            ("recalld reject 1a2b3c",)),
    Command("conflicts", "", "memories that cannot both hold, side by side", _of_project, conflicts,
            ("recalld conflicts", "recalld conflicts --project all")),
    Command("resolve", "CONFLICT --keep A|B|both", "settle a conflict; the other one is superseded, not erased",
            _resolve_options, resolve, ("recalld resolve 3 --keep B", "recalld resolve 3 --keep both")),
)  # fmt: skip
