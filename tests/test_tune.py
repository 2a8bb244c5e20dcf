"""`recalld tune`: it follows what the owner's history says, proposes nothing on little of it, and changes when told to."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest

from conftest import Home, memory
from recalld.evaluate import tuning
from recalld.store.labels import Asked, Weighed
from test_events import House, run  # noqa: F401  # the fixture


def weighed(similarity: float, *, used: bool | None = None, verdict: Any = None, given: bool = True) -> Weighed:
    return Weighed(similarity, given, "relevant" if given else "below the threshold", used, verdict)


def past(relevant_from: float, threshold: float, prompts: int = 200) -> list[Asked]:
    """Prompts for which nearly all that is at least so similar was relevant; a person said so, also of what was left out."""
    rnd = random.Random(7)
    history = []
    for number in range(prompts):
        items = []
        for similarity in sorted((rnd.uniform(0.1, 0.95) for _ in range(6)), reverse=True):
            right, given = similarity >= relevant_from and rnd.random() > 0.05, similarity >= threshold
            said = ("useful" if right else "useless") if given else ("missed" if right else None)
            items.append(weighed(similarity, verdict=said, given=given))
        history.append(Asked(number, tuple(items), 0))
    return history


def test_a_threshold_that_lets_too_much_through_is_raised() -> None:
    found = tuning.tune(past(0.55, 0.45), 0.45, 5)
    assert found.proposed == pytest.approx(0.55, abs=0.02)
    assert found.likely[0] <= found.best.threshold <= found.likely[1]
    assert found.best.precision > found.current.precision
    assert found.best.f1 > found.current.f1


def test_missed_memories_lower_it() -> None:
    found = tuning.tune(past(0.4, 0.5), 0.5, 5)
    assert found.proposed == pytest.approx(0.4, abs=0.03)
    assert found.best.recall > found.current.recall


def test_one_that_fits_stays() -> None:
    found = tuning.tune(past(0.45, 0.45), 0.45, 5)
    assert found.proposed is None or found.proposed == pytest.approx(0.45, abs=0.02)


@pytest.mark.parametrize(
    "history", [[], past(0.55, 0.45, 4), [Asked(n, (weighed(0.9, used=True),), 0) for n in range(200)]]
)
def test_little_or_one_sided_history_changes_nothing_and_says_so(history: list[Asked]) -> None:
    found = tuning.tune(history, 0.45, 5)
    assert found.proposed is None
    assert "too little is known" in found.reason


def test_noise_changes_nothing() -> None:
    """Labels that have nothing to do with similarity speak for no threshold."""
    rnd = random.Random(3)
    noise = [
        Asked(n, tuple(weighed(rnd.uniform(0.45, 0.9), verdict=rnd.choice(("useful", "useless"))) for _ in range(2)), 0)
        for n in range(60)
    ]
    found = tuning.tune(noise, 0.45, 5)
    assert found.proposed is None


def test_a_single_run_moves_it_only_so_far() -> None:
    found = tuning.tune(past(0.85, 0.3), 0.3, 5)
    assert found.proposed == pytest.approx(0.3 + tuning.FURTHEST)


def test_what_an_answer_does_not_show_counts_only_a_little_against_a_memory() -> None:
    assert tuning.chance(weighed(0.6, verdict="useful")) == 1
    assert tuning.chance(weighed(0.6, used=True, verdict="useless")) == 0
    assert tuning.chance(weighed(0.6)) == 0.6
    assert 0.35 < tuning.chance(weighed(0.6, used=False)) < 0.6 < 0.9 < tuning.chance(weighed(0.6, used=True))


def test_the_history_is_that_of_real_prompts_answers_and_feedback(run: Any) -> None:  # noqa: F811
    async def work(house: House) -> None:
        shop = str(house.home / "shop")
        one = await house.add("The orders database is PostgreSQL 16.")
        other = await house.add("We deploy on Tuesdays.")
        assert one.id[:8] in await house.prompt("which database do the orders use?", "p1")
        await house.stop("p1", "The orders database is PostgreSQL 16.")
        await house.learn()
        await house.prompt("thanks", "p2")
        assert one.id[:8] in await house.prompt("which database do the orders use?", "p3", "s2")
        await house.call("feedback", id=one.id, verdict="useless", cwd=shop)
        await house.call("feedback", id=other.id, verdict="missed", cwd=shop)
        newest, oldest = await house.call("labels")
        assert [item.used for item in oldest.items if item.given] == [True]
        assert [item.verdict for item in newest.items if item.given] == ["useless"]
        missed = [item for item in newest.items if item.verdict == "missed"]
        assert len(missed) + newest.unseen == 1

    run(work)


def test_the_command_shows_first_and_changes_only_when_told(home: Home) -> None:
    memory(home, "We use pnpm.")
    told = home.json("tune")
    assert (told["prompts"], told["proposed"], told["applied"]) == (0, None, False)
    assert "too little is known" in home.run("tune").stdout
    _fill(home, past(0.6, 0.45))
    config = home.paths.config
    before = config.read_text() if config.exists() else ""
    told = home.json("tune")
    assert (told["applied"], told["current"]["threshold"]) == (False, 0.45)
    assert told["proposed"] == pytest.approx(0.6, abs=0.02)
    assert "recalld tune --apply" in home.run("tune").stdout
    assert (config.read_text() if config.exists() else "") == before
    assert home.json("tune", "--apply")["applied"]
    shown = home.json("config", "show")["values"]["memory"]["similarity_threshold"]
    assert shown == told["proposed"]
    assert home.json("tune")["current"]["threshold"] == shown


def _fill(home: Home, history: list[Asked]) -> None:
    """Write receipts and feedback as they would have been recorded."""
    import sqlite3

    with contextlib.closing(sqlite3.connect(home.paths.database)) as db, db:
        db.execute("insert into sessions (session_id, cwd, started_at, last_event_at) values ('s', '/', '', '')")
        for asked in history:
            number = asked.injection_id + 1
            db.execute(
                "insert into injections values (?, 's', null, null, 'UserPromptSubmit', '', '2026-01-01', 10, 1)",
                (number,),
            )
            for rank, item in enumerate(asked.items):
                name = f"m-{number}-{rank}"
                db.execute(
                    "insert into injection_items values (?, ?, ?, 0, ?, ?, ?, null)",
                    (number, rank, name, item.similarity, int(item.given), item.reason),
                )
                if item.verdict:
                    db.execute("insert into feedback values (null, ?, ?, ?, '')", (name, item.verdict, number))
