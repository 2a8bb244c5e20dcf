"""The command `recalld`: finds the command, runs it, and turns whatever goes wrong into one line and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

from recalld import __version__
from recalld.cli import (
    backups,
    carry,
    change,
    completion,
    encrypt,
    hub,
    init,
    judge,
    mcp,
    order,
    output,
    projects,
    run,
    see,
    settle,
    setup,
    stats,
    ui,
)
from recalld.cli.command import Command
from recalld.errors import RecalldError

GROUPS: tuple[tuple[str, tuple[Command, ...]], ...] = (
    ("see", (*see.COMMANDS, *stats.COMMANDS)),
    ("settle", settle.COMMANDS),
    ("change", (*change.COMMANDS, *order.COMMANDS, *projects.COMMANDS)),
    ("carry", (*carry.COMMANDS, *backups.COMMANDS)),
    ("run", (*run.COMMANDS, *encrypt.COMMANDS, *hub.COMMANDS, *mcp.COMMANDS, *ui.COMMANDS)),
    ("set up", (*setup.COMMANDS, *init.COMMANDS, *completion.COMMANDS)),
    ("judge", judge.COMMANDS),
)
COMMANDS = {command.name: command for _, commands in GROUPS for command in commands}

_GLOBAL = ("--json", "--debug")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 failed, 2 wrong use, 78 a newer database, 130 interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words or bool(os.environ.get("RECALLD_DEBUG"))
    # To change the stdout of `mcp` would write what is in its buffer, a library's words, to the client.
    for stream in (sys.stderr,) if words[:1] == ["mcp"] else (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # closed, or a test's
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = _dispatch(words)
        if sys.stdout:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader has seen enough. Python would complain once more on flushing at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:  # noqa: BLE001  # the last to catch: no traceback reaches a user who did not ask for it
        if debug:
            import traceback

            traceback.print_exc()
        _complain(_line(error))
        return 1


def _dispatch(words: list[str]) -> int:
    first = [word for word in words if word not in _GLOBAL][:1]
    if not first or first[0] in ("-h", "--help", "help"):
        named = [word for word in words if word in COMMANDS]
        if first == ["help"] and named:
            parser(COMMANDS[named[0]]).print_help()
        else:
            print(overview())
        return 0
    if first[0] in ("-V", "--version"):
        print(f"recalld {__version__}")
        return 0
    command = COMMANDS.get(first[0])
    if command is None:
        _complain(f"{first[0]!r} is no command{_nearest(first[0])}; `recalld` lists them")
        return 2
    words.remove(first[0])
    arguments = parser(command).parse_args(words)
    done = command.run(arguments)
    if isinstance(done, int):
        return done
    if arguments.json:
        output.print_json(done.data)
    else:
        done.show(done.data)
    return done.code


def parser(command: Command) -> argparse.ArgumentParser:
    """What reads the arguments of a command."""
    made = argparse.ArgumentParser(
        prog=f"recalld {command.name}",
        description=command.summary[0].upper() + command.summary[1:] + ".",
        epilog="examples:\n" + "\n".join(f"  {example}" for example in command.examples),
        formatter_class=_Manual,
        allow_abbrev=False,
    )
    command.options(made)
    made.add_argument("--json", action="store_true", help="print the data as JSON")
    made.add_argument("--debug", action="store_true", help="show where an error comes from")
    return made


class _Manual(argparse.RawDescriptionHelpFormatter):
    """Examples as they stand, everything else as wide as the terminal is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        return super(argparse.RawDescriptionHelpFormatter, self)._fill_text(text, width, indent)


def overview() -> str:
    """All commands by group, like a manual page, as wide as the terminal is."""
    import shutil  # late, as all that only this page needs
    import textwrap

    columns = min(shutil.get_terminal_size((120, 24)).columns, 120)
    names = {command.name: f"{command.name} {command.usage}".strip() for command in COMMANDS.values()}
    width = max(map(len, names.values()))
    width = width if columns - width >= 60 else 4  # else what a command does stands below it
    title = "recalld - long-term memory for Claude Code"
    lines = [*textwrap.wrap(title, columns), "", *textwrap.wrap("usage: recalld COMMAND [ARGUMENTS] [--json]", columns)]
    for title, commands in GROUPS:
        lines += ["", title]
        for command in commands:
            first = f"  {names[command.name]:<{width}}  "
            below = " " * (width + 4)
            if width == 4:
                lines += textwrap.wrap(names[command.name], columns, initial_indent="  ", subsequent_indent="    ")
                first = below
            lines += textwrap.wrap(command.summary, columns, initial_indent=first, subsequent_indent=below)
    closing = (
        "`recalld COMMAND --help` tells more of each, with examples. Ids may be shortened, as in git. Lists are about the "
        "project of this folder; `--project all` shows every one. Exit codes: 0 done, 1 failed, 2 wrong use."
    )
    return "\n".join([*lines, "", *textwrap.wrap(closing, columns)])


def _nearest(word: str) -> str:
    import difflib  # late: for a slip only

    near = difflib.get_close_matches(word, COMMANDS, 1)
    return f", but {near[0]!r} is" if near else ""


def _line(error: Exception) -> str:
    """The error as one line that a user can act on."""
    if isinstance(error, RecalldError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"failed unexpectedly: {type(error).__name__}: {error}; `--debug` shows where, `recalld logs` what the daemon did"


def _complain(line: str) -> None:
    print(f"recalld: {' '.join(line.split())}", file=sys.stderr)
