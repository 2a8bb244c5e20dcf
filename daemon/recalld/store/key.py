"""Whether a database file is encrypted, and with which key: 32 random bytes, in the system's keyring or in a file.

The record beside the database says where the key is, and nothing that would help to guess it. A file tells by its first
bytes whether it is plain, so whatever a switch that was cut short has left can be opened, each file in its own way.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import sys
from functools import cache
from pathlib import Path

import msgspec

from recalld import whole_file
from recalld.errors import InputError, StoreError, UnavailableError
from recalld.store import keychain

RECORD = "memories.db-key.json"
"""Its name begins as the database's, so that it goes where that goes."""

_PLAIN = b"SQLite format 3\0"
_BYTES = 32
_FOLDERS = 3
"""A database lies in the data folder, a backup one deeper, one that was put aside two."""


class KeyMissingError(StoreError):
    """The key cannot be had now: the keyring is locked or gone, or the key file is not as it must be."""


class NoCipherError(StoreError):
    """The database is encrypted, and this environment's SQLite cannot read that."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is known of a home's key.

    on: new files are encrypted. check: tells whether a key is the right one. The key is in `key_file`, or else in the
    keyring of this `backend`, under `account`.
    """

    on: bool
    check: str
    account: str = ""
    backend: str = ""
    key_file: str = ""

    @property
    def where(self) -> str:
        """Where the key is, in words."""
        return self.key_file or f"the keyring ({self.backend.rpartition('.')[0].rpartition('.')[2] or self.backend})"


def record(path: Path) -> Record | None:
    """The record of the home that a database file lies in; None where nothing of it was ever encrypted."""
    for folder in path.resolve().parents[:_FOLDERS]:
        try:
            return msgspec.json.decode((folder / RECORD).read_bytes(), type=Record)
        except FileNotFoundError:
            continue
        except (OSError, msgspec.DecodeError) as error:
            raise KeyMissingError(
                f"{folder / RECORD} cannot be read ({error}): without it the key is unknown"
            ) from error
    return None


def write(database: Path, kept: Record) -> None:
    """Put the record beside the database, durably and at once."""
    with whole_file.written(database.resolve().with_name(RECORD)) as file:
        file.write(msgspec.json.format(msgspec.json.encode(kept)) + b"\n")


def empty(path: Path) -> bool:
    """Whether there is nothing in the file yet, or no file."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True


def plain(path: Path) -> bool:
    """Whether every SQLite can read the file; also one that is empty or not there."""
    try:
        return head(path, len(_PLAIN)) in (_PLAIN, b"")
    except FileNotFoundError:
        return True


def head(path: Path, size: int) -> bytes:
    """The first bytes of a database, whether or not this process has it open. Raises OSError.

    To close a file gives up every lock that the process has on it, SQLite's among them: then another process that looks
    in takes itself for the last one, and removes the WAL (https://www.sqlite.org/howtocorrupt.html, 2.2). So a file that
    is open here is read by the descriptor that is there.
    """
    status = path.stat()
    with contextlib.suppress(FileNotFoundError):
        for number in map(int, os.listdir("/dev/fd")):
            with contextlib.suppress(OSError):  # the one that listed them is closed
                if os.path.samestat(os.fstat(number), status):
                    return os.pread(number, size, 0)
    with path.open("rb") as file:
        return file.read(size)


def of(path: Path, home: Path, *, able: bool) -> str:
    """The key of a file as it is, in hex; of a new one where there is none yet. Empty: it has none.

    home: the database of the home whose key it is. able: SQLite can use a key here.
    Raises KeyMissingError, NoCipherError.
    """
    kept = record(home)
    if kept is None or (plain(path) and not (kept.on and empty(path))):
        return ""
    if able:
        return secret(kept)
    if kept.on:
        raise NoCipherError(
            f"{path} is encrypted, and the library that reads it is not in {sys.prefix}; `recalld encrypt on` installs it"
        )
    return ""  # switched off long ago: then it is not the key that is missing, but the file is damaged


def of_new(home: Path) -> str:
    """The key of new files; empty where they are plain. Raises KeyMissingError."""
    kept = record(home)
    return secret(kept) if kept and kept.on else ""


@cache
def secret(kept: Record) -> str:
    """The key itself, asked for once by each process. Raises KeyMissingError."""
    try:
        found = from_file(Path(kept.key_file)) if kept.key_file else keychain.get(kept.account, kept.backend)
    except UnavailableError as error:
        raise KeyMissingError(f"the memories are encrypted, and their key cannot be had: {error}") from error
    if not found:
        raise KeyMissingError(f"{kept.where} does not hold the key of the memories any more (entry {kept.account!r})")
    if check(found) != kept.check:
        raise KeyMissingError(f"{kept.where} holds another key than that of the memories")
    return found


def new() -> str:
    """A key that nobody can guess."""
    return secrets.token_hex(_BYTES)


def check(key: str) -> str:
    """A digest by which the right key is known; of 256 random bits, it tells nothing about them."""
    return hashlib.sha256(b"recalld key check\0" + bytes.fromhex(key)).hexdigest()[:32]


def from_file(path: Path) -> str:
    """The key in a file that is the owner's alone. Raises KeyMissingError."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            text = file.read(4 * _BYTES).decode("ascii", "replace").strip() if stat.S_ISREG(status.st_mode) else ""
    except OSError as error:
        raise KeyMissingError(f"the key file {path} cannot be read: {error.strerror}") from error
    if status.st_uid != os.getuid():
        raise KeyMissingError(f"the key file {path} belongs to user {status.st_uid}, not to you")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise KeyMissingError(f"the key file {path} can be read by others: chmod 600 {path}")
    if not re.fullmatch(rf"[0-9a-f]{{{2 * _BYTES}}}", text):
        raise KeyMissingError(f"{path} holds no key: {2 * _BYTES} hexadecimal digits on one line")
    return text


def make_file(path: Path, key: str) -> None:
    """A new key file. Raises InputError."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(f"{key}\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"the key file {path} cannot be made: {error.strerror}") from error
