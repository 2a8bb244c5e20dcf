"""The command `stats`: one screen of counters."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable
from typing import Any

from recalld.cli import output
from recalld.cli.calls import ask
from recalld.cli.command import Command, Told, here, place, positive

DAYS = 30
SHOWN_DAYS = 14
BAR_COLUMNS = 16


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=positive, default=DAYS, metavar="N", help=f"over N days, with today ({DAYS})")
    place(parser, "only this project: its NAME or a PATH in it (default: all)")


def stats(arguments: argparse.Namespace) -> Told:
    """Show what was stored, given, used and spent."""
    found = ask("stats", days=arguments.days, project=arguments.project, cwd=here())
    title = f"{arguments.project or 'all projects'}, the last {output.plural(arguments.days, 'day')}"
    return Told(found, functools.partial(_show, title=title))


def _show(found: dict[str, Any], title: str) -> None:
    table = output.grid(11, None)
    for name, value in _lines(found):
        table.add_row(output.text(name, "dim"), output.text(value))
    parts: list[Any] = [output.text(title, "bold"), table]
    if found["by_day"]:
        parts += ["", _days(found["by_day"][-SHOWN_DAYS:])]
    output.show(*parts)


def _lines(found: dict[str, Any]) -> Iterable[tuple[str, str]]:
    memories, given, extraction = found["memories"], found["injections"], found["extraction"]
    status, jobs = memories["by_status"], found["jobs"]
    yield "memories", f"{status.get('active', 0):,} in force ({_list(memories['by_type'])})"
    yield "", f"{_list(memories['by_scope']) or 'none'}; {memories['pinned']:,} pinned"
    others = {name: number for name, number in status.items() if name != "active"}
    yield "", f"besides: {_list(others) or 'none'}; {output.plural(memories['conflicts'], 'open conflict')}"
    share = "not judged yet" if given["share_used"] is None else f"{given['share_used']:.0%} of those judged were used"
    yield "given", f"{given['given']:,} memories in {given['filled']:,} of {given['events']:,} injections; {share}"
    yield (
        "",
        f"{given['tokens']:,} tokens; {_latency(given['session_start'])} at a session's start, {_latency(given['prompt'])} a prompt",
    )
    if found["feedback"]:
        yield "feedback", _list(found["feedback"])
    yield "learnt from", output.plural(extraction["turns"], "turn")
    calls = (
        f"{output.plural(extraction['calls'], 'model call')}, {extraction['tokens']:,} tokens, ${extraction['usd']:.4f}"
    )
    yield "spent", calls + (f"; {_latency(extraction['call'])} a call" if extraction["calls"] else "")
    for part in ("by_backend", "by_project", "by_outcome"):
        if extraction["calls"]:
            spent = (f"{one['name']} {one['calls']:,} (${one['usd']:.4f})" for one in extraction[part])
            yield "", f"{part.replace('_', ' ')}: {', '.join(spent)}"
    yield "queue", ", ".join(f"{jobs[name]:,} {name}" for name in ("ready", "running", "done", "dead"))


def _days(days: list[dict[str, Any]]) -> Any:
    if output.narrow():
        table = output.grid(None)
        for day in days:
            facts = [
                f"{day[name]:,} {title}" for name, title in (("added", "new"), ("turns", "turns"), ("given", "given"))
            ]
            table.add_row(output.stacked(output.text(day["day"]), *facts, f"${day['usd']:.4f}"))
        return table
    table = output.grid(10, 6, 6, 10, 6, 6, 9, None)
    titles = ("day", "new", "turns", "injections", "given", "used", "spent", "")
    table.add_row(
        *(
            output.text(title.rjust(width), "dim")
            for title, width in zip(titles, (0, 6, 6, 10, 6, 6, 9, 0), strict=True)
        )
    )
    most = max(day["given"] for day in days) or 1
    for day in days:
        bar = "▇" * round(BAR_COLUMNS * day["given"] / most)
        table.add_row(
            output.text(day["day"]),
            *(output.text(f"{day[name]:,}".rjust(width)) for name, width in _NUMBERS),
            output.text(f"${day['usd']:.4f}".rjust(9)),
            output.text(bar, "blue"),
        )
    return table


_NUMBERS = (("added", 6), ("turns", 6), ("injections", 10), ("given", 6), ("used", 6))


def _list(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())


def _latency(times: dict[str, float]) -> str:
    return f"{times['p50_ms']:.1f} ms (p95 {times['p95_ms']:.1f}, p99 {times['p99_ms']:.1f})"


COMMANDS = (
    Command("stats", "[--days N]", "what was stored, given, used and spent, by day", _options, stats,
            ("recalld stats", "recalld stats --days 7 --project shop", "recalld stats --json")),
)  # fmt: skip
