"""Commands that set up: install uninstall config doctor."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from recalld.cli import output
from recalld.cli.command import Command, yes
from recalld.errors import InputError
from recalld.paths import find


def _install_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-service", action="store_true", help="hooks start the daemon when they find none")
    parser.add_argument(
        "--client", default="claude-code", metavar="NAME", help="the program to register with (claude-code)"
    )


def install(arguments: argparse.Namespace) -> int:
    """Set recalld up for this user."""
    from recalld.install import setup

    options = setup.Options(service=not arguments.no_service, client=arguments.client)
    _tell(setup.install(options, backend_lines(), os.environ), as_json=arguments.json)
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
    yes(parser)


def uninstall(arguments: argparse.Namespace) -> int:
    """Take recalld out, after asking where data would go."""
    from recalld.install import setup

    question = f"delete all memories and settings in {find().data} for good?"
    if arguments.purge and not output.confirmed(question, given=arguments.yes):
        raise InputError("nothing was changed")
    _tell(setup.uninstall(os.environ, purge=arguments.purge), as_json=arguments.json)
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


def config(arguments: argparse.Namespace) -> int:
    """Show the settings, or change one."""
    from recalld.cli import config_file

    path = find().config
    if arguments.action == "set":
        changed = config_file.put(path, arguments.key, arguments.value)
        if arguments.json:
            output.print_json({"path": str(path), "key": arguments.key, "value": changed})
        else:
            print(f"{arguments.key} = {config_file.written(changed)} ({path})")
        return 0
    shown = config_file.effective(path)
    if arguments.json:
        output.print_json(shown)
    else:
        _show_settings(shown)
    return 0


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


def doctor(arguments: argparse.Namespace) -> int:
    """Check everything, after mending what can be mended where that is wanted; 1 where something is wrong."""
    from recalld import doctor as checks

    mended = checks.mend(find(), os.environ) if arguments.fix else []
    found = checks.examine(find(), os.environ)
    if arguments.json:
        rows = [check._asdict() for check in found]
        output.print_json({"mended": mended, "checks": rows} if arguments.fix else rows)
    else:
        for line in mended:
            print(output.safe(line))
        table = output.grid(4, 11, None)
        for check in found:
            mark = output.text("ok", "green") if check.ok else output.text("FAIL", "bold red")
            advice = f"\n-> {check.fix}" if check.fix and not check.ok else ""
            table.add_row(mark, output.text(check.check), output.text(check.detail + advice))
        output.show(table)
    return 0 if all(check.ok for check in found) else 1


COMMANDS = (
    Command("install", "[--no-service]", "register the hooks, set the service up, prove that a memory comes back",
            _install_options, install, ("recalld install", "recalld install --no-service")),
    Command("uninstall", "[--purge]", "take all of it out again; memories stay unless --purge", _uninstall_options,
            uninstall, ("recalld uninstall", "recalld uninstall --purge --yes")),
    Command("config", "show | set KEY VALUE", "the settings", _config_options, config,
            ("recalld config show", "recalld config set memory.notice false",
             "recalld config set privacy.words 'Bluebird,Project X'", "recalld config set projects.map.~/work/shop shop")),
    Command("doctor", "[--fix]", "check everything recalld depends on, and say what to do, or do it", _doctor_options,
            doctor, ("recalld doctor", "recalld doctor --fix", "recalld doctor --json")),
)  # fmt: skip
