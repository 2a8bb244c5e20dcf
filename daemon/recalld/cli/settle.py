"""Commands about what waits for the owner's word: conflicts resolve inbox confirm reject."""

from __future__ import annotations

import argparse
import functools
from typing import Any

from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.change import ask_before_many, say, say_each, short
from recalld.cli.command import Command, Told, here, ids, place, yes


def _of_project(parser: argparse.ArgumentParser) -> None:
    place(parser, "of this project: its NAME, a PATH in it, or all (default: the project of this folder)")


def conflicts(arguments: argparse.Namespace) -> Told:
    """Show what contradicts what."""
    return Told(ask("conflicts", project=arguments.project, cwd=here()), _show_conflicts)


def _show_conflicts(found: list[dict[str, Any]]) -> None:
    """Side by side."""
    if found:
        now = output.utc_now()
        parts: list[Any] = []
        for conflict in found:
            parts += [output.text(f"conflict {conflict['conflict_id']}", "bold"), _sides(conflict, now), ""]
        output.show(*parts, output.text("settle one with: recalld resolve NUMBER --keep A|B|both", "dim"))
    else:
        print("nothing contradicts anything here; `recalld conflicts --project all` looks everywhere")


def _sides(conflict: dict[str, Any], now: Any) -> Any:
    """Both memories in columns of one width, or one above the other where there is no room."""
    table = output.grid(None) if output.narrow() else output.grid(None, None)
    columns = []
    for side, name in (("A", "older"), ("B", "newer")):
        row = conflict[name]
        facts = [row["type"], output.day(row["last_seen"], now), f"by {row['origin']}", short(row["id"])]
        cell = output.text(f"{side}  {row['content']}", "" if name == "older" else "bold")
        cell.append(output.safe(f"\n   {', '.join(facts)}"), style="dim")
        columns.append(cell)
    for row in [[column] for column in columns] if output.narrow() else [columns]:
        table.add_row(*row)
    return table


def _resolve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "conflict", metavar="CONFLICT", type=_number, help="its number, as `recalld conflicts` shows it"
    )
    parser.add_argument("--keep", choices=("A", "B", "both"), required=True, help="A is the older one, B the newer")


def _number(text: str) -> int:
    return int(text.removeprefix("#"))


def resolve(arguments: argparse.Namespace) -> Told:
    """Settle a conflict."""
    return Told(ask("resolve", writes=True, conflict=arguments.conflict, keep=arguments.keep), _say_settled)


def _say_settled(settled: dict[str, list[dict[str, Any]]]) -> None:
    say_each("kept", settled["kept"])
    for row in settled["superseded"]:
        say("superseded", row, back=f"restore {short(row['id'])}")


def inbox(arguments: argparse.Namespace) -> Told:
    """Show what waits to be confirmed."""
    return Told(ask("inbox", project=arguments.project, cwd=here()), _show_inbox)


def _show_inbox(rows: list[dict[str, Any]]) -> None:
    if rows:
        known, now = output.shortened(row["id"] for row in rows), output.utc_now()
        advice = "answer with: recalld confirm ID... or recalld reject ID..."
        output.show(output.memory_table(rows, now, known, "confidence"), "", output.text(advice, "dim"))
    else:
        print("nothing waits for you here; `recalld inbox --project all` looks everywhere")


def confirm(arguments: argparse.Namespace) -> Told:
    """Let waiting memories count."""
    rows = ask("confirm", writes=True, ids=arguments.ids)
    return Told(rows, functools.partial(say_each, "holds now", back="archive"))


def _reject_options(parser: argparse.ArgumentParser) -> None:
    ids(parser)
    yes(parser)


def reject(arguments: argparse.Namespace) -> Told:
    """Delete waiting memories; more than one only after asking."""
    ask_before_many(arguments, "reject", "rejected")
    rows = ask("reject", writes=True, ids=arguments.ids)
    return Told(rows, functools.partial(say_each, "rejected, and will not be proposed again"))


COMMANDS = (
    Command("inbox", "", "what waits for your yes or no", _of_project, inbox,
            ("recalld inbox", "recalld inbox --project all")),
    Command("confirm", "ID...", "let memories of the inbox count", ids, confirm, ("recalld confirm 1a2b3c 4d5e6f",)),
    Command("reject", "ID...", "delete memories of the inbox; they are not proposed again", _reject_options,
            reject, ("recalld reject 1a2b3c", "recalld reject 1a2b3c 4d5e6f --yes")),
    Command("conflicts", "", "memories that cannot both hold, side by side", _of_project, conflicts,
            ("recalld conflicts", "recalld conflicts --project all")),
    Command("resolve", "CONFLICT --keep A|B|both", "settle a conflict; the other one is superseded, not erased",
            _resolve_options, resolve, ("recalld resolve 3 --keep B", "recalld resolve 3 --keep both")),
)  # fmt: skip
