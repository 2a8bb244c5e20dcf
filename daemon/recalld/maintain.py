"""The daily upkeep: what has ended goes to the archive, old turns and receipts go, a backup, a look at the indexes."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import apsw
import msgspec

from recalld import decay
from recalld.config import KeepConfig
from recalld.model import Memory, Status, timestamp
from recalld.store import memories, meta, search
from recalld.store.migrate import backup

EVERY = timedelta(days=1)
RECEIPTS_DAYS = 90
JOBS_DAYS = 30
_DONE = "maintained_at"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, or would be. turns, receipts, jobs: rows removed. repaired: partitions indexed anew."""

    archived: tuple[Memory, ...] = ()
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
    ended = tuple(
        memory for memory in memories.listing(db, memories.Filter()) if decay.due(memory, now, keep) is Status.ARCHIVED
    )
    old_turns, old_receipts, old_jobs = _old(now, keep)
    return Report(
        archived=ended,
        turns=_count(db, f"turns where {_OLD_TURNS}", old_turns),
        receipts=_count(db, "injections where at < ?", old_receipts),
        jobs=_count(db, "jobs where state = 'done' and finished_at < ?", old_jobs),
    )


def tidy(db: apsw.Connection, now: datetime, keep: KeepConfig) -> Report:
    """Archive and remove what is due, mend indexes that do not match."""
    planned = plan(db, now, keep)
    for memory in planned.archived:
        memories.update(db, memory.id, now, status=Status.ARCHIVED)
    old_turns, old_receipts, old_jobs = _old(now, keep)
    db.execute(f"delete from turns where {_OLD_TURNS}", (old_turns,))
    db.execute("delete from injections where at < ?", (old_receipts,))
    db.execute("delete from jobs where state = 'done' and finished_at < ?", (old_jobs,))
    meta.put(db, _DONE, timestamp(now))
    return msgspec.structs.replace(planned, repaired=_repair(db))


def back_up(db: apsw.Connection, folder: Path, now: datetime, keep: KeepConfig) -> Path:
    """A new daily backup in `folder`; of the daily ones the newest `keep.backups` stay."""
    target = folder / f"memories-{now:%Y%m%d}.db"
    backup(db, target)
    for old in sorted(folder.glob("memories-*.db"))[: -keep.backups or None]:
        if old != target:
            old.unlink(missing_ok=True)
    return target


def shrink(db: apsw.Connection) -> None:
    """Fold the WAL into the database, and let SQLite look at its own statistics."""
    db.execute("pragma optimize")
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


# A turn whose job is not done yet is still needed, however old.
_OLD_TURNS = """started_at < ? and state <> 'open' and not exists (
    select 1 from jobs where kind = 'extract' and key = turns.prompt_id and state <> 'done')"""


def _old(now: datetime, keep: KeepConfig) -> tuple[str, str, str]:
    return tuple(timestamp(now - timedelta(days=days)) for days in (keep.turns_days, RECEIPTS_DAYS, JOBS_DAYS))  # type: ignore[return-value]


def _count(db: apsw.Connection, what: str, before: str) -> int:
    return int(db.execute(f"select count(*) from {what}", (before,)).get)


def _repair(db: apsw.Connection) -> tuple[str, ...]:
    """Index anew each partition whose full text is damaged or misses rows; vectors follow by themselves."""
    broken = tuple(place for place in sorted(_partitions(db)) if not search.sound(db, place))
    for place in broken:
        search.drop(db, place)
        condition = "scope = ?" if not place.startswith("p") else "project_id = cast(substr(?, 2) as integer)"
        # The update trigger has each of these rows indexed before the transaction commits.
        db.execute(f"update memories set type = type where status = 'active' and {condition}", (place,))
    return broken


def _partitions(db: apsw.Connection) -> set[str]:
    rows = db.execute("select distinct scope, project_id from memories where status = 'active'")
    return {search.partition(scope, project_id) for scope, project_id in rows} | search.partitions(db)
