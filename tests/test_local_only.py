"""`[privacy] local_only`: what a project's turns say is shown to no remote model, also where it holds everywhere."""

from __future__ import annotations

from typing import Any

from recalld import maintain
from recalld.learn import _near
from recalld.store import turns
from test_condense import listed, tidy, told
from test_events import House, run

__all__ = ["run"]

LOCAL = '[privacy]\nlocal_only = ["Shop"]\n'


def test_what_is_learnt_there_is_shown_to_no_remote_model(run: Any) -> None:
    """What holds for the user is near the turns of every project; its words stay here all the same."""

    async def work(house: House) -> None:
        kept = await house.add("I prefer answers without a summary.", scope="user", type="preference")
        (house.home / "config.toml").write_text('[extract]\nbackend = "rules"\n')
        free = await house.add("I prefer answers in English.", scope="user", type="preference")
        assert (kept.local_only, free.local_only) == (True, False)
        await house.prompt("I prefer answers without a long summary, and in English.", "p1")
        said = await house.store.read(turns.load, ["p1"])
        for remote, shown in ((True, {free.id}), (False, {kept.id, free.id})):
            near = await house.store.read(_near, house.service.context("t"), said, remote=remote)
            assert {memory.id for memory in near} == shown

    run(work, LOCAL)


def test_a_summary_of_what_stays_here_stays_here(run: Any) -> None:
    async def work(house: House) -> None:
        await told(house)
        report: maintain.Report = await tidy(house)
        assert report.summaries
        assert all(memory.local_only for memory in await listed(house))

    run(work, LOCAL)
