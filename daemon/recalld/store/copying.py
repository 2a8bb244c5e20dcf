"""Copies of a database, and the change of one from plain to encrypted or back."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from urllib.parse import quote

import apsw

from recalld.errors import DamagedError
from recalld.store import key
from recalld.store.connection import CIPHER, journal, open_alone, open_raw, translated

_PARTS = ("", "-wal", "-shm", "-journal")
_BLOCK = 1 << 20


def backup(db: apsw.Connection, target: Path, home: Path | None = None) -> None:
    """A consistent copy of the database in `target`, made while others go on working; replaces an older one.

    It is encrypted where new files of its home are. home: the database of that home, where it is not `db` itself.
    Raises DamagedError where the copy is not sound, and leaves the older one.
    """
    secret = key.of_new(home or Path(db.filename))
    unfinished = target.with_name(target.name + ".part")
    try:
        copy(db, unfinished, secret)
    except BaseException:
        remove(unfinished)
        raise
    unfinished.replace(target)


def turn(path: Path, home: Path) -> bool:
    """Encrypt a plain database file, or make an encrypted one plain: whichever new files of its home are.

    Nobody else may have it open. A crash at any moment leaves the file as it was or as it shall be. Returns False where
    it is so already. Raises DamagedError, KeyMissingError, TransientError where another process is at work on it.
    """
    path, secret = path.resolve(), key.of_new(home)
    if key.empty(path) or key.plain(path) is not bool(secret):
        return False
    unfinished = path.with_name(path.name + ".part")
    remove(unfinished)
    with contextlib.closing(open_alone(path, home)) as db, translated(path):
        mode = db.pragma("journal_mode")
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        copy(db, unfinished, secret)
        if mode == "wal":
            with contextlib.closing(open_raw(unfinished, secret)) as made:
                journal(made, path)
        _replace(db, path, unfinished, erase=bool(secret))
    return True


def copy(db: apsw.Connection, target: Path, secret: str) -> None:
    """All of `db` in a new file, encrypted with `secret` or, where that is empty, plain; on the disk when this returns."""
    remove(target)
    target.touch(mode=0o600)
    if key.plain(Path(db.filename)) is bool(secret):
        _rewritten(db, target, secret)
    else:
        with contextlib.closing(open_raw(target, secret)) as made, made.backup("main", db, "main") as work:
            work.step()
    with contextlib.closing(open_raw(target, secret)) as made:
        made.pragma("journal_mode", "delete")
        said = made.execute("pragma quick_check(1)").get
    if said != "ok":
        raise DamagedError(f"{db.filename}: the database is damaged ({said}); `recalld doctor --fix` mends it")
    _sync(target)


def remove(path: Path) -> None:
    """An unfinished file and what SQLite keeps beside it."""
    for part in _PARTS:
        path.with_name(path.name + part).unlink(missing_ok=True)


def _rewritten(db: apsw.Connection, target: Path, secret: str) -> None:
    """SQLite copies pages only between files of one kind; this copies the rows. The key goes in as a bound value."""
    options = f"cipher={CIPHER}&key=raw:{secret}" if secret else "key="
    only_reads = db.pragma("query_only")
    db.pragma("query_only", False)
    try:
        db.execute("vacuum into ?", (f"file:{quote(str(target))}?{options}",))
    finally:
        db.pragma("query_only", only_reads)


def _replace(db: apsw.Connection, path: Path, unfinished: Path, *, erase: bool) -> None:
    """Put the finished file in the place of the one that `db` holds locked. erase: overwrite what was there.

    The file is let out of the WAL first: on closing, SQLite would remove the WAL by its name, which the new one has too.
    Whoever waited for the lock finds an unreadable file, and does not write into one that is gone.
    """
    times = path.stat()
    os.utime(unfinished, ns=(times.st_atime_ns, times.st_mtime_ns))  # by which the newest backup is told
    old = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        for mode in ("delete", "memory"):
            db.pragma("journal_mode", mode)
        path.with_name(path.name + "-journal").unlink(missing_ok=True)
        unfinished.replace(path)
        _sync(path.parent)
        size = os.fstat(old).st_size if erase else min(_BLOCK, os.fstat(old).st_size)
        for start in range(0, size, _BLOCK):
            os.pwrite(old, bytes(min(_BLOCK, size - start)), start)
        os.fsync(old)
    finally:
        db.close()  # before `old`: to close a file gives up every lock that the process has on it
        os.close(old)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
