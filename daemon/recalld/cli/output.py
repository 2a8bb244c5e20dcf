"""How things look on a terminal. Colours go away where there is no terminal or NO_COLOR is set; wide characters line up."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

Row = dict[str, Any]

PIPE_WIDTH = 110
"""Columns where no terminal says how many it has."""
NARROW = 64
SHORT_DIGITS = 6
MOST_CHARS = 300
"""Of a memory in a list on a terminal."""
MOST_IDS = 3
"""In a remark; of more, only the number is told."""
STYLES = {
    "fact": "blue",
    "preference": "magenta",
    "decision": "green",
    "lesson": "yellow",
    "progress": "cyan",
    "summary": "white",
}
# What would move the cursor, change colours or turn the reading direction round.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def print_json(data: Any) -> None:
    """`data` as JSON; beyond ASCII only where the terminal or file takes it."""
    print(json.dumps(data, ensure_ascii=not wide(), indent=2))


def wide() -> bool:
    """Whether stdout takes more than ASCII."""
    return sys.stdout is not None and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def narrow() -> bool:
    """Whether a table has no room here: each row is put one thing above the other then."""
    return bool(console().width < NARROW)


@cache
def console() -> Console:
    """Where tables go: stdout."""
    from rich.console import Console  # late: it takes longer to import than a command to run

    width = None if sys.stdout is not None and sys.stdout.isatty() else int(os.environ.get("COLUMNS") or PIPE_WIDTH)
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def show(*parts: Any) -> None:
    """Print texts and tables, without blanks at the ends of lines."""
    with console().capture() as captured:
        for part in parts:
            console().print(part)
    lines = captured.get().splitlines()
    print("\n".join(line.rstrip() if "\x1b" not in line else line for line in lines))


def text(content: str, style: str = "") -> Text:
    """`content` as it stands, whatever it holds."""
    from rich.text import Text

    return Text(safe(content), style=style)


def safe(content: str) -> str:
    """`content` without what a terminal would obey."""
    return _CONTROL.sub("\ufffd", content)


def grid(*widths: int | None) -> Table:
    """A table without lines; a width of None takes what is left, and wraps."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2), expand=True)
    for width in widths:
        table.add_column(width=width, ratio=None if width else 1, no_wrap=bool(width), overflow="fold")
    return table


def stacked(content: Text, *facts: str) -> Text:
    """A row where it is `narrow`: what it is about, and the rest on a line below."""
    content.append(safe("\n  " + " · ".join(fact for fact in facts if fact)), style="dim")
    return content


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """Each id cut to the fewest digits (SHORT_DIGITS at least) that tell it from the others."""
    known = sorted(set(ids))
    short = {}
    for number, whole in enumerate(known):
        beside = [known[at] for at in (number - 1, number + 1) if 0 <= at < len(known)]
        common = max((_common(whole, other) for other in beside), default=0)
        short[whole] = whole[: max(len("m-") + SHORT_DIGITS, common + 1)]
    return short


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def day(stamp: str | None, now: datetime) -> str:
    """A timestamp as one would say it: `14:05` today, `yesterday`, `12 Mar`, `Mar 2025`; `-` for none."""
    if not stamp:
        return "-"
    at, today = datetime.fromisoformat(stamp).astimezone(), now.astimezone()
    days = (today.date() - at.date()).days
    if days == 0:
        return f"{at:%H:%M}"
    if days == 1:
        return "yesterday"
    return f"{at.day} {at:%b}" if abs(days) < 300 else f"{at:%b %Y}"


def whole_time(stamp: str | None) -> str:
    """A timestamp in full, in local time."""
    return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}" if stamp else "-"


def duration(seconds: float) -> str:
    """`42 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{int(seconds)} s"


def plural(number: int, noun: str, many: str = "") -> str:
    """`1 memory`, `2 memories`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def were(number: int, *, dry_run: bool) -> str:
    """The verb behind so many things to which something is done."""
    return "would be" if dry_run else "was" if number == 1 else "were"


def utc_now() -> datetime:
    """The clock of the command line."""
    return datetime.now(UTC)


def memory_table(rows: Sequence[Row], now: datetime, short: dict[str, str], measure: str) -> Table:
    """A line or more a memory: type, content with what is notable of it, date, `measure` (a field), id."""
    widths = (10, None, 9, 5, max((len(short[row["id"]]) for row in rows), default=8))
    table = grid(None) if narrow() else grid(*widths)
    for row in rows:
        value = row.get(measure)
        number = f"{value:.2f}" if isinstance(value, float) else f"{value}x" if value else ""
        if narrow():
            facts = (row["type"], day(row["last_seen"], now), number, short[row["id"]])
            table.add_row(stacked(described(row, short), *facts))
            continue
        table.add_row(
            text(row["type"], STYLES.get(row["type"], "")),
            described(row, short),
            text(day(row["last_seen"], now), "dim"),
            text(number.rjust(5), "dim"),
            text(short[row["id"]], "cyan"),
        )
    return table


def described(row: Row, short: dict[str, str]) -> Text:
    """The content, and behind it what is notable: status, conflict, end, tags."""
    line = text(_first(row["content"]) or "(deleted)")
    if row["status"] != "active":
        line.append(f"  [{row['status']}]", style="yellow")
    if row["conflicts"]:
        ids = [short.get(other, other[: len("m-") + SHORT_DIGITS]) for other in row["conflicts"]]
        others = ", ".join(ids) if len(ids) <= MOST_IDS else f"{len(ids)} others"
        line.append(f"  (in conflict with {others})", style="red")
    if row["confidence"] < 0.6:
        line.append("  (unsure)", style="yellow")
    if row["expires_at"]:
        line.append(f"  (until {whole_time(row['expires_at'])})", style="dim")
    if row["tags"]:
        line.append(safe("  " + " ".join(f"#{tag}" for tag in row["tags"])), style="dim")
    return line


def _first(content: str) -> str:
    """As much of a long content as a list on a terminal has room for; files and pipes get it whole."""
    if len(content) <= MOST_CHARS + 50 or not (sys.stdout and sys.stdout.isatty()):
        return content
    kept = content[:MOST_CHARS].rstrip()
    return f"{kept}... ({len(content) - len(kept):,} more characters: `recalld show`)"


@contextlib.contextmanager
def progress(doing: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on the terminal, where there is one and something to do; the block's function moves it on."""
    if not (total and sys.stderr and sys.stderr.isatty()):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda number: bar.advance(task, number)


@contextlib.contextmanager
def waiting(doing: str) -> Iterator[None]:
    """A sign of life on the terminal, where there is one, while something takes as long as it takes."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(doing):
        yield


def confirmed(question: str, *, given: bool) -> bool:
    """Whether the person at the terminal says yes; also where `--yes` was given or nobody is there to ask."""
    if given or not someone():
        return True
    print(f"recalld: {question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes", "j", "ja", "是")


def someone() -> bool:
    """Whether a person can see a question and answer it."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())
