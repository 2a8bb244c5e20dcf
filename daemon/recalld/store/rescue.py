"""A damaged database: found, put aside whole, and the most that can be had put in its place.

Moving a database is for the one who holds the daemon's lock. What is put in its place is made ready beside it first, so
that a crash at any moment leaves either the one or the other, and `finish` completes what was begun.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import apsw

from recalld.errors import DamagedError, StoreError
from recalld.store import carry, deletions, key, meta, remains
from recalld.store.connection import (
    ABLE,
    journal,
    open_raw,
    open_reader,
    open_writer,
    snapshot,
    transaction,
    translated,
)
from recalld.store.copying import backup, remove
from recalld.store.migrate import migrate, scripts
from recalld.store.salvage import salvaged

log = logging.getLogger(__name__)

BACKUPS = "memories-*.db"
ASIDE = "quarantine-"
MOST_A_DAY = 5
"""A database that is damaged more often than this has a failing disk under it; copies of it would only fill that."""

_PARTS = ("-wal", "-shm", "")
"""The database's own file comes last: as long as it is there, `finish` knows that the move is not over."""
_STEPS = 10_000
"""Between two questions whether it is enough: a millisecond or so."""
_SEEN, _TORN = ".seen.part", ".torn.part"
"""Copies of a damaged database, to be read: as the daemon's connection saw it, and as it lies on the disk."""
_CACHE_KIB = 64 * 1024
"""So much of what the daemon's connection has in its cache is not pushed out while it is copied."""
_MARGIN = timedelta(hours=1)
"""A backup is dated by its end; what was deleted while it was made counts as deleted since."""
_INDEX = re.compile(r"fts5:|inverted index")


class Finding(NamedTuple):
    """What SQLite says of a file. damage: empty where it is sound. indexes: only search indexes are to be made anew."""

    damage: str = ""
    indexes: bool = False


def _never() -> bool:
    return False


def examine(path: Path, enough: Callable[[], bool] = _never, home: Path | None = None) -> Finding:
    """Look through a database until it is `enough`; what was not found by then counts as sound. About 200 MB a second.

    home: the database whose key a copy has that lies elsewhere.
    Raises TransientError where it is locked, StoreError where it cannot be read at all.
    """
    if not path.exists():
        return Finding()
    try:
        said = _quick_check(path, enough, home)
    except DamagedError as error:
        return Finding(str(error.__cause__))
    wrong = [line for line in said if line != "ok"]
    first = wrong[0].splitlines()[-1] if wrong else ""
    return Finding(first, bool(wrong) and all(_INDEX.search(line) for line in wrong))


def _quick_check(path: Path, enough: Callable[[], bool], home: Path | None) -> list[str]:
    db = open_reader(path, home)
    try:
        db.set_progress_handler(enough, _STEPS)
        with translated(path):
            return [str(row[0]) for row in db.execute("pragma quick_check(20)")]
    except StoreError as error:
        if isinstance(error.__cause__, apsw.InterruptError):
            return []
        raise
    finally:
        db.close()


def schema(path: Path, home: Path | None = None) -> int:
    """The version of a database's schema; 0 for a file that is none of ours. home: as in `examine`. Raises StoreError."""
    db = open_reader(path, home)
    try:
        with snapshot(db):
            return int(db.pragma("user_version")) if db.table_exists("main", "memories") else 0
    finally:
        db.close()


def copies(backups: Path) -> list[Path]:
    """The backups, newest first."""
    return sorted(backups.glob(BACKUPS), key=lambda path: path.stat().st_mtime_ns, reverse=True)


def unusable(path: Path, database: Path) -> str:
    """Why a backup cannot take the place of `database`; empty where it can."""
    try:
        if not path.is_file():
            return "there is no such file"
        if not key.plain(path) and not ABLE:
            return "it is damaged, or encrypted: `recalld encrypt on` installs what can read that"
        if damage := examine(path, home=database).damage:
            return f"it is damaged{'' if key.plain(path) else ', or encrypted with another key'} ({damage})"
        version, known = schema(path, database), len(scripts())
    except StoreError as error:
        return str(error)
    if not version:
        return "it is no database of recalld"
    return f"it is of a newer recalld (schema {version}, this one knows {known})" if version > known else ""


def put_back(database: Path, backups: Path, copy: Path, now: datetime) -> Path:
    """Put a usable backup in the database's place; returns the folder where the present one is now. Raises StoreError."""
    return _exchange(database, backups, _copied(database, copy), now)


def keep_seen(db: apsw.Connection, database: Path) -> None:
    """Copy a damaged database as a connection that is still open sees it: its cache may hold what the file has lost.

    For the `rescue` that follows. Raises StoreError where it cannot be read even so, TransientError where the disk is full.
    """
    seen = database.with_suffix(_SEEN)
    db.pragma("cache_size", -_CACHE_KIB)
    db.pragma("writable_schema", True)  # then SQLite minds no file that is shorter than it should be
    remove(seen)
    try:
        with translated(database):
            seen.touch(mode=0o600)
            _copy_pages(db, seen, key.of(database, database, able=ABLE))
    except BaseException:
        remove(seen)
        raise


def _copy_pages(db: apsw.Connection, target: Path, secret: str) -> None:
    with contextlib.closing(open_raw(target, secret)) as made, made.backup("main", db, "main") as work:
        work.step()


def forget_seen(database: Path) -> None:
    """Remove what `keep_seen` has left: the database was rescued, or is not damaged after all."""
    remove(database.with_suffix(_SEEN))


def rescue(database: Path, backups: Path, now: datetime, damage: str) -> str:
    """Put a damaged database aside, and in its place its own rows if all can be read, else the newest good backup.

    Into the backup goes what can still be read of what came after it; what was deleted since stays deleted.
    Returns what happened in a sentence, which the owner is told at the next start of a session. Raises DamagedError
    where that has happened too often.
    """
    if len(list(backups.glob(f"{ASIDE}{now:%Y%m%d}-*"))) >= MOST_A_DAY:
        raise DamagedError(
            f"{database}: damaged for the {MOST_A_DAY + 1}th time today ({damage}); the disk may be failing. "
            f"`recalld restore-backup` goes back by hand"
        )
    how, good, prepared = "all memories could be taken over from it", None, _part(database)
    whole = any(salvaged(database, damaged, _part(database)) for damaged in (database.with_suffix(_SEEN), database))
    if not whole:
        good = next((copy for copy in copies(backups) if not unusable(copy, database)), None)
        how = f"the backup {good.name} is in its place" if good else "there was no good backup, so all begins anew"
        prepared = _copied(database, good) if good else _part(database)
    folder = _name(backups, now)
    db = open_writer(prepared)
    try:
        migrate(db, backups)
        how += "" if whole else _carried(db, database, good, now)
        told = f"the database was damaged and is kept in {folder}; {how}"
        with transaction(db, durable=True):
            meta.put(db, meta.RESCUED, told)
    finally:
        db.close()
    _exchange(database, backups, prepared, now)
    forget_seen(database)
    log.error("%s (%s)", told, damage)
    return told


def _carried(db: apsw.Connection, database: Path, good: Path | None, now: datetime) -> str:
    """Carry over what can still be read of what came after the backup; how much that was, as the end of a sentence."""
    torn = database.with_suffix(_TORN)
    since = datetime.fromtimestamp(good.stat().st_mtime, UTC) - _MARGIN if good else now
    deleted = deletions.since(database, since)
    remove(torn)
    try:
        remains.copied(database, torn)
        if good and key.plain(good) and not key.of_new(database):
            remains.lend(torn, good)
        paths = [path for path in (database.with_suffix(_SEEN), torn) if path.exists()]
        with contextlib.ExitStack() as stack, transaction(db, durable=True):
            found = [stack.enter_context(remains.opened(path, database)) for path in paths]
            usable = [one for one in found if one.version == len(scripts())]
            number, turns = carry.carry(db, usable, deleted, now)
    except StoreError as error:
        log.exception("what came after the backup could not be taken over")
        with transaction(db, durable=True):
            carry.carry(db, (), deleted, now)
        return f", without what came after it ({error})"
    finally:
        remove(torn)
        Path(f"{db.filename}{deletions.NAME}").unlink(missing_ok=True)  # these are known already
    return f", with what was newer and could be read (memories: {number}, turns: {turns})" if number or turns else ""


def finish(database: Path, backups: Path, now: datetime) -> None:
    """Complete an exchange that a crash has cut short. To be called before the database is opened."""
    if (ready := database.with_suffix(".next")).exists():
        _move(database, _name(backups, now), ready)


def _exchange(database: Path, backups: Path, prepared: Path, now: datetime) -> Path:
    folder = _name(backups, now)
    ready = database.with_suffix(".next")
    prepared.replace(ready)
    _move(database, folder, ready)
    return folder


def _move(database: Path, folder: Path, ready: Path) -> None:
    """Database, WAL and shared memory into `folder`, together; then `ready` in their place."""
    try:
        folder.mkdir(mode=0o700, parents=True)
        for part in _PARTS:
            if (file := database.with_name(database.name + part)).exists():
                file.rename(folder / file.name)
        ready.replace(database)
    except OSError as error:
        raise StoreError(f"{error.filename}: {error.strerror}") from error


def _name(backups: Path, now: datetime) -> Path:
    """A folder that is not there yet."""
    folder = backups / f"{ASIDE}{now:%Y%m%d-%H%M%S}"
    number = 1
    while folder.exists():
        number += 1
        folder = backups / f"{ASIDE}{now:%Y%m%d-%H%M%S}-{number}"
    return folder


def _part(database: Path) -> Path:
    """An unfinished file beside the database; none of an earlier try is left."""
    part = database.with_suffix(".part")
    remove(part)
    return part


def _copied(database: Path, copy: Path) -> Path:
    part = _part(database)
    with contextlib.closing(open_reader(copy, database)) as db, translated(copy):
        backup(db, part, database)
    with contextlib.closing(open_raw(part, key.of_new(database))) as db:
        journal(db, part)
    return part
