"""Replacing a file that other programs write too: whole, in one step, and never over a change of theirs."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recalld.errors import ConfigError

Outcome = Literal["created", "changed", "unchanged", "removed"]

_ATTEMPTS = 10


@dataclass(frozen=True)
class File:
    """What was read: `data` as it is on disk and as text, both None where there is no file."""

    data: bytes | None
    text: str | None = None


def target_of(path: Path) -> Path:
    """The file to edit: where a symbolic link leads, so that the link itself stays one. Raises ConfigError."""
    target = Path(os.path.realpath(path))
    if path.is_symlink() and not os.path.exists(target):
        raise ConfigError(f"{path}: is a link to {target}, which is not there; create it or remove the link")
    if os.path.exists(target) and not os.path.isfile(target):
        raise ConfigError(f"{path}: is not a regular file")
    return target


def read(target: Path) -> File:
    """What is in the file now. Raises ConfigError, with the line where it is not UTF-8."""
    try:
        data = target.read_bytes()
    except FileNotFoundError:
        return File(None)
    except OSError as error:
        raise ConfigError(f"{target}: cannot be read: {error.strerror}") from error
    try:
        return File(data, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{target}:{line}: not UTF-8 text; nothing was changed") from error


def rewrite(
    path: Path,
    edit: Callable[[str | None], str | None],
    before: Callable[[Path, bytes], None] | None = None,
) -> Outcome:
    """Replace the file by what `edit` makes of its text, None standing for no file, in one rename.

    `before` is given the file and what it holds when it is about to be replaced. A change of another program that
    lands while we work makes us begin again with the new text. Raises ConfigError, with the file untouched.
    """
    target = target_of(path)
    for _ in range(_ATTEMPTS):
        old = read(target)
        new = edit(old.text)
        if new == old.text:
            return "unchanged"
        if old.data is not None:
            refuse_read_only(target)
            if before:
                before(target, old.data)
        try:
            if _swap(target, old, new):
                return "created" if old.text is None else "removed" if new is None else "changed"
        except OSError as error:
            raise ConfigError(f"{target}: cannot be written: {error.strerror}; nothing was changed") from error
    raise ConfigError(f"{target}: another program keeps changing it; nothing was changed")


def _swap(target: Path, old: File, new: str | None) -> bool:
    """Put `new` in the place of `old`; False, with nothing done, where the file is no longer `old`."""
    if new is None:
        if read(target) != old:
            return False
        target.unlink()
        return True
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new.encode("utf-8"))
            file.flush()
            if old.data is not None:
                was = target.stat()
                if (was.st_uid, was.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(file.fileno(), was.st_uid, was.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(was.st_mode))
            os.fsync(file.fileno())
        if read(target) != old:
            return False
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)
    return True


def keep(data: bytes, copy: Path) -> None:
    """Keep what a file held before our first change in `copy`, for its owner alone; one that is there already stays."""
    if copy.exists():
        return
    copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy.touch(mode=0o600)
    copy.write_bytes(data)


def refuse_read_only(target: Path) -> None:
    """Raise ConfigError for a file its owner has write-protected: a rename would get round that."""
    if not target.stat().st_mode & 0o222 or not os.access(target, os.W_OK):
        raise ConfigError(f"{target}:1: the file is read-only; nothing was changed")
