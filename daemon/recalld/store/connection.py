"""Opening the database, and the one place that begins, commits and rolls back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from recalld.errors import DamagedError, StoreError, TransientError
from recalld.store import search

BUSY_TIMEOUT_MS = 5_000
"""How long a writer waits for another process (the command line, `sqlite3`) to finish its transaction."""

WAL_PAGES = 1_000
"""Checkpoint after this many pages (4 MiB), and cut the WAL file back to WAL_BYTES afterwards."""
WAL_BYTES = 8 * 1024 * 1024

CACHE_KIB = 4_096
"""Page cache of a connection; the operating system caches the rest."""


def open_writer(path: Path) -> apsw.Connection:
    """The connection that writes; makes the file, readable by its owner only. Raises StoreError, TransientError."""
    with translated(path):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        db = _open(path, apsw.SQLITE_OPEN_READWRITE)
        db.pragma("journal_mode", "wal")
        db.pragma("wal_autocheckpoint", WAL_PAGES)
        db.pragma("journal_size_limit", WAL_BYTES)
        db.pragma("secure_delete", True)
        return db


def open_reader(path: Path) -> apsw.Connection:
    """A connection that cannot write. Raises StoreError, TransientError."""
    with translated(path):
        db = _open(path, apsw.SQLITE_OPEN_READWRITE)
        db.pragma("query_only", True)
        return db


def _open(path: Path, flags: int) -> apsw.Connection:
    db = apsw.Connection(str(path), flags=flags)
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    db.pragma("foreign_keys", True)
    db.pragma("cache_size", -CACHE_KIB)
    db.pragma("temp_store", "memory")
    db.pragma("trusted_schema", True)
    search.load_vec(db)
    return db


@contextlib.contextmanager
def transaction(db: apsw.Connection, *, durable: bool = False) -> Iterator[None]:
    """A write transaction: commits at the end, rolls back on any error.

    durable: the commit also survives a power cut (`synchronous=FULL`); without it only a crash of the process.
    """
    db.pragma("synchronous", "full" if durable else "normal")
    with translated(Path(db.filename)):
        db.execute("begin immediate")
        try:
            yield
            db.execute("commit")
        except BaseException:
            if db.in_transaction:
                db.execute("rollback")
            raise


def fold(db: apsw.Connection) -> None:
    """Fold the WAL into the database and cut it to nothing: what was erased is then in no file any more."""
    with contextlib.suppress(apsw.BusyError):  # a reader at work: the next time
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


@contextlib.contextmanager
def snapshot(db: apsw.Connection) -> Iterator[None]:
    """A read transaction: all queries inside see the same state."""
    with translated(Path(db.filename)):
        db.execute("begin")
        try:
            yield
        finally:
            if db.in_transaction:
                db.execute("rollback")


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours, each with the file's name."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise TransientError(f"{path}: another process keeps the database locked") from error
    except apsw.FullError as error:
        raise TransientError(f"{path}: the disk is full; free some space, nothing is lost meanwhile") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise DamagedError(f"{path}: the database is damaged ({error}); `recalld doctor --fix` mends it") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
