"""Opening the database, and the one place that begins, commits and rolls back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from recalld import surroundings
from recalld.errors import DamagedError, StoreError, TransientError
from recalld.store import key, search

BUSY_TIMEOUT_MS = 5_000
"""How long a writer waits for another process (the command line, `sqlite3`) to finish its transaction."""

WAL_PAGES = 1_000
"""Checkpoint after this many pages (4 MiB), and cut the WAL file back to WAL_BYTES afterwards."""
WAL_BYTES = 4 * 1024 * 1024

CACHE_KIB = 4_096
"""Page cache of a connection; the operating system caches the rest."""

ABLE = hasattr(apsw, "mc_version")
"""Whether this SQLite is the build with ciphers (SQLite3 Multiple Ciphers)."""
CIPHER = "chacha20"
"""ChaCha20-Poly1305: each page is authenticated, and it is fast without help of the processor."""

_WAL_VERSIONS = b"\2\2"
"""Bytes 18 and 19 of a database in WAL mode (https://www.sqlite.org/fileformat.html, 1.3); they are never encrypted."""


def open_writer(path: Path) -> apsw.Connection:
    """The connection that writes; makes the file, readable by its owner only. Raises StoreError, TransientError."""
    with translated(path):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        fresh, network = key.empty(path), surroundings.on_network(path.parent)
        if network and not fresh:
            _leave_wal(path)
        db = _open(path, path)
        if fresh:
            journal(db, path)
        db.pragma("wal_autocheckpoint", WAL_PAGES)
        db.pragma("journal_size_limit", WAL_BYTES)
        db.pragma("secure_delete", True)
        return db


def open_reader(path: Path, home: Path | None = None) -> apsw.Connection:
    """A connection that cannot write. home: the database whose key it has, for a copy that lies elsewhere.

    Raises StoreError, TransientError.
    """
    with translated(path):
        db = _open(path, home or path)
        db.pragma("query_only", True)
        return db


def open_alone(path: Path, home: Path) -> apsw.Connection:
    """A connection beside which there is no other, of no process, until it is closed. Raises TransientError, StoreError."""
    with translated(path):
        db = open_raw(path, key.of(path, home, able=ABLE))
        try:
            db.pragma("locking_mode", "exclusive")
            db.execute("begin immediate; commit")
        except BaseException:
            db.close()
            raise
        return db


def open_raw(path: Path, secret: str) -> apsw.Connection:
    """A connection to a file with this key (empty: plain), and nothing else set. The key comes before all else."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    if secret:
        db.pragma("cipher", CIPHER)
        db.pragma("key", f"raw:{secret}")
    db.pragma("temp_store", "memory")
    return db


def _open(path: Path, home: Path) -> apsw.Connection:
    db = open_raw(path, key.of(path, home, able=ABLE))
    db.pragma("foreign_keys", True)
    db.pragma("cache_size", -CACHE_KIB)
    db.pragma("trusted_schema", True)
    search.load_vec(db)
    return db


def journal(db: apsw.Connection, path: Path) -> None:
    """Give a new database its journal: a WAL, or what SQLite advises where processes cannot share memory over a file.

    One that is there already keeps its own, which its owner may have chosen.
    """
    db.pragma("journal_mode", "delete" if surroundings.on_network(path.parent) else "wal")


def in_wal_mode(path: Path) -> bool:
    """Whether a database file has a WAL rather than a rollback journal."""
    return key.head(path, 20)[18:] == _WAL_VERSIONS


def _leave_wal(path: Path) -> None:
    """A database that was moved onto a network file system leaves its WAL behind, without the memory that this needs.

    So it can be read even where shared memory cannot be had (https://www.sqlite.org/wal.html, "Use of WAL Without
    Shared-Memory"). Raises TransientError where another process is at work on it.
    """
    if in_wal_mode(path):
        with contextlib.closing(open_alone(path, path)) as db:
            db.pragma("journal_mode", "delete")
            path.with_name(path.name + "-shm").unlink(missing_ok=True)  # from where it was before; of no use now


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
        raise TransientError(f"{path}: the disk is full, nothing was stored; free some space") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise DamagedError(f"{path}: the database is damaged ({error}); `recalld doctor --fix` mends it") from error
    except (apsw.ProtocolError, apsw.IOError, apsw.CantOpenError) as error:
        raise StoreError(f"{path}: {error}{_place(path)}") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def _place(path: Path) -> str:
    """Where the file lies, for an error that may come from there."""
    kind = surroundings.file_system_type(path.parent)
    return f" (on {kind or 'an unknown file system'}; RECALLD_HOME=<folder> moves the data to a disk of this machine)"
