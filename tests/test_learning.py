"""What proves useful rises, what does not falls, and neither use nor showing crowds out a better memory."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import Home, failed, memory
from recalld.verbs import see
from test_events import House, run  # noqa: F401  # the fixture

ROUNDS = 500
# What is asked for all the time, what is asked for now and then, and both about the same thing.
PAIRS = [
    (("The order service publishes its events to Kafka.", "what does the order service publish its events to?"),
     ("The order service reads its prices from Redis.", "where does the order service read its prices?")),
    (("Deployments of the shop go through ArgoCD.", "how do deployments of the shop work?"),
     ("Deployments of the shop are frozen on Fridays.", "may I do a deployment of the shop on a Friday?")),
    (("支付服务把日志写到 Loki。", "支付服务的日志写到哪里？"),
     ("支付服务的密钥放在 Vault。", "支付服务的密钥放在哪里？")),
]  # fmt: skip
ONE = "[memory]\nmax_items_per_prompt = 1\nsimilarity_threshold = 0.45\n"


async def ids_of(house: House) -> list[tuple[str, str]]:
    """The pairs' ids, among forty memories of something else."""
    for number in range(40):
        await house.add(f"Service number {number} listens on port {9000 + number}.")
    return [((await house.add(often[0])).id, (await house.add(seldom[0])).id) for often, seldom in PAIRS]


def test_over_500_prompts_no_memory_crowds_out_a_better_one(run: Any) -> None:  # noqa: F811
    """One place a prompt; the memory asked for 19 times in 20 is shown and used some hundred times, the other hardly
    ever, and still the one that answers the question is given each time."""

    async def work(house: House) -> None:
        ids = await ids_of(house)
        for number in range(ROUNDS):
            pair = number % len(PAIRS)
            seldom = number // len(PAIRS) % 20 == 19
            content, question = PAIRS[pair][seldom]
            given = await house.prompt(question, f"p{number}", f"s{number}")
            assert ids[pair][seldom][:8] in given, (number, question, given)
            await house.stop(f"p{number}", "No idea." if seldom else content, f"s{number}")
            if number % 25 == 24:
                await house.learn()
        counts = dict(await house.store.read(
            lambda db: db.execute("select id, useful_count from memories where useful_count > 0").fetchall()
        ))  # fmt: skip
        assert all(counts.get(often, 0) > 100 for often, _ in ids)
        assert not any(seldom in counts for _, seldom in ids)

    run(work, ONE)


def test_being_shown_counts_for_nothing(run: Any) -> None:  # noqa: F811
    async def work(house: House) -> None:
        ids = await ids_of(house)
        before = await ranking(house, PAIRS[0][1][1])
        await house.store.write(
            lambda db: db.execute("update memories set hit_count = 10000 where id = ?", (ids[0][0],))
        )
        assert await ranking(house, PAIRS[0][1][1]) == before

    run(work)


async def ranking(house: House, query: str) -> list[tuple[str, float]]:
    found = await house.call("search", query=query, cwd=str(house.home / "shop"))
    return [(hit.memory.id, round(hit.score, 3)) for hit in found]


def test_what_has_nothing_to_do_with_a_question_is_not_listed(run: Any) -> None:  # noqa: F811
    """`search` shows what is not sure enough to be injected, but not what does not fit at all."""

    async def work(house: House) -> None:
        await ids_of(house)
        await house.add("The logo is blue.")
        found = await house.call("search", query="which colour has the logo?", cwd=str(house.home / "shop"))
        assert found[0].memory.content == "The logo is blue."
        assert len(found) < 10
        assert all(hit.similarity >= see.FLOOR for hit in found)

    run(work)


def test_feedback_raises_and_lowers(run: Any) -> None:  # noqa: F811
    async def work(house: House) -> None:
        for town in ("Bremen", "Kyoto", "Oslo"):
            await house.add(f"The warehouse in {town} closes at six in the evening.")
        asked = "when does the warehouse close in the evening?"
        last = (await ranking(house, asked))[-1][0]
        await house.call("feedback", id=last, verdict="useful")
        raised = await ranking(house, asked)
        assert raised[0][0] == last
        await house.call("feedback", id=raised[1][0], verdict="useful")
        await house.call("feedback", id=last, verdict="useless")
        assert (await ranking(house, asked))[0][0] == raised[1][0]

    run(work)


def test_what_was_useless_must_earn_its_place_again(run: Any) -> None:  # noqa: F811
    """Below zero only so far that a few real uses bring it back."""

    async def work(house: House) -> None:
        known = await house.add("The orders database is PostgreSQL 16.")
        for _ in range(10):
            shown = await house.call("feedback", id=known.id, verdict="useless")
        assert shown.useful_count == -3
        for _ in range(4):
            shown = await house.call("feedback", id=known.id, verdict="useful")
        assert shown.useful_count == 1
        assert shown.version == known.version

    run(work)


def test_feedback_is_kept_with_the_injection_that_it_is_about(run: Any) -> None:  # noqa: F811
    async def work(house: House) -> None:
        shop = str(house.home / "shop")
        one = await house.add("The orders database is PostgreSQL 16.")
        other = await house.add("We deploy on Tuesdays.")
        assert one.id[:8] in await house.prompt("which database do the orders use?", "p1")
        await house.call("feedback", id=one.id[:8], verdict="useful", cwd=shop)
        await house.call("feedback", id=other.id, verdict="missed", cwd=shop)
        await house.call("feedback", id=other.id, verdict="useless", cwd=shop)
        rows = await house.store.read(
            lambda db: db.execute(
                "select f.memory, verdict, query from feedback f left join injections using (injection_id) order by 1, 2"
            ).fetchall()
        )
        asked = "which database do the orders use?"
        assert sorted(rows, key=str) == sorted(
            [(one.id, "useful", asked), (other.id, "missed", asked), (other.id, "useless", None)], key=str
        )

    run(work, "[memory]\nsimilarity_threshold = 0.45\n")


@pytest.mark.parametrize(("verdict", "count"), [("useful", 1), ("useless", -1), ("missed", 0)])
def test_the_command_says_what_it_noted_and_how_to_take_it_back(home: Home, verdict: str, count: int) -> None:
    known = memory(home, "We use pnpm.")
    assert home.json("feedback", known, verdict)["useful_count"] == count
    said = home.run("feedback", known, verdict).stdout
    assert said.startswith(f"noted as {verdict}: We use pnpm. (")
    assert ("take it back with: recalld feedback" in said) is (count != 0)
    assert "no memory" in failed(home.run("feedback", "m-ffffff", verdict))
    assert home.run("feedback", known, "great").returncode == 2
