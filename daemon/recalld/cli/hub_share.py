"""The actions of `hub` that say what is shared: share unshare phrase."""

from __future__ import annotations

import argparse
from typing import Any

from recalld.cli import output
from recalld.cli.calls import LONG_S, ask
from recalld.cli.command import SCOPES, Told, here, yes
from recalld.cli.hub_link import TAKEN, agree, joined, secret, soon
from recalld.errors import InputError

State = dict[str, Any]


def _scope_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scope", choices=SCOPES, help="user: with your own machines; project: with those who share it,"
                        " too; org: with all members (maintainers write there)")  # fmt: skip
    parser.add_argument("--project", metavar="NAME|PATH", help="with project: which one (default: that of this folder)")


def share_options(parser: argparse.ArgumentParser) -> None:
    """Of `hub share`."""
    _scope_options(parser)
    parser.add_argument(
        "--encrypt", action="store_true", help="with user: the hub keeps what only your machines can read"
    )


def share(arguments: argparse.Namespace) -> Told:
    """Send a scope's memories from now on, and receive others'."""
    if arguments.encrypt and arguments.scope != "user":
        raise InputError("--encrypt is for the scope user: what others share has to be read by them")
    made = _encrypt() if arguments.encrypt else None
    answer = ask("hub-share", writes=True, timeout_s=LONG_S, **_named(arguments))
    told = {**answer, **({"phrase": made} if made else {}), "sync": soon(sealed=arguments.encrypt)}
    return Told(told, _say_shared)


def _say_shared(answer: State) -> None:
    kind, _, identity = answer["stream"].partition(":")
    whom = {"user": "your own machines", "org": "all members"}.get(kind, f"those who share {identity}, too")
    print(output.safe(f"shared with {whom}: {output.plural(answer['memories'], 'memory', 'memories')}"))
    if made := answer.get("phrase"):
        print(
            "\nthis is your recovery phrase: your other machines ask for it. Without it and without a machine that has"
        )
        print(
            f"the key, nobody can read again what the hub has of you. `recalld hub phrase` tells it again.\n\n{in_lines(made)}\n"
        )
    if (answer["sync"] or {}).get("clear"):
        print(
            f"{answer['sync']['clear']:,} texts are in the clear there still; `recalld hub sync` on your other machines"
        )
    print("pending memories and those that are local only stay here; `recalld edit ID --local-only on` keeps one here")


def _encrypt() -> str | None:
    """Have this home seal what is its member's own; the phrase, where it was made now. Raises InputError, HubError."""
    from recalld.hub import sealing

    with joined() as link:
        if link.me.sealed is None:
            key = link.key or sealing.new_key()
            link.seal(key)
            return sealing.phrase(key)
        if link.held:
            link.seal(sealing.key_of(secret(None, "your recovery phrase (24 words)")))
    return None


def phrase(arguments: argparse.Namespace) -> Told:
    """Tell the recovery phrase."""
    if not (found := words()):
        raise InputError("there is no key here; a machine where `recalld hub share user --encrypt` was done has it")
    return Told({"phrase": found}, lambda told: print(in_lines(told["phrase"])))


def words() -> str | None:
    """The recovery phrase of the key that is here."""
    from recalld.hub import sealing

    key = ask("hub-key")["key"]
    return sealing.phrase(bytes.fromhex(key)) if key else None


def in_lines(words: str) -> str:
    """24 words, in lines of six."""
    parts = [f"{word:<9}" for word in words.split()]
    return "\n".join("  " + " ".join(parts[at : at + 6]).rstrip() for at in range(0, len(parts), 6))


def unshare_options(parser: argparse.ArgumentParser) -> None:
    """Of `hub unshare`."""
    _scope_options(parser)
    parser.add_argument("--delete-mine", action="store_true", help="take what came from you out of the hub, too")
    yes(parser)


def unshare(arguments: argparse.Namespace) -> Told:
    """Send a scope's memories no more."""
    if arguments.delete_mine:
        agree(f"delete what came from you in it? {TAKEN}", given=arguments.yes)
    answer = ask("hub-unshare", writes=True, delete_mine=arguments.delete_mine, **_named(arguments))
    return Told({**answer, "sync": soon()}, lambda _: print("not shared any more; what is here stays here"))


def _named(arguments: argparse.Namespace) -> State:
    return {"scope": arguments.scope, "project": arguments.project, "cwd": here()}
