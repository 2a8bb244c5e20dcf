"""The worker goes on, whatever one job or the database does."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from recalld.errors import TransientError
from recalld.learn import Learner
from recalld.store import jobs
from test_events import House, run

__all__ = ["run"]


def test_a_job_whose_end_could_not_be_noted_is_done_again(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A locked or full database: nothing may stay `running` until the next start of the daemon."""

    async def work(house: House) -> None:
        await house.prompt("We deploy on Tuesdays.", "p1")
        await house.stop("p1")
        house.ahead += timedelta(seconds=5)
        learn, failures = Learner.learn, [TransientError("the database is locked", 0.01)]

        async def once_locked(self: Learner, claimed: list[jobs.Job], now: datetime) -> None:
            if failures:
                raise failures.pop()
            await learn(self, claimed, now)

        monkeypatch.setattr(Learner, "learn", once_locked)
        working = asyncio.create_task(house.worker.run())
        while not (await house.store.read(jobs.counts)).done:
            await asyncio.sleep(0.01)
        working.cancel()
        assert [row.content for row in await house.call("list", cwd=str(house.home / "shop"))]

    run(work)
