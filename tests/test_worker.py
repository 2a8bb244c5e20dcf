"""The worker goes on, whatever one job or the database does."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from recalld.errors import TransientError
from recalld.learn import Learner
from recalld.settings import Settings
from recalld.store import jobs
from recalld.vectors import Model
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


def test_what_comes_at_the_moment_of_the_end_does_not_keep_the_daemon_alive(run: Any) -> None:
    """A job for the worker, the model, or another setting, while everything is told to end."""

    async def work(house: House) -> None:
        model = Model(house.store, Settings(house.home / "config.toml"), house.home, lambda: None)
        for waiting, comes in (
            (house.worker.run(), house.worker._woken), (model.first_try(60), model._tried), (model._pause(60), model._due),
        ):  # fmt: skip
            task = asyncio.create_task(waiting)
            await until_it_waits(comes)
            comes.set()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, 30)

    async def until_it_waits(event: asyncio.Event) -> None:
        while not event._waiters:
            await asyncio.sleep(0.01)

    run(work)
