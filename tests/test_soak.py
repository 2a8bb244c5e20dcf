"""A short form of `tests/soak.py`: sessions at once against a real daemon, and a burst of turns; see there."""

from __future__ import annotations

from pathlib import Path

from soak import Plan, plan_of, soak


def test_sessions_at_once_lose_double_and_break_nothing(tmp_path: Path) -> None:
    """Hook processes, a model, readers: each turn is captured and each fact stored once, the log has no error."""
    found = soak(tmp_path, Plan(sessions=8, turns=16, every_s=2.0, settle_s=10.0))
    assert found.wrong == ()
    assert found.asked
    assert len(found.ms["stop"]) == len(found.ms["prompt"]) == 16


def test_a_burst_of_turns_leaves_a_small_log(tmp_path: Path) -> None:
    """B18: while readers come and go the WAL stays bounded, and it is small again soon afterwards."""
    found = soak(tmp_path, Plan(sessions=8, turns=160, every_s=0.0, settle_s=30.0, backend="rules", hooks=False))
    assert found.wrong == ()
    assert found.facts == 80
    assert found.wal_most > 0


def test_the_long_form_is_as_long_as_it_says() -> None:
    assert plan_of([]) == Plan(sessions=20, turns=1000, every_s=12.0)
    assert plan_of(["--growth"]).turns == 20_000
