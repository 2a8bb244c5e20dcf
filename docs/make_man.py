"""Writes the manual page, docs/recalld.1, from the commands themselves: `.venv/bin/python docs/make_man.py`."""

from __future__ import annotations

import argparse
from pathlib import Path

from recalld.cli.command import Command
from recalld.cli.main import GROUPS, parser

PAGE = Path(__file__).parent / "recalld.1"

HEAD = r""".TH RECALLD 1 "" "recalld" "User Commands"
.SH NAME
recalld \- long\-term memory for Claude Code
.SH SYNOPSIS
.B recalld
.I COMMAND
.RI [ ARGUMENTS ]
.RB [ \-\-json ]
.SH DESCRIPTION
Claude Code forgets everything between sessions.
.B recalld
remembers what was said and decided, one sentence a memory, and gives back the few that matter: at the start of a session
and with each prompt. Hooks of Claude Code talk to a daemon on this machine over a Unix socket; it keeps an SQLite
database. These commands show, change, carry and share what is remembered.
.PP
Ids may be shortened, as in git. Lists are about the project of the working directory;
.B \-\-project all
shows every one. Every command takes
.B \-\-json
and
.BR \-\-help .
"""
TAIL = r""".SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
failed, with one line on stderr
.TP
.B 2
wrong use
.TP
.B 78
the database was written by a newer recalld
.TP
.B 130
interrupted
.SH ENVIRONMENT
.TP
.B RECALLD_HOME
keeps everything in this one folder
.TP
.B RECALLD_DISABLE
set to 1, every hook of that session does nothing
.TP
.B CLAUDE_CONFIG_DIR
where Claude Code has its settings
.TP
.B NO_COLOR
no colours
.SH FILES
.TP
.I ~/.config/recalld/config.toml
settings
.TP
.I ~/.local/share/recalld/memories.db
memories (SQLite), beside
.IR backups/ " and " models/
.TP
.I ~/.local/state/recalld/
.IR log/ " and " spool/
.PP
On macOS all of these are in
.IR "~/Library/Application Support/recalld" .
.SH SEE ALSO
.BR claude (1),
.BR sqlite3 (1)
"""


def page() -> str:
    """The whole page in roff."""
    parts = [HEAD, ".SH COMMANDS\n"]
    for title, commands in GROUPS:
        parts.append(f".SS {title}\n")
        parts += [_entry(command) for command in commands]
    return "".join([*parts, TAIL])


def _entry(command: Command) -> str:
    usage = f" {_text(command.usage)}" if command.usage else ""
    lines = [
        f'.TP\n.BR "{_text(command.name)}" "{usage}"\n{_text(command.summary[0].upper() + command.summary[1:])}.\n'
    ]
    actions = parser(command)._actions
    options = [action for action in actions if action.option_strings and action.dest not in
               ("help", "json", "debug") and action.help not in (None, argparse.SUPPRESS)]  # fmt: skip
    parts = [
        one for action in actions if isinstance(action, argparse._SubParsersAction) for one in action._choices_actions
    ]
    if options or parts:
        lines.append(".RS\n")
        lines += [f".TP\n.B {_text(one.dest)}\n{_text(one.help or '')}\n" for one in parts]
        for action in options:
            value = f" {action.metavar}" if action.metavar else ""
            lines.append(
                f".TP\n.B {_text(', '.join(action.option_strings) + str(value))}\n{_text(action.help or '')}\n"
            )
        lines.append(".RE\n")
    return "".join(lines)


def _text(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("%%", "%").removeprefix(".")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
