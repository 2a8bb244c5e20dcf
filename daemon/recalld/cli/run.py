"""Commands about the daemon: run start stop restart pause resume logs maintain."""

from __future__ import annotations

import argparse
from typing import Any

from recalld.cli import output
from recalld.cli.calls import LONG_S, ask
from recalld.cli.command import Command, Told, nothing, positive
from recalld.paths import find


def run(arguments: argparse.Namespace) -> int:
    """Be the daemon."""
    from recalld.cli import foreground  # late: it brings the whole daemon

    return foreground.run(find(), debug=arguments.debug)


def start(arguments: argparse.Namespace) -> Told:
    """Start the daemon, unless it runs."""
    from recalld.install import control, running

    paths = find()
    paths.ensure()
    before = running.status(paths)
    pid = (before or control.start(paths))["pid"]
    line = f"{'runs already' if before else 'started'} (process {pid})"
    return Told({"started": before is None, "pid": pid}, lambda _: print(line))


def stop(arguments: argparse.Namespace) -> Told:
    """Stop the daemon, if it runs."""
    from recalld.install import control

    stopped = control.stop(find())
    return Told({"stopped": stopped}, lambda _: print("stopped" if stopped else "no daemon runs"))


def restart(arguments: argparse.Namespace) -> Told:
    """Stop the daemon, hung or not, and start it."""
    from recalld.install import control

    paths = find()
    paths.ensure()
    control.stop(paths)
    pid = control.start(paths)["pid"]
    return Told({"started": True, "pid": pid}, lambda _: print(f"started (process {pid})"))


def pause(arguments: argparse.Namespace) -> Told:
    """Switch giving and learning off."""
    return Told(ask("pause", writes=True), lambda _: print("paused: nothing is given or learnt until `recalld resume`"))


def resume(arguments: argparse.Namespace) -> Told:
    """Switch giving and learning on again."""
    return Told(ask("resume", writes=True), lambda _: print("goes on"))


def _logs_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--lines", type=positive, default=50, metavar="N", help="the last N lines (50)")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what is added, until Ctrl-C")


def logs(arguments: argparse.Namespace) -> Told:
    """Show the end of the log, and go on with it."""
    from recalld.cli import logfile

    path = find().log / logfile.NAME
    lines = logfile.last(path, arguments.lines)
    if arguments.follow:
        for line in logfile.followed(path, lines):
            print(line, flush=True)
    shown = "\n".join(lines) if lines else f"{path}: nothing was logged yet"
    return Told({"path": str(path), "lines": lines}, lambda _: print(shown))


def _maintain_options(parser: argparse.ArgumentParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--dry-run", action="store_true", help="only tell what would be done")
    choice.add_argument("--retry", action="store_true", help="only let extractions that gave up try again")


def maintain(arguments: argparse.Namespace) -> Told:
    """Do the upkeep, or tell what it would do."""
    if arguments.retry:
        answer = ask("retry", writes=True)
        lines = [f"{output.plural(answer['revived'], 'extraction')} will be tried again"]
    else:
        with output.waiting("backing up, checking, cleaning up"):
            answer = ask("maintain", writes=not arguments.dry_run, timeout_s=LONG_S, dry_run=arguments.dry_run)
        lines = _report(answer, dry_run=arguments.dry_run)
    return Told(answer, lambda _: print("\n".join(lines)))


def _report(report: dict[str, Any], *, dry_run: bool) -> list[str]:
    short = output.shortened(row["id"] for row in report["archived"])
    lines = [f"  {output.safe(row['content'])} ({short[row['id']]})" for row in report["archived"]]
    archived, were = len(report["archived"]), output.were(2, dry_run=dry_run)
    first = f"{output.plural(archived, 'memory', 'memories')} {output.were(archived, dry_run=dry_run)} archived"
    lines.insert(0, first)
    for digest in report["summaries"]:
        members = output.plural(len(digest["members"]), "memory", "memories")
        lines.append(f"{members} about {output.safe(digest['topic'])} {were} put into one summary:")
        lines.append(f"  {output.safe(digest['content'])}")
    counts = (
        output.plural(report["turns"], "old turn"),
        output.plural(report["receipts"], "old receipt"),
        output.plural(report["jobs"], "finished job"),
    )
    lines.append(f"{', '.join(counts)} {were} removed")
    if report["repaired"]:
        lines.append(f"indexes made anew: {', '.join(report['repaired'])}")
    if report["backup"]:
        lines.append(f"backup: {report['backup']}")
    return lines


COMMANDS = (
    Command("run", "", "be the daemon, in the foreground", nothing, run, ("recalld run",)),
    Command("start", "", "start the daemon and wait until it serves", nothing, start, ("recalld start",)),
    Command("stop", "", "stop the daemon; nothing is lost", nothing, stop, ("recalld stop",)),
    Command("restart", "", "stop it and start it", nothing, restart, ("recalld restart",)),
    Command("pause", "", "give and learn nothing until `resume`", nothing, pause, ("recalld pause",)),
    Command("resume", "", "take `pause` back", nothing, resume, ("recalld resume",)),
    Command("logs", "", "what the daemon has logged", _logs_options, logs, ("recalld logs -n 200", "recalld logs -f")),
    Command("maintain", "", "the daily upkeep, now: archive, clean up, back up, check", _maintain_options, maintain,
            ("recalld maintain --dry-run", "recalld maintain --retry")),
)  # fmt: skip
