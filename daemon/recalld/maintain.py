"""The daily upkeep: what has ended goes to the archive, old turns and receipts go, a backup, a look at the indexes."""

from __future__ import annotations

import logging
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import apsw
import msgspec

from recalld import condense, decay
from recalld.condense import Digest
from recalld.config import KeepConfig
from recalld.model import Memory, Status, timestamp
from recalld.store import changes, hub_items, memories, meta, rescue, search
from recalld.store.connection import BUSY_TIMEOUT_MS, fold, open_reader, translated
from recalld.store.copying import backup

log = logging.getLogger(__name__)

EVERY = timedelta(days=1)
RECEIPTS_DAYS = 90
JOBS_DAYS = 30
ASIDE_DAYS = 30
_DONE = "maintained_at"

AHEAD = timedelta(hours=1)
"""So far ahead of us may a clock have been that is not wrong."""
_DATED = (
    ("memories", "last_seen"), ("memories", "last_used"), ("sessions", "last_event_at"), ("turns", "started_at"),
    ("injections", "at"), ("jobs", "finished_at"), ("usage", "at"),
)  # fmt: skip
"""The times that decide what is over, or what today has cost."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, or would be.

    summaries: topics put together, with the memories that each stands for. turns, receipts, jobs: rows removed.
    repaired: partitions indexed anew.
    """

    archived: tuple[Memory, ...] = ()
    summaries: tuple[Digest, ...] = ()
    turns: int = 0
    receipts: int = 0
    jobs: int = 0
    repaired: tuple[str, ...] = ()
    backup: str | None = None


def due(db: apsw.Connection, now: datetime) -> bool:
    """Whether the last upkeep is a day ago (or was dated by a clock that ran ahead)."""
    last = meta.get(db, _DONE)
    return last is None or not timestamp(now - EVERY) < last <= timestamp(now)


def plan(db: apsw.Connection, now: datetime, keep: KeepConfig) -> Report:
    """What `tidy` would do now."""
    stored = memories.listing(db, memories.Filter())
    ended = tuple(memory for memory in stored if decay.due(memory, now, keep) is Status.ARCHIVED)
    numbers = dict(db.execute("select id, project_id from memories where status = 'active' and scope = 'project'"))
    gone = {memory.id for memory in ended}
    lasting = ((numbers[memory.id], memory) for memory in stored if memory.id in numbers and memory.id not in gone)
    old_turns, old_receipts, old_jobs = _old(now, keep)
    return Report(
        archived=ended,
        summaries=tuple(condense.plan(lasting, now)),
        turns=_count(db, f"turns where {_OLD_TURNS}", old_turns),
        receipts=_count(db, "injections where at < ?", old_receipts),
        jobs=_count(db, "jobs where state = 'done' and finished_at < ?", old_jobs),
    )


def tidy(db: apsw.Connection, now: datetime, keep: KeepConfig) -> Report:
    """Archive and remove what is due."""
    _back_to_now(db, now)
    planned = plan(db, now, keep)
    for memory in planned.archived:
        memories.update(db, memory.id, now, status=Status.ARCHIVED)
        hub_items.archived_here(db, memory.id)
    for digest in planned.summaries:
        _condense(db, digest, now)
    old_turns, old_receipts, old_jobs = _old(now, keep)
    db.execute(f"delete from turns where {_OLD_TURNS}", (old_turns,))
    db.execute("delete from injections where at < ?", (old_receipts,))
    db.execute("delete from jobs where state = 'done' and finished_at < ?", (old_jobs,))
    meta.put(db, _DONE, timestamp(now))
    return planned


def ahead(db: apsw.Connection, now: datetime) -> int:
    """How many times lie in the future: a clock ran ahead when they were stored, or is behind now."""
    later = timestamp(now + AHEAD)
    return sum(
        int(db.execute(f"select count(*) from {table} where {column} > ?", (later,)).get) for table, column in _DATED
    )


def _back_to_now(db: apsw.Connection, now: datetime) -> None:
    """What a clock that ran ahead has dated in the future is of today: else nothing of it would ever be over."""
    for table, column in _DATED:
        db.execute(f"update {table} set {column} = ?1 where {column} > ?2", (timestamp(now), timestamp(now + AHEAD)))


def _condense(db: apsw.Connection, digest: Digest, now: datetime) -> None:
    """One summary in the place of its members, which stay in the archive, linked with it."""
    made = memories.insert(db, condense.summary(digest, now), digest.project_id)
    for member in digest.members:
        memories.update(db, member.id, now, status=Status.ARCHIVED)
        memories.relate(db, made.id, member.id)


def back_up(db: apsw.Connection, folder: Path, now: datetime, keep: KeepConfig) -> Path:
    """A new daily backup in `folder`; of the daily ones the newest `keep.backups` stay.

    What was put aside (see `rescue`) goes after ASIDE_DAYS. Raises DamagedError, and leaves all, where the copy is bad.
    """
    target = folder / f"memories-{now:%Y%m%d}.db"
    backup(db, target)
    _rotate(folder, "memories-????????.db", keep.backups, target)
    for aside in folder.glob(f"{rescue.ASIDE}*"):
        if now.timestamp() - aside.stat().st_mtime > timedelta(days=ASIDE_DAYS).total_seconds():
            shutil.rmtree(aside, ignore_errors=True)
    return target


def back_up_now(database: Path, folder: Path, target: Path | None, now: datetime, keep: KeepConfig) -> Path:
    """A backup that the owner asked for, at `target` or in `folder`; of those there the newest `keep.backups` stay.

    A snapshot on a connection of its own: a daemon at work is not disturbed. Raises StoreError, DamagedError.
    """
    path = target or folder / f"memories-{now:%Y%m%d-%H%M%S}.db"
    db = open_reader(database)
    try:
        with translated(path):
            backup(db, path)
    finally:
        db.close()
    if target is None:
        _rotate(folder, "memories-????????-??????.db", keep.backups, path)
    return path


def _rotate(folder: Path, pattern: str, number: int, newest: Path) -> None:
    for old in sorted(folder.glob(pattern))[: -number or None]:
        if old != newest:
            old.unlink(missing_ok=True)


def shrink(db: apsw.Connection) -> None:
    """Fold the WAL into the database, and let SQLite look at its own statistics."""
    db.execute("pragma optimize")
    fold(db)


def cut_log(db: apsw.Connection) -> None:
    """Cut the WAL back that a reader who took its time has let grow; where one is still at work, nothing happens."""
    db.set_busy_timeout(0)
    try:
        fold(db)
    finally:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)


# A turn whose job is not done yet is still needed, however old.
_OLD_TURNS = """started_at < ? and state <> 'open' and not exists (
    select 1 from jobs where kind = 'extract' and key = turns.prompt_id and state <> 'done')"""


def _old(now: datetime, keep: KeepConfig) -> tuple[str, str, str]:
    return tuple(timestamp(now - timedelta(days=days)) for days in (keep.turns_days, RECEIPTS_DAYS, JOBS_DAYS))  # type: ignore[return-value]


def _count(db: apsw.Connection, what: str, before: str) -> int:
    return int(db.execute(f"select count(*) from {what}", (before,)).get)


def repair(db: apsw.Connection) -> tuple[str, ...]:
    """Index anew each partition whose indexes are damaged or do not match its memories; returns which those were.

    Call it with `changes` worked off, or its partitions are made anew for nothing.
    """
    broken = tuple(place for place in sorted(_partitions(db)) if not search.sound(db, place))
    for place in broken:
        log.warning("the indexes of %s were damaged and are made anew", place)
        changes.reindex(db, place)
    return broken


def _partitions(db: apsw.Connection) -> set[str]:
    rows = db.execute("select distinct scope, project_id from memories where status = 'active'")
    return {search.partition(scope, project_id) for scope, project_id in rows} | search.partitions(db)
