"""Switching the encryption of the database and of all its copies on and off. Whatever cuts it short, doing it again ends it.

First the record says what shall be, then file after file becomes that, each at once. Until the last one has, every file is
opened as what it is.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from recalld import ENCRYPTION
from recalld.errors import DamagedError, InputError, RecalldError, UnavailableError
from recalld.install import control, overlay
from recalld.paths import Paths
from recalld.store import key, keychain
from recalld.store.key import Record


class State(NamedTuple):
    """on: new files are encrypted. key: where it is. unfinished: files that are not yet what they shall be.

    problem: why the database cannot be opened now; empty where it can.
    """

    on: bool
    key: str
    unfinished: tuple[str, ...]
    problem: str = ""


def state(paths: Paths) -> State:
    """How things stand; asks for the key, but changes nothing."""
    try:
        kept = key.record(paths.database)
        if kept is None:
            return State(on=False, key="", unfinished=())
        left = _left(paths, kept)
        if not kept.on and paths.database not in left and not os.path.isdir(ENCRYPTION):
            left = []  # `off` has come to its end; what cannot be read could not be made plain
        if kept.on:
            key.secret(kept)
    except RecalldError as error:
        return State(on=True, key="", unfinished=(), problem=str(error))
    missing = (kept.on or bool(left)) and not overlay.works()
    problem = f"the library that reads the database is not in {sys.prefix}" if missing else ""
    return State(kept.on, kept.where, tuple(map(str, left)), problem)


def files(paths: Paths) -> list[Path]:
    """The database and its copies in the backups, those that were put aside included."""
    found = [paths.database, *paths.backups.glob("*.db"), *paths.backups.glob("quarantine-*/*.db")]
    return [file for file in found if file.is_file()]


def _left(paths: Paths, kept: Record) -> list[Path]:
    """The files that are not yet what they shall be."""
    return [file for file in files(paths) if key.plain(file) is kept.on and not key.empty(file)]


def lost(paths: Paths) -> list[Path]:
    """Copies that SQLite cannot read, by damage or for want of their key: they cannot be encrypted, so they have to go."""
    from recalld.store import rescue  # late, as all that brings apsw: the library may have come just now

    copies = [file for file in files(paths) if file != paths.database]
    return [file for file in copies if rescue.examine(file).damage]


def the_key(paths: Paths) -> str:
    """The key, for its owner to keep. Raises InputError where there is none, KeyMissingError."""
    if kept := key.record(paths.database):
        return key.secret(kept)
    raise InputError("nothing was ever encrypted here, so there is no key")


def on(paths: Paths, key_file: Path | None) -> Iterator[str]:
    """Encrypt all; the library has to be there. Yields a line for the owner after each step.

    key_file: where the key is or shall be, instead of the keyring. Raises InputError, StoreError, UnavailableError.
    """
    paths.ensure()
    kept = _kept(paths, key_file)
    key.secret(kept)
    yield f"key: in {kept.where}"
    yield from _switch(paths, kept)


def off(paths: Paths, wheels: Path | None) -> Iterator[str]:
    """Make all plain again, and take the library out. wheels: as `overlay.provide`. Yields and raises as `on`."""
    kept = key.record(paths.database)
    if kept and (kept.on or _left(paths, kept)):
        overlay.provide(wheels)
        key.secret(kept)
        yield from _switch(paths, msgspec.structs.replace(kept, on=False))
    overlay.remove()
    yield "off: whoever has the disk can read the memories. A key stays where it is, for copies that are kept elsewhere"


def _switch(paths: Paths, kept: Record) -> Iterator[str]:
    """No daemon runs meanwhile; the one that ran before runs again afterwards, whatever happens."""
    from recalld.store import copying, rescue
    from recalld.store.store import utc_now

    with control.alone(paths):
        if before := key.record(paths.database):  # the key may be elsewhere now
            key.write(paths.database, msgspec.structs.replace(kept, on=before.on))
        rescue.finish(paths.database, paths.backups, utc_now())
        if damage := rescue.examine(paths.database).damage:
            raise DamagedError(f"{paths.database}: the database is damaged ({damage}); `recalld doctor --fix` mends it")
        key.write(paths.database, kept)
        copying.turn(paths.database, paths.database)
        for copy in files(paths):
            with contextlib.suppress(DamagedError):  # told below
                copying.turn(copy, paths.database)
        _tidy(paths)
        if kept.on:
            yield from _remove(paths, lost(paths))
        for left in _left(paths, kept):
            yield f"left as it is: {left}, which cannot be read"
        yield f"{'encrypted' if kept.on else 'plain again'}: the database and its copies, {len(files(paths))} files"
        if not kept.on:
            overlay.remove()  # before the daemon runs again


def _tidy(paths: Paths) -> None:
    """Away with what a try that was cut short has left."""
    for file in [*paths.data.glob("memories.*part*"), *paths.backups.rglob("*.part*")]:
        file.unlink(missing_ok=True)


def _remove(paths: Paths, copies: list[Path]) -> Iterator[str]:
    from recalld.store import copying

    for copy in copies:
        copying.remove(copy)
        yield f"removed: {copy}, which cannot be read"
    for rest in paths.backups.glob("quarantine-*/*.db-*"):  # the WAL of a database that is gone
        rest.unlink(missing_ok=True)


def _kept(paths: Paths, key_file: Path | None) -> Record:
    """The record for a home that is to be encrypted: the one it has, or one with a key that is made now."""
    before = key.record(paths.database)
    if key_file is None:
        return msgspec.structs.replace(before, on=True) if before else _in_keyring(paths)
    path = key_file.expanduser().resolve()
    if any(path.is_relative_to(folder.resolve()) for folder in (paths.data, paths.config_dir, paths.state)):
        raise InputError(f"{path} is beside what it locks: name a file elsewhere, best on another disk")
    if not path.exists():
        key.make_file(path, key.secret(before) if before else key.new())
    found = key.check(key.from_file(path))
    if before and before.check != found:
        raise InputError(f"{path} holds another key than that of the memories")
    return Record(on=True, check=found, key_file=str(path))


def _in_keyring(paths: Paths) -> Record:
    """A new key in the keyring; one that is there already under the home's name is taken, since copies may have it."""
    account = f"memories in {paths.data}"
    try:
        backend = keychain.backend()
        secret = keychain.get(account)
        if secret is None:
            keychain.put(account, key.new())
            secret = keychain.get(account)
    except UnavailableError as error:
        raise UnavailableError(
            f"{error}; `recalld encrypt on --key-file FILE` keeps the key in a file, best on another disk"
        ) from error
    with contextlib.suppress(ValueError):
        return Record(on=True, check=key.check(secret or ""), account=account, backend=backend)
    raise InputError(f"the keyring's entry {account!r} of the service recalld is no key of 64 hexadecimal digits")
