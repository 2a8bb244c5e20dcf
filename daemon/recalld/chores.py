"""What is asked of recalld itself rather than of its memories; the same with a daemon and without."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from recalld import maintain
from recalld.model import Status, timestamp
from recalld.paths import Paths
from recalld.settings import Settings
from recalld.store import jobs, memories, meta, search, usage
from recalld.store.connection import WAL_BYTES
from recalld.store.store import Store, utc_now

Chore = Callable[[Store, Settings, Paths, dict[str, Any]], Awaitable[Any]]


async def pause(store: Store, settings: Settings, paths: Paths, arguments: dict[str, Any]) -> dict[str, bool]:
    """Give and learn nothing from now on."""
    await store.write_durably(meta.pause, timestamp(utc_now()))
    return {"paused": True}


async def resume(store: Store, settings: Settings, paths: Paths, arguments: dict[str, Any]) -> dict[str, bool]:
    """Take `pause` back."""
    await store.write_durably(meta.resume, timestamp(utc_now()))
    return {"paused": False}


async def maintain_now(
    store: Store, settings: Settings, paths: Paths, arguments: dict[str, Any]
) -> maintain.Report | None:
    """The daily upkeep, now; with `dry_run` only what it would do."""
    if arguments.get("dry_run"):
        return await store.read(maintain.plan, utc_now(), settings.current.keep)
    return await upkeep(store, settings, paths, force=True)


async def repair(store: Store, settings: Settings, paths: Paths, arguments: dict[str, Any]) -> dict[str, Any]:
    """Make damaged indexes anew; tells which those were."""
    return {"repaired": await store.mend(maintain.repair)}


async def retry(store: Store, settings: Settings, paths: Paths, arguments: dict[str, Any]) -> dict[str, int]:
    """Try dead jobs once more; tells how many there were."""
    return {"revived": await store.write(jobs.revive, utc_now())}


CHORES: Mapping[str, Chore] = {
    "pause": pause,
    "resume": resume,
    "maintain": maintain_now,
    "repair": repair,
    "retry": retry,
}


async def upkeep(store: Store, settings: Settings, paths: Paths, *, force: bool) -> maintain.Report | None:
    """Do the daily upkeep, if it is due or `force` says so."""
    now, keep = utc_now(), settings.current.keep
    if not force and not await store.read(maintain.due, now):
        return None
    repaired = await store.mend(maintain.repair)  # first: a backup has to be sound
    saved = await store.beside(maintain.back_up, paths.backups, now, keep)
    report = await store.act("maintain", None, False, maintain.tidy, now, keep)
    for place in await store.read(search.partitions):
        while await store.write(search.merge, place):
            pass
    await store.outside(maintain.shrink)
    return msgspec.structs.replace(report, backup=str(saved), repaired=repaired)


async def cut_log(store: Store) -> None:
    """See that the WAL is small, also where nothing more is written: only a write would cut it back by itself."""
    with contextlib.suppress(FileNotFoundError):
        if store.path.with_name(f"{store.path.name}-wal").stat().st_size > WAL_BYTES:
            await store.outside(maintain.cut_log)


def store_status(db: Any) -> dict[str, Any]:
    """The part of `status` that the database knows."""
    spend = usage.spent(db, usage.day_start(utc_now()))
    return {
        "memories": memories.count(db, memories.Filter()),
        "pending": memories.count(db, memories.Filter(statuses=(Status.PENDING,))),
        "projects": db.execute("select count(*) from projects").get,
        "jobs": msgspec.to_builtins(jobs.counts(db)),
        "queue_age_s": jobs.waiting_s(db, utc_now()),
        "spend": msgspec.to_builtins(spend),
        "last_error": jobs.last_error(db),
        "rescued": meta.get(db, meta.RESCUED),
        "paused": meta.get(db, meta.PAUSED) is not None,
    }
