"""Many small memories of one topic become one summary, and nothing is lost or kept alive by it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from recalld import condense, maintain
from recalld.config import KeepConfig
from recalld.model import Memory, Status, Type
from test_events import House, run

__all__ = ["run"]

PARTS = ("orders", "carts", "users", "prices", "stock", "mails", "invoices", "labels", "returns", "taxes", "coupons",
         "reports", "audits")  # fmt: skip


def sentence(number: int) -> str:
    return f"The {PARTS[number]} queue holds {100 + 7 * number} entries."


async def told(house: House, count: int = 12, **more: Any) -> list[Memory]:
    """So many facts about queues, a fortnight old."""
    house.ahead -= timedelta(days=14)
    made = [await house.add(sentence(number), tags=["area:queues"], **more) for number in range(count)]
    house.ahead += timedelta(days=14)
    return made


async def tidy(house: House) -> maintain.Report:
    report: maintain.Report = await house.store.act("maintain", None, False, maintain.tidy, house.now(), KeepConfig())
    return report


async def listed(house: House, **more: Any) -> list[Memory]:
    found: list[Memory] = await house.call("list", cwd=str(house.home / "shop"), **more)
    return found


def test_a_dry_run_shows_what_the_upkeep_then_does(run: Any) -> None:
    """One summary with every sentence as it was; the members are archived and linked; a second run does nothing."""

    async def work(house: House) -> None:
        made = await told(house)
        planned = await house.store.read(maintain.plan, house.now(), KeepConfig())
        assert len(await listed(house)) == 12
        done = await tidy(house)
        assert done.summaries == planned.summaries
        (summary,) = await listed(house)
        assert (summary.type, summary.project, summary.tags) == (Type.SUMMARY, "shop", ("area:queues",))
        assert summary.content == "queues: " + " · ".join(sentence(number) for number in range(12))
        assert set(summary.related) == {memory.id for memory in made}
        assert len(await listed(house, status="archived")) == 12
        assert (await tidy(house)).summaries == ()
        assert (await house.call("search", query="invoices queue", cwd=str(house.home / "shop")))[
            0
        ].memory.id == summary.id

    run(work)


def test_a_summary_is_given_to_a_prompt_that_asks_but_not_to_every_session(run: Any) -> None:
    """It is no note on where work stopped."""

    async def work(house: House) -> None:
        await told(house)
        await tidy(house)
        assert await house.start("s1") == {} or "queues" not in str((await house.start("s2")).get("hookSpecificOutput"))
        assert "The invoices queue holds 142 entries." in await house.prompt(
            "how many entries does the invoices queue hold?", "p1"
        )

    run(work)


@pytest.mark.parametrize("more", [{"pin": True}, {"type": "decision"}, {"type": "preference"}, {"expires": "1000d"}])
def test_what_stands_on_its_own_is_left_alone(run: Any, more: dict[str, Any]) -> None:
    async def work(house: House) -> None:
        await told(house, **more)
        assert (await tidy(house)).summaries == ()

    run(work)


def test_few_new_or_used_memories_are_left_alone(run: Any) -> None:
    async def work(house: House) -> None:
        made = await told(house, 11)
        assert (await tidy(house)).summaries == ()
        await house.add(sentence(11), tags=["area:queues"])
        assert (await tidy(house)).summaries == ()
        house.ahead += timedelta(days=8)
        await house.store.write(
            lambda db: db.execute("update memories set useful_count = 1 where id = ?", (made[0].id,))
        )
        assert (await tidy(house)).summaries == ()

    run(work)


def test_what_does_not_fit_stays_in_force(run: Any) -> None:
    """The summary is short enough for a prompt, and each memory is in it or by itself."""

    async def work(house: House) -> None:
        house.ahead -= timedelta(days=14)
        texts = [
            f"{sentence(number)[:-1]}, and the worker behind it restarts after {number + 3} failures in a row."
            for number in range(13)
        ]
        for text in texts:
            await house.add(text, tags=["area:queues"])
        house.ahead += timedelta(days=14)
        await tidy(house)
        rows = await listed(house)
        (summary,) = [row for row in rows if row.type is Type.SUMMARY]
        assert len(summary.content) <= condense.MAX_CHARS + 10
        alone = {row.content for row in rows}
        assert all((text in alone) != (text in summary.content) for text in texts)

    run(work)


def test_a_deleted_member_leaves_no_trace_in_the_summary(run: Any) -> None:
    """By our own command and by plain SQL; not in its history, nor in its index."""

    async def work(house: House) -> None:
        made = await told(house)
        await tidy(house)
        await house.call("delete", ids=[made[3].id])
        await house.store.write(lambda db: db.execute("delete from memories where id = ?", (made[5].id,)))
        (summary,) = await listed(house)
        for number in (3, 5):
            assert sentence(number) not in summary.content
            assert sentence(number) not in str(await house.call("history", id=summary.id))
        assert summary.content.count(" · ") == 9
        for made_one in made:
            if made_one.id not in (made[3].id, made[5].id):
                await house.call("delete", ids=[made_one.id])
        assert await listed(house, status="all") == []

    run(work)


def test_a_member_that_is_spoken_of_again_is_judged_by_itself(run: Any) -> None:
    """What it says is replaced as if there had been no summary, and the summary says the old no longer."""

    async def work(house: House) -> None:
        made = await told(house)
        await tidy(house)
        new = await house.add("The orders queue now holds 900 entries instead of 100.")
        old = await house.call("show", id=made[0].id)
        assert (old.status, old.superseded_by) == (Status.SUPERSEDED, new.id)
        rows = {row.type: row for row in await listed(house)}
        assert sentence(0) not in rows[Type.SUMMARY].content
        assert sentence(1) in rows[Type.SUMMARY].content
        hits = await house.call("search", query="orders queue", cwd=str(house.home / "shop"))
        assert hits[0].memory.id == new.id

    run(work)


def test_a_restored_member_stands_in_one_place_only(run: Any) -> None:
    async def work(house: House) -> None:
        made = await told(house)
        await tidy(house)
        await house.call("restore", ids=[made[2].id])
        contents = [row.content for row in await listed(house)]
        assert sum(sentence(2) in content for content in contents) == 1
        await house.call("restore", ids=[memory.id for memory in made])
        assert {row.content for row in await listed(house)} == {sentence(number) for number in range(12)}

    run(work)
