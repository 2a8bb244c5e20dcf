"""The actions of `hub` that are about the hub itself and its members: init members audit export."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from recalld import __version__
from recalld.cli import output
from recalld.cli.command import Told, positive, yes
from recalld.cli.hub_link import action, agree, secret, settings
from recalld.ends import when
from recalld.errors import RecalldError
from recalld.paths import find

ADMIN = "RECALLD_HUB_ADMIN_DSN"
ROLES = ("member", "maintainer", "owner")


def init_options(parser: argparse.ArgumentParser) -> None:
    """Of `hub init`."""
    parser.add_argument("dsn", nargs="?", metavar="DSN", help=f"of who may create roles and schemas there; else {ADMIN},"
                        " else asked for; `-` reads it from stdin")  # fmt: skip
    parser.add_argument("--org", required=True, metavar="NAME", help="the organisation: a team, or just you")
    parser.add_argument("--member", metavar="NAME", help="its first owner (your user name)")
    parser.add_argument("--dry-run", action="store_true", help="only print the SQL")


def init(arguments: argparse.Namespace) -> Told:
    """Make a hub, or bring one up to date."""
    import getpass

    from recalld.hub import admin  # late: it brings PostgreSQL's library

    dsn = secret(arguments.dsn or os.environ.get(ADMIN), "the administrator's address (DSN) of the database")
    if arguments.dry_run:
        return Told({"sql": admin.init_sql(dsn)}, lambda told: print(told["sql"]))
    member = arguments.member or getpass.getuser()
    made = admin.init(dsn, org=arguments.org, member=member, program=f"recalld {__version__}")
    return Told(_plain(made), _say_made)


def _say_made(made: dict[str, Any]) -> None:
    steps = ", ".join(made["applied"])
    print(f"the hub is up to date ({steps})" if steps else "the hub was up to date")
    if made["join"]:
        _say_join(made["join"], f"{made['org']} is made, and you are its owner; on each machine of yours")
    else:
        print(f"{made['org']} was there already; a member whose address was lost gets a new one from an owner:")
        print("`recalld hub members rotate NAME`. Where no owner has one, docs/hub.md says what the administrator does")


def _plain(data: Any) -> Any:
    """As JSON has it."""
    import msgspec  # late: every command imports this module

    return msgspec.to_builtins(data)


def _say_join(dsn: str, who: str) -> None:
    print(f"{who}, `recalld hub join` asks for this address (it holds a password: keep it as one):\n\n  {dsn}\n")


def members_options(parser: argparse.ArgumentParser) -> None:
    """Of `hub members`."""
    actions = parser.add_subparsers(dest="change", metavar="add|remove|role|rotate", title="actions (none: list them)")
    action(actions, "add", "add a member; prints what they need to join", _add_options, _add)
    action(actions, "remove", "let a member in no more", _remove_options, _remove)
    action(actions, "role", "say what a member may do", _role_options, _role)
    action(actions, "rotate", "a new password: yours, or with a name theirs", _rotate_options, _rotate)


def members(arguments: argparse.Namespace) -> Told:
    """List the members."""
    from recalld.hub import admin

    hub = settings()
    return Told(_plain(admin.members(hub.dsn, hub.passfile)), _show_members)


def _show_members(rows: list[dict[str, Any]]) -> None:
    table = output.grid(16, 11, 10, None)
    now = output.utc_now()
    for row in rows:
        removed = row.get("removed_at")
        seen = f"removed {output.day(removed, now)}" if removed else output.day(row.get("last_seen_at"), now)
        table.add_row(output.text(row["name"], "dim" if removed else "bold"), output.text(row["role"]),
                      output.text(seen, "dim"), output.text(", ".join(row.get("devices") or ())))  # fmt: skip
    output.show(table)


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the member")


def _add_options(parser: argparse.ArgumentParser) -> None:
    _named(parser)
    parser.add_argument("--role", choices=ROLES, default="member", help="maintainers write for the org, too (member)")


def _add(arguments: argparse.Namespace) -> Told:
    from recalld.hub import admin

    hub = settings()
    dsn = admin.add(hub.dsn, arguments.name, arguments.role, hub.passfile)
    told = {"name": arguments.name, "role": arguments.role, "join": dsn}
    return Told(told, lambda _: _say_join(dsn, f"{arguments.name} is a member now; on each machine of theirs"))


def _remove_options(parser: argparse.ArgumentParser) -> None:
    _named(parser)
    parser.add_argument("--erase", action="store_true", help="delete all that came from them, too")
    yes(parser)


def _remove(arguments: argparse.Namespace) -> Told:
    from recalld.hub import admin

    also = ", and delete all that came from them" if arguments.erase else ""
    agree(f"let {arguments.name} in no more{also}?", given=arguments.yes)
    hub = settings()
    admin.remove(hub.dsn, arguments.name, erase=arguments.erase, passfile=hub.passfile)
    gone = "; what came from them is deleted" if arguments.erase else "; what they shared stays"
    return Told({"name": arguments.name, "erased": arguments.erase},
                lambda _: print(f"{arguments.name} is no member any more{gone}"))  # fmt: skip


def _role_options(parser: argparse.ArgumentParser) -> None:
    _named(parser)
    parser.add_argument("role", choices=ROLES, metavar="ROLE", help=", ".join(ROLES))


def _role(arguments: argparse.Namespace) -> Told:
    from recalld.hub import admin

    hub = settings()
    admin.set_role(hub.dsn, arguments.name, arguments.role, hub.passfile)
    told = {"name": arguments.name, "role": arguments.role}
    return Told(told, lambda _: print(f"{arguments.name} is {arguments.role} now"))


def _rotate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="another member (default: you)")


def _rotate(arguments: argparse.Namespace) -> Told:
    from recalld.cli import config_file  # late: it brings tomlkit
    from recalld.hub import admin

    hub = settings()
    dsn = admin.rotate(hub.dsn, arguments.name, hub.passfile)
    if arguments.name is None:
        try:
            config_file.put(find().config, "hub.dsn", dsn)
        except (RecalldError, OSError) as error:  # the old one is void, and this one is nowhere else
            print(f"recalld: {error}; `recalld hub join` takes the new address", file=sys.stderr)
    who = "the other machines of yours" if arguments.name is None else f"the machines of {arguments.name}"
    return Told({"name": arguments.name, "join": dsn}, lambda _: _say_join(dsn, f"the old password is void; on {who}"))


def audit_options(parser: argparse.ArgumentParser) -> None:
    """Of `hub audit`."""
    parser.add_argument("--since", type=when, metavar="WHEN", help="2026-01-31 or 90d: only from then on")
    parser.add_argument("--limit", type=positive, default=50, metavar="N", help="at most N, the newest (50)")


def audit(arguments: argparse.Namespace) -> Told:
    """Tell who did what."""
    from recalld.hub import admin
    from recalld.verbs.memories import point

    hub = settings()
    since = point(arguments.since, output.utc_now(), -1) if arguments.since else None
    return Told(_plain(admin.audit(hub.dsn, since, arguments.limit, hub.passfile)), _show_audit)


def _show_audit(rows: list[dict[str, Any]]) -> None:
    table = output.grid(16, 22, 14, None)
    for row in rows:
        what = " ".join(str(row[part]) for part in ("about", "stream", "id") if row.get(part))
        who = "/".join(filter(None, (row["member"], row["device"]))) or "-"
        table.add_row(output.text(output.whole_time(row["at"]), "dim"), output.text(who),
                      output.text(row["action"]), output.text(what))  # fmt: skip
    output.show(table)


def export_options(parser: argparse.ArgumentParser) -> None:
    """Of `hub export`."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="readable by you only (default: stdout)")


def export(arguments: argparse.Namespace) -> Told:
    """Give all that the hub has of this member."""
    import json

    from recalld.cli.carry import write
    from recalld.hub import admin

    hub = settings()
    data = _plain(admin.export(hub.dsn, hub.passfile))
    if arguments.file is None:
        return Told(data, output.print_json)
    write(arguments.file, [json.dumps(data, ensure_ascii=False, indent=2)])
    return Told({"path": str(arguments.file)}, lambda told: print(f"all that the hub has of you is in {told['path']}"))
