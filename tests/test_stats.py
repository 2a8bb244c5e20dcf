"""The counters of `recalld stats`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from recalld.errors import InputError
from recalld.store import usage
from test_events import House, run

__all__ = ["run"]


async def lived(house: House) -> None:
    """One memory given twice, once used; a call of a model last month, and one now."""
    await house.add("The orders database is PostgreSQL 16.", pin=True)
    await house.add("Answer briefly.", scope="user", type="preference")
    await house.start("s1")
    await house.start("s2")
    await house.prompt("thanks", "p1")
    await house.store.write(lambda db: db.execute("update injection_items set used = (injection_id = 1) where given"))
    call = usage.Call(backend="anthropic", model="claude-haiku-4-5", outcome="ok", input_tokens=900, output_tokens=100,
                      cost_usd=0.002, ms=700)  # fmt: skip
    for days in (0, 40):
        await house.store.write(usage.record, call, house.now() - timedelta(days=days), 1)


def test_what_was_stored_given_used_and_spent_is_counted(run: Any) -> None:
    async def work(house: House) -> None:
        await lived(house)
        found = await house.call("stats")
        assert found.memories.by_type == {"preference": 1, "fact": 1}
        assert found.memories.by_scope == {"user": 1, "project": 1}
        assert (found.memories.by_status, found.memories.pinned) == ({"active": 2}, 1)
        given = found.injections
        assert (given.events, given.filled, given.given, given.judged, given.used) == (3, 2, 4, 4, 2)
        assert given.share_used == 0.5
        assert given.tokens > 0
        assert 0 < given.session_start.p50_ms <= given.session_start.p95_ms
        spent = found.extraction
        assert (spent.turns, spent.calls, spent.tokens, spent.usd, spent.call.p95_ms) == (1, 1, 1000, 0.002, 700)
        assert [(one.name, one.calls) for one in spent.by_backend] == [("anthropic claude-haiku-4-5", 1)]
        assert [(one.name, one.usd) for one in spent.by_project] == [("shop", 0.002)]
        (day,) = found.by_day
        assert (day.added, day.turns, day.injections, day.given, day.used, day.calls) == (2, 1, 3, 4, 2, 1)

    run(work)


def test_days_and_project_limit_what_is_counted(run: Any) -> None:
    async def work(house: House) -> None:
        await lived(house)
        assert (await house.call("stats", days=60)).extraction.calls == 2
        assert (await house.call("stats", days=1, project="shop")).extraction.calls == 1
        (house.home / "other" / ".git").mkdir(parents=True)
        (house.home / "other" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        await house.add("The other one sells coffee.", cwd=str(house.home / "other"))
        other = await house.call("stats", project="other")
        assert (other.injections.events, other.extraction.calls, other.memories.by_scope) == (
            0,
            0,
            {"user": 1, "project": 1},
        )
        with pytest.raises(InputError, match="days 0"):
            await house.call("stats", days=0)

    run(work)


def test_an_empty_store_has_stats(run: Any) -> None:
    async def work(house: House) -> None:
        found = await house.call("stats")
        assert (found.by_day, found.injections.share_used, found.extraction.call.p50_ms) == ((), None, 0.0)

    run(work)
