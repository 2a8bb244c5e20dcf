"""Commands that set up: install uninstall config doctor."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recalld.cli import completion, output
from recalld.cli.command import Command, Told, yes
from recalld.errors import InputError
from recalld.paths import find


def _install_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-service", action="store_true", help="hooks start the daemon when they find none")
    parser.add_argument(
        "--client",
        default="claude-code",
        metavar="NAME",
        help="the program to register with: claude-code (default),"
        " or as an MCP server claude-desktop, cursor, codex, vscode, gemini",
    )


def install(arguments: argparse.Namespace) -> int:
    """Set recalld up for this user."""
    from recalld.install import setup

    options = setup.Options(service=not arguments.no_service, client=arguments.client)
    hint = f"completion in your shell: {completion.hint(os.environ.get('SHELL', ''))}"
    lines = setup.install(options, itertools.chain(backend_lines(), [hint]), os.environ)
    _tell(lines, as_json=arguments.json)
    return 0


def backend_lines() -> Iterator[str]:
    """Which extraction backend there is, and what it may spend a day."""
    from recalld import config, extract

    settings = config.load(find().config)
    choice = extract.choose(settings, os.environ)
    yield f"backend: {choice.reason}"
    if choice.backend != "rules":
        caps = settings.extract
        limits = [
            f"${caps.max_usd_per_day:.2f}" if choice.paid and caps.max_usd_per_day else "",
            f"{caps.max_tokens_per_day:,} tokens" if caps.max_tokens_per_day else "",
            f"{caps.max_calls_per_day:,} calls" if caps.max_calls_per_day else "",
        ]
        most = " and ".join(limit for limit in limits if limit) or "no limit"
        cost = "costs money" if choice.paid else "costs nothing extra"
        yield f"backend: it {cost}; at most a day: {most} (`recalld config set extract.max_calls_per_day N`)"


def _uninstall_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--purge", action="store_true", help="remove memories and settings too")
    parser.add_argument("--client", metavar="NAME", help="only take recalld out of this MCP client's settings")
    yes(parser)


def uninstall(arguments: argparse.Namespace) -> int:
    """Take recalld out, after asking where data would go."""
    from recalld.install import setup

    if arguments.client:
        _tell(setup.part(arguments.client, os.environ), as_json=arguments.json)
        return 0
    question = f"delete all memories and settings in {find().data} for good?"
    if arguments.purge and not output.confirmed(question, given=arguments.yes):
        raise InputError("nothing was changed")
    _tell(setup.uninstall(os.environ, purge=arguments.purge), as_json=arguments.json)
    return 0


def _upgrade_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", nargs="?", type=Path, metavar="SOURCE", help="a checkout or wheel to take it from")


def upgrade(arguments: argparse.Namespace) -> int:
    """Bring a newer version in."""
    from recalld.install import upgrade as newer

    try:
        _tell(newer.upgrade(arguments.source, os.environ), as_json=arguments.json)
    except newer.StepError as error:
        for line in error.said:
            print(line, file=sys.stderr)
        raise
    return 0


def _tell(lines: Iterator[str], *, as_json: bool) -> None:
    """Print lines as they come, or all of them as JSON. No import may follow: the last step may remove this program."""
    if not as_json:
        for line in lines:
            print(line, flush=True)
        return
    output.print_json(list(lines))


def _config_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="show|set", required=True, title="actions")
    show = actions.add_parser("show", help="all settings as they are in force", allow_abbrev=False)
    set_ = actions.add_parser("set", help="change one; the rest of the file stays as it is", allow_abbrev=False)
    set_.add_argument("key", metavar="KEY", help="as memory.notice, or projects.map.~/work/shop")
    set_.add_argument("value", metavar="VALUE", help="a word, number, true, false, or list with commas")
    for action in (show, set_):
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def config(arguments: argparse.Namespace) -> Told:
    """Show the settings, or change one."""
    from recalld import config as settings
    from recalld.cli import config_file

    path = find().config
    if arguments.action == "set":
        changed = config_file.put(path, arguments.key, arguments.value)
        if arguments.key == "hub.dsn":
            changed = settings.masked(str(changed))
        line = f"{arguments.key} = {config_file.written(changed)} ({path})"
        return Told({"path": str(path), "key": arguments.key, "value": changed}, lambda _: print(line))
    return Told(config_file.effective(path), _show_settings)


def _show_settings(shown: dict[str, Any]) -> None:
    from recalld.cli import config_file

    parts: list[Any] = [output.text(f"{shown['path']} (* set there; the rest are defaults)", "dim")]
    for section, values in shown["values"].items():
        parts += ["", output.text(f"[{section}]", "bold")]
        for key, value in values.items():
            own = f"{section}.{key}" in shown["set"]
            line = f"{'*' if own else ' '} {key} = {config_file.written(value)}"
            parts.append(output.text(line, "green" if own else ""))
    output.show(*parts)


def _doctor_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="first do what can be done without harm")


def doctor(arguments: argparse.Namespace) -> Told:
    """Check everything, after mending what can be mended where that is wanted; 1 where something is wrong."""
    from recalld import doctor as checks

    mended = checks.mend(find(), os.environ) if arguments.fix else []
    found = checks.examine(find(), os.environ)
    rows = [check._asdict() for check in found]
    data = {"mended": mended, "checks": rows} if arguments.fix else rows
    return Told(data, lambda _: _show_checks(mended, found), 0 if all(check.ok for check in found) else 1)


def _show_checks(mended: list[str], found: list[Any]) -> None:
    for line in mended:
        print(output.safe(line))
    table = output.grid(4, 11, None)
    for check in found:
        mark = output.text("ok", "green") if check.ok else output.text("FAIL", "bold red")
        advice = f"\n-> {check.fix}" if check.fix and not check.ok else ""
        table.add_row(mark, output.text(check.check), output.text(check.detail + advice))
    output.show(table)


COMMANDS = (
    Command("install", "[--no-service | --client NAME]", "register the hooks, set the service up, prove that a memory comes back",
            _install_options, install, ("recalld install", "recalld install --no-service", "recalld install --client cursor")),
    Command("uninstall", "[--purge | --client NAME]", "take all of it out again; memories stay unless --purge", _uninstall_options,
            uninstall, ("recalld uninstall", "recalld uninstall --purge --yes", "recalld uninstall --client cursor")),
    Command("upgrade", "[SOURCE]", "bring a newer version in; where it does not prove itself, this one goes on", _upgrade_options,
            upgrade, ("recalld upgrade", "recalld upgrade ~/src/recalld", "recalld upgrade ./recalld-0.2.0-py3-none-any.whl")),
    Command("config", "show | set KEY VALUE", "the settings", _config_options, config,
            ("recalld config show", "recalld config set memory.notice false",
             "recalld config set privacy.words 'Bluebird,Project X'", "recalld config set projects.map.~/work/shop shop")),
    Command("doctor", "[--fix]", "check everything recalld depends on, and say what to do, or do it", _doctor_options,
            doctor, ("recalld doctor", "recalld doctor --fix", "recalld doctor --json")),
)  # fmt: skip
