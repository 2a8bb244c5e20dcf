"""The command `hub`: this home and those of the same person, or of a team, kept equal through a PostgreSQL."""

from __future__ import annotations

import argparse
import socket
import sys
from typing import Any

from recalld.cli import hub_share, hub_team, output
from recalld.cli.calls import ask
from recalld.cli.command import Command, Told, yes
from recalld.cli.hub_link import TAKEN, action, agree, cycle, joined, secret, settings
from recalld.errors import InputError
from recalld.paths import find

State = dict[str, Any]


def _join_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dsn", nargs="?", metavar="DSN", help="what `hub init` or `hub members add` printed; better asked"
                        " for or from stdin, where no other user of this machine can read it")  # fmt: skip
    parser.add_argument("--device", metavar="NAME", help="how this machine is called there (its own name)")


def join(arguments: argparse.Namespace) -> Told:
    """Let this home belong to a member of the hub. Nothing is shared by it."""
    import uuid  # late, as all that only this needs

    from recalld.cli import config_file
    from recalld.hub.postgres import Remote

    paths, state = find(), ask("hub-state")
    dsn = secret(arguments.dsn, "the address (DSN) that you were given")
    hub = settings(dsn)
    with Remote(hub.dsn, passfile=hub.passfile) as remote:
        me = remote.whoami()
        if state["joined"] and (state["org_id"], state["member_id"]) != (me.org_id, me.member_id):
            raise InputError(
                f"this home belongs to {state['member']} of {state['org']} already; `recalld hub leave` comes first"
            )
        device_id = state.get("device_id") or str(uuid.uuid4())
        wanted = arguments.device or state.get("device") or socket.gethostname() or "device"
        me = remote.register_device(device_id, wanted)
    said: State = {"org_id": me.org_id, "org": me.org, "member_id": me.member_id, "member": me.member, "role": me.role,
            "device_id": device_id, "device": me.device or wanted}  # fmt: skip
    shares = any(one["sends"] for one in ask("hub-join", writes=True, **said)["streams"])
    config_file.put(paths.config, "hub.dsn", dsn)
    return Told({**said, "sealed": me.sealed is not None, "shares": shares}, _say_joined)


def _say_joined(said: State) -> None:
    print(output.safe(f"this home belongs to {said['member']} of {said['org']} now, as {said['device']}"))
    if said["shares"]:
        print("what it shared it goes on sharing; `recalld hub status` shows what that is")
        return
    sealed = " --encrypt" if said["sealed"] else ""
    print(f"nothing of it is shared yet; `recalld hub share user{sealed}` keeps your own machines equal, and")
    print("`recalld hub share project` shares the project of this folder with those who share it, too")


def status(arguments: argparse.Namespace) -> Told:
    """Tell what is shared, and whether it is in step."""
    from recalld import config
    from recalld.cli import state

    known: State = ask("hub-state")
    dsn = config.load(find().config).hub.dsn
    told = {**known, "dsn": config.masked(dsn), "sync": state.status()["hub"]}
    return Told(told, _show_status)


def _show_status(told: State) -> None:
    from recalld.cli import state

    if not told["joined"]:
        print("this home belongs to no hub; `recalld hub join` changes that, `recalld hub init` makes one")
        return
    table = output.grid(10, None)
    lines = {"hub": (told["dsn"] or "none: `recalld hub join` says where it is", ""),
             "member": (f"{told['member']} of {told['org']} ({told['role']}), here: {told['device']}", ""),
             "state": state.hub(told["sync"])}  # fmt: skip
    if told["sync"]["state"] == "off" and told["dsn"]:
        lines["state"] = ("no daemon keeps it in step; `recalld start`, or `recalld hub sync` once", "yellow")
    if told.get("sealed"):
        lines["encrypted"] = ("what is yours alone: the hub cannot read it", "green")
    if told["outbox"]:
        lines["to send"] = (output.plural(told["outbox"], "memory", "memories"), "")
    for name, (value, style) in lines.items():
        table.add_row(output.text(name, "dim"), output.text(value, style))
    for one in told["streams"]:
        table.add_row(output.text("shared" if one["sends"] else "received", "dim"), output.text(_stream(one)))
    left_out = {
        "refused": (told["refused"], told.get("refused_count", 0)),
        "skipped": (told["skipped_rows"], told["skipped"]),
    }
    for word, (rows, number) in left_out.items():
        more = [f"and {number - len(rows):,} more"] if number > len(rows) else []
        for line in (*(f"{one['id']}: {one['reason']}" for one in rows), *more):
            table.add_row(output.text(word, "dim"), output.text(line, "yellow"))
    output.show(table)


def _stream(one: State) -> str:
    """What a stream is, as a person says it."""
    kind, _, identity = one["stream"].partition(":")
    known = {"user": "what holds for you everywhere", "org": "what the team agreed on"}
    what = known.get(kind) or f"project {one['project'] or identity}"
    return f"{what} ({output.plural(one['memories'], 'memory', 'memories')})"


def sync(arguments: argparse.Namespace) -> Told:
    """Bring this home and the hub in step now."""
    with joined() as link:
        return Told(cycle(link), _say_synced)


def _say_synced(done: State) -> None:
    words = ("pulled", "pushed", "withdrawn", "deleted", "conflicts", "skipped", "refused")
    said = [f"{done[word]:,} {word}" for word in words if done.get(word)]
    print(f"in step: {', '.join(said) or 'nothing was to be done'}")
    if done.get("held"):
        print("what is yours alone is encrypted; `recalld hub share user --encrypt` asks for your recovery phrase")


def _leave_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--delete-mine", action="store_true", help="take what came from you out of the hub, too")
    yes(parser)


def leave(arguments: argparse.Namespace) -> Told:
    """Let this home belong to no hub any more. What is here stays here."""
    from recalld import config
    from recalld.cli import config_file  # late: it brings tomlkit
    from recalld.hubwire import HubError

    paths = find()
    if not (ask("hub-state")["joined"] or config.load(paths.config).hub.dsn):
        raise InputError("this home belongs to no hub")
    if arguments.delete_mine:
        agree(f"delete what came from you? {TAKEN}", given=arguments.yes)
    told = True
    try:
        with joined() as link:
            if arguments.delete_mine:  # what of it only the hub has is here first
                cycle(link)
            link.remote.leave(delete_mine=arguments.delete_mine)
    except (HubError, InputError) as error:  # InputError: no hub is named any more
        if arguments.delete_mine:
            raise
        print(f"recalld: the hub was not told: {error}", file=sys.stderr)
        told = False
    words = hub_share.words()
    ask("hub-leave", writes=True)
    config_file.put(paths.config, "hub.dsn", "")
    return Told({"left": True, "told": told, "deleted": arguments.delete_mine, "phrase": words}, _say_left)


def _say_left(said: State) -> None:
    print("this home belongs to no hub any more; what is here stays here")
    if said["phrase"]:
        print(
            f"its key is forgotten here; your words open again what the hub has of you:\n\n{hub_share.in_lines(said['phrase'])}"
        )


def _options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions (none: status)")
    action(actions, "init", "make a hub in a PostgreSQL, or bring one up to date", hub_team.init_options, hub_team.init)
    action(actions, "join", "let this home belong to a member of the hub", _join_options, join)
    action(actions, "status", "what is shared, and whether it is in step", None, status)
    action(actions, "sync", "bring this home and the hub in step now", None, sync)
    action(actions, "share", "send a scope's memories, and receive others'", hub_share.share_options, hub_share.share)
    action(actions, "unshare", "send a scope's memories no more", hub_share.unshare_options, hub_share.unshare)
    action(actions, "members", "who belongs to it; add, remove, rotate", hub_team.members_options, hub_team.members)
    action(actions, "phrase", "your recovery phrase, for another machine of yours", None, hub_share.phrase)
    action(actions, "leave", "let this home belong to no hub", _leave_options, leave)
    action(actions, "audit", "who wrote, changed and shared what", hub_team.audit_options, hub_team.audit)
    action(actions, "export", "all that the hub has of you", hub_team.export_options, hub_team.export)


def hub(arguments: argparse.Namespace) -> Told | int:
    """Do one of the actions."""
    done: Told | int = getattr(arguments, "does", status)(arguments)
    return done


COMMANDS = (
    Command("hub", "[init|join|share|status ...]",
            "keep several machines, or a team, in step through a PostgreSQL of yours", _options, hub,
            ("recalld hub init --org acme", "recalld hub join", "recalld hub share user --encrypt", "recalld hub share project",
             "recalld hub members add bob", "recalld hub status")),
)  # fmt: skip
