"""The command `completion`: prints what a shell needs to finish words of `recalld`, made from the commands themselves."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Iterable
from typing import Any

from recalld.cli.command import Command, Told
from recalld.paths import find

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "complete.py")
KINDS = {"ID": "ids", "PROJECT": "projects", "INTO": "projects", "NAME|PATH": "projects", "NAME|PATH|all": "projects"}
FILES = ("FILE", "PATH", "FOLDER")

# A shell calls `__recalld` with the words behind `recalld`; what it prints are lines of word, tab, meaning.
_COMMON = """\
__recalld() {{
    command {python} -I -S {script} {socket} "$@" 2>/dev/null <<'TABLE'
{table}
TABLE
}}
"""
BASH = (
    _COMMON
    + """\
__recalld_bash() {{
    local line words
    words=("${{COMP_WORDS[@]:1:COMP_CWORD}}")
    COMPREPLY=()
    while IFS=$'\\t' read -r line _; do
        if [ "$line" = ':files' ]; then compopt -o default; return; fi
        COMPREPLY+=("$(printf %q "$line")")
    done < <(__recalld "${{words[@]}}")
}}
complete -F __recalld_bash recalld
"""
)
ZSH = (
    "#compdef recalld\n"
    + _COMMON
    + """\
_recalld() {{
    local line
    local -a found shown
    while IFS=$'\\t' read -r line meaning; do
        if [[ "$line" == ':files' ]]; then _files; return; fi
        found+=("$line")
        shown+=("$line${{meaning:+  -- $meaning}}")
    done < <(__recalld "${{(@Q)words[2,CURRENT]}}")
    (( ${{#found}} )) && compadd -l -d shown -a found
}}
if [[ "$zsh_eval_context[-1]" == loadautofunc ]]; then _recalld "$@"; else compdef _recalld recalld; fi
"""
)
FISH = """\
function __recalld
    set -l words (commandline -opc) (commandline -ct)
    set -l found (printf %s {table} | command {python} -I -S {script} {socket} $words[2..-1] 2>/dev/null)
    if test "$found[1]" = ':files'
        __fish_complete_path (commandline -ct)
    else if set -q found[1]
        printf '%s\\n' $found
    end
end
complete -c recalld -f -a '(__recalld)'
"""
SHELLS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
HOW = {
    "bash": "recalld completion bash > ~/.local/share/bash-completion/completions/recalld",
    "zsh": "recalld completion zsh > ~/.zfunc/_recalld    (with ~/.zfunc in $fpath before compinit)",
    "fish": "recalld completion fish > ~/.config/fish/completions/recalld.fish",
}


def script(shell: str, commands: Iterable[tuple[Command, argparse.ArgumentParser]]) -> str:
    """What `shell` reads. The paths in it are those that outlive an upgrade."""
    from recalld.install import assets  # late: every command imports this module

    quote = _fish_quoted if shell == "fish" else shlex.quote
    text = json.dumps(table(commands), separators=(",", ":"))
    inside = SCRIPT.startswith(sys.prefix + os.sep)
    lasting = str(assets.prefix() / os.path.relpath(SCRIPT, sys.prefix)) if inside else SCRIPT
    return SHELLS[shell].format(
        python=quote(str(assets.interpreter())), script=quote(lasting), socket=quote(str(find().socket)),
        table=quote(text) if shell == "fish" else text,
    )  # fmt: skip


def table(commands: Iterable[tuple[Command, argparse.ArgumentParser]]) -> dict[str, Any]:
    """Commands, their options, and what may stand where, as `complete.py` reads it."""
    actions = {command.name: _spec(parser, command.summary) for command, parser in commands}
    return {"summary": "", "options": {}, "actions": actions, "places": [], "more": False}


def _spec(parser: argparse.ArgumentParser, summary: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    actions: dict[str, Any] = {}
    places: list[Any] = []
    more = False
    for action in parser._actions:  # noqa: SLF001  # argparse tells of its arguments in no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            actions = {name: _spec(sub, helps.get(name, "")) for name, sub in action.choices.items()}
        elif action.option_strings:
            takes = None if action.nargs == 0 else _kind(action)
            if action.help != argparse.SUPPRESS:
                options |= {flag: [action.help or "", takes] for flag in action.option_strings}
        else:
            places.append(_kind(action))
            more = action.nargs in ("+", "*")
    return {"summary": summary, "options": options, "actions": actions, "places": places, "more": more}


def _kind(action: argparse.Action) -> Any:
    """What a value may be: words with their meaning, or a kind that is asked for."""
    if action.choices is not None:
        return [[str(choice), ""] for choice in action.choices]
    name = str(action.metavar or "")
    if name in KINDS:
        return KINDS[name]
    return "files" if any(part in FILES for part in name.split("|")) else ""


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def hint(shell_path: str) -> str:
    """How to switch it on in the shell at this path; in bash where that is none that we know."""
    shell = os.path.basename(shell_path)
    return HOW.get(shell, HOW["bash"])


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="what it prints belongs into a file, see the examples")


def completion(arguments: argparse.Namespace) -> Told:
    """Print the script."""
    from recalld.cli import main  # late: it imports this module

    made = script(arguments.shell, ((command, main.parser(command)) for command in main.COMMANDS.values()))
    return Told({"shell": arguments.shell, "script": made}, lambda told: print(told["script"], end=""))


COMMANDS = (
    Command("completion", "bash | zsh | fish", "what lets your shell finish commands, ids and project names", _options,
            completion, tuple(HOW.values())),
)  # fmt: skip
