"""The durable queue: what has to be done, who does it, how often it failed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import apsw
import msgspec

from recalld.model import moment, timestamp

MAX_ATTEMPTS = 6
"""After this many failures a job is dead, shown by `recalld status`, and retried only by hand."""

BACKOFF_S = (5, 30, 120, 600, 1800)
"""Wait after the n-th failure."""

GATHER_S = 2
"""What is due so soon goes along with what is due: quick turns are asked about together."""

MAX_WAIT_S = 3600
"""A job due later than this from now was dated by a clock that was wrong then or is now: it is due."""


class Job(msgspec.Struct, frozen=True):
    """A claimed unit of work."""

    job_id: int
    kind: str
    key: str
    payload: dict[str, Any]
    attempts: int


class Counts(msgspec.Struct, frozen=True):
    """How many jobs are in each state."""

    ready: int = 0
    running: int = 0
    done: int = 0
    dead: int = 0


def enqueue(
    db: apsw.Connection,
    kind: str,
    key: str,
    now: datetime,
    *,
    delay_s: float = 0,
    payload: dict[str, Any] | None = None,
) -> None:
    """Add a job; nothing happens where one of this kind and key exists, done or not."""
    db.execute(
        """insert or ignore into jobs (kind, key, payload, not_before, created_at) values (?, ?, ?, ?, ?)""",
        (kind, key, json.dumps(payload or {}), timestamp(now + timedelta(seconds=delay_s)), timestamp(now)),
    )


def again(db: apsw.Connection, kind: str, key: str, now: datetime) -> None:
    """Do a job once more that was done before all was known; nothing happens to one that is still to be done."""
    db.execute(
        """update jobs set state = 'ready', attempts = 0, payload = '{}', not_before = ?, finished_at = null
           where kind = ? and key = ? and state = 'done'""",
        (timestamp(now), kind, key),
    )


def claim_turns(db: apsw.Connection, owner: str, now: datetime, limit: int) -> list[Job]:
    """The extractions of one session that are due, or will be at once, now running for `owner`; longest due first.

    One that waits after a failure is not among them. What failed before comes after the rest, an imported past last.
    """
    due = db.execute(
        """select j.job_id from jobs j join turns t on t.prompt_id = j.key
           where j.kind = 'extract' and j.state = 'ready' and (j.not_before <= ?4 or j.not_before > ?2)
               and t.session_id = (
               select t.session_id from jobs j join turns t on t.prompt_id = j.key
               where j.kind = 'extract' and j.state = 'ready' and (j.not_before <= ?1 or j.not_before > ?2)
               order by j.payload ->> '$.past' is not null, j.attempts, j.job_id limit 1)
           order by j.not_before, t.turn_id limit ?3""",
        (
            timestamp(now), timestamp(now + timedelta(seconds=MAX_WAIT_S)), limit,
            timestamp(now + timedelta(seconds=GATHER_S)),
        ),
    )  # fmt: skip
    claimed = json.dumps([row[0] for row in due])
    db.execute(
        """update jobs set state = 'running', owner = ?, attempts = attempts + 1
           where job_id in (select value from json_each(?))""",
        (owner, claimed),
    )
    rows = db.execute(
        """select job_id, kind, key, payload, attempts from jobs where job_id in (select value from json_each(?))
           order by job_id""",
        (claimed,),
    )
    return [Job(job_id, kind, key, json.loads(payload), attempts) for job_id, kind, key, payload, attempts in rows]


def mark(db: apsw.Connection, job_ids: list[int], payload: dict[str, Any]) -> None:
    """Note in these jobs how far they are."""
    db.execute(
        "update jobs set payload = json_patch(payload, ?) where job_id in (select value from json_each(?))",
        (json.dumps(payload), json.dumps(job_ids)),
    )


def finish(db: apsw.Connection, job_ids: list[int], now: datetime, note: str | None = None) -> None:
    """These are done; `note` keeps what is worth knowing (why nothing was stored)."""
    db.execute(
        """update jobs set state = 'done', owner = null, finished_at = ?, last_error = ?
           where job_id in (select value from json_each(?))""",
        (timestamp(now), note, json.dumps(job_ids)),
    )


def fail(
    db: apsw.Connection, jobs: list[Job], now: datetime, error: str, *, wait_s: float | None = None, dead: bool = False
) -> None:
    """These failed: ready again after a pause, or dead after MAX_ATTEMPTS or where `dead` says it is hopeless.

    wait_s: a pause that the other side asked for; such a failure does not count as an attempt.
    """
    for job in jobs:
        attempts = job.attempts - 1 if wait_s is not None else job.attempts
        pause = wait_s if wait_s is not None else BACKOFF_S[min(attempts, len(BACKOFF_S)) - 1]
        over = dead or attempts >= MAX_ATTEMPTS
        db.execute(
            """update jobs set state = ?, owner = null, attempts = ?, not_before = ?, last_error = ?, finished_at = ?
               where job_id = ?""",
            ("dead" if over else "ready", attempts, timestamp(now + timedelta(seconds=pause)), error,
             timestamp(now) if over else None, job.job_id),
        )  # fmt: skip


def take_back(db: apsw.Connection) -> int:
    """Make ready what was left running, and return how many those were.

    For the one worker of this home alone, between two jobs: then whatever runs was broken off, by an end of the daemon
    or by a database that was locked or full when its end was to be noted.
    """
    db.execute("update jobs set state = 'ready', owner = null where state = 'running'")
    return db.changes()


def revive(db: apsw.Connection, now: datetime) -> int:
    """Make dead jobs ready once more, and return how many those were."""
    db.execute(
        "update jobs set state = 'ready', attempts = 0, not_before = ?, finished_at = null where state = 'dead'",
        (timestamp(now),),
    )
    return db.changes()


def counts(db: apsw.Connection) -> Counts:
    """How many jobs are in each state."""
    return Counts(**dict(db.execute("select state, count(*) from jobs group by state")))


def last_error(db: apsw.Connection) -> str | None:
    """The newest error of a job that is not done."""
    error: str | None = db.execute(
        "select last_error from jobs where state <> 'done' and last_error is not null order by job_id desc limit 1"
    ).get
    return error


def next_due(db: apsw.Connection) -> str | None:
    """When the next ready job is due, as a timestamp."""
    due: str | None = db.execute("select min(not_before) from jobs where state = 'ready'").get
    return due


def waiting_s(db: apsw.Connection, now: datetime) -> float:
    """How long, in seconds, the longest due ready job has been due; 0 where none is."""
    due = next_due(db)
    return round(max(0.0, (now - moment(due)).total_seconds()), 1) if due else 0.0
