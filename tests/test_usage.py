"""The ledger: what calls cost, what was spent today, whether there may be more."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recalld.config import ExtractConfig
from recalld.store import usage
from recalld.store.connection import open_writer, transaction
from recalld.store.migrate import migrate
from recalld.store.usage import Call, Spend

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def test_a_call_costs_what_its_tokens_cost() -> None:
    """Haiku 4.5: $1 in, $5 out, cache read a tenth and cache write 1.25 of input, a million tokens each."""
    assert usage.cost_usd("claude-haiku-4-5", 1_000_000, 1_000_000, 1_000_000, 1_000_000) == pytest.approx(7.35)
    assert usage.cost_usd("claude-haiku-4-5-20251001", 1000, 200) == pytest.approx(0.002)
    assert usage.cost_usd("anthropic/claude-sonnet-4-5", 1_000_000, 0) == pytest.approx(3.0)
    assert usage.cost_usd("claude-opus-4-5", 1_000_000, 0) == pytest.approx(5.0)
    assert usage.cost_usd("claude-opus-4-1", 1_000_000, 0) == pytest.approx(15.0)


def test_an_unknown_model_is_priced_like_the_dearest() -> None:
    assert usage.cost_usd("something-new", 1_000_000, 1_000_000) == pytest.approx(90.0)


def test_what_was_spent_today_is_the_sum_since_midnight(tmp_path: Path) -> None:
    """Calls of any outcome count; yesterday's do not."""
    db = open_writer(tmp_path / "memories.db")
    migrate(db, tmp_path / "backups")
    call = Call(
        backend="anthropic",
        model="m",
        outcome="ok",
        input_tokens=100,
        output_tokens=20,
        cache_read_tokens=3,
        cache_write_tokens=4,
        cost_usd=0.25,
    )
    with transaction(db):
        usage.record(db, call, NOON)
        usage.record(db, Call(backend="claude", model="m", outcome="transient"), NOON + timedelta(hours=1))
        usage.record(db, call, NOON - timedelta(days=2))
    assert usage.spent(db, NOON - timedelta(hours=1)) == Spend(calls=2, tokens=127, usd=0.25)
    assert usage.spent(db, NOON + timedelta(days=1)) == Spend()
    db.close()


def test_each_limit_stops_and_zero_is_none() -> None:
    spend = Spend(calls=500, tokens=9_000, usd=0.5)
    no_limit = ExtractConfig(max_usd_per_day=0, max_tokens_per_day=0, max_calls_per_day=0)
    assert usage.allowed(spend, no_limit) is None
    assert usage.allowed(Spend(), ExtractConfig()) is None
    assert "$0.50 of $0.50" in str(usage.allowed(spend, ExtractConfig()))
    assert "tokens" in str(usage.allowed(spend, ExtractConfig(max_usd_per_day=0, max_tokens_per_day=9_000)))
    assert "500 calls" in str(usage.allowed(spend, ExtractConfig(max_usd_per_day=0)))


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2026-03-04T00:00:00+00:00"),
        ("Asia/Tokyo", "2026-03-04T00:00:00+09:00"),
        ("America/Los_Angeles", "2026-03-04T00:00:00-08:00"),
    ],
)
def test_the_day_starts_at_the_users_own_midnight(zone: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert usage.day_start(NOON).isoformat() == expected
        # 25 October 2026 has 25 hours in Europe; its midnight is still summer time.
        monkeypatch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        assert usage.day_start(datetime(2026, 10, 25, 20, 0, tzinfo=UTC)).isoformat() == "2026-10-25T00:00:00+02:00"
    finally:
        monkeypatch.undo()
        time.tzset()
