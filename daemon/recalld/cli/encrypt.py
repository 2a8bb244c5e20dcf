"""`recalld encrypt`: the database and its copies, unreadable without a key."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from recalld.cli import output
from recalld.cli.command import Command, yes
from recalld.errors import InputError
from recalld.paths import Paths, find


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("on", "off", "status", "key"),
        help="encrypt all, make all plain, tell how it stands, or print the key",
    )
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="keep the key there, instead of in the keyring")
    parser.add_argument("--find-links", type=Path, metavar="FOLDER", help="take the library from this folder of wheels")
    yes(parser)


def encrypt(arguments: argparse.Namespace) -> int:
    """Switch the encryption on or off, or tell how it stands; 1 where it is not as it should be."""
    from recalld.install import encryption

    paths = find()
    if arguments.action == "key":
        secret = encryption.the_key(paths)
        output.print_json({"key": secret}) if arguments.json else print(secret)
        return 0
    if arguments.action == "status":
        return _status(paths, as_json=arguments.json)
    lines = _switched(paths, arguments)
    if arguments.json:
        output.print_json(list(lines))
        return 0
    for line in lines:
        print(line, flush=True)
    return 0


def _switched(paths: Paths, arguments: argparse.Namespace) -> Iterator[str]:
    from recalld.install import encryption, overlay

    if arguments.action == "off":
        yield from encryption.off(paths, arguments.find_links)
        return
    if overlay.provide(arguments.find_links):
        yield "library: installed"
    if damaged := encryption.lost(paths):
        question = f"{', '.join(map(str, damaged))}: damaged, so they cannot be encrypted. Delete them?"
        if not output.confirmed(question, given=arguments.yes):
            raise InputError("nothing was changed")
    yield from encryption.on(paths, arguments.key_file)
    yield "on: without the key nobody can read the memories; `recalld encrypt key` prints it, to be kept in a safe place"


def _status(paths: Paths, *, as_json: bool) -> int:
    from recalld.install import encryption

    state = encryption.state(paths)
    if as_json:
        output.print_json(state._asdict())
    else:
        print(
            f"encryption: {'on, the key is in ' + state.key if state.on and state.key else 'on' if state.on else 'off'}"
        )
        if state.problem:
            print(f"problem: {state.problem}")
        for file in state.unfinished:
            print(
                f"not yet {'encrypted' if state.on else 'plain'}: {file}; `recalld encrypt {_word(state.on)}` goes on"
            )
    return 1 if state.problem or state.unfinished else 0


def _word(on: bool) -> str:
    return "on" if on else "off"


COMMANDS = (
    Command("encrypt", "on | off | status | key",
            "encrypt the database and its backups; the key is in the system's keyring",
            _options, encrypt,
            ("recalld encrypt on", "recalld encrypt on --key-file /mnt/key/recalld", "recalld encrypt off")),
)  # fmt: skip
