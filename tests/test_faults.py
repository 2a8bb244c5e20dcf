"""A short form of `tests/faults_harness.py`: some of the daemon's commits, each with a kill -9 before or after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults_harness import Point, afternoon


@pytest.mark.parametrize("point", [Point(1, "before"), Point(9, "after"), Point(18, "before"), Point(33, "after")])
def test_a_kill_at_a_commit_loses_nothing_and_doubles_nothing(tmp_path: Path, point: Point) -> None:
    """B73 and its kind: turns, jobs, memories and indexes are as if nothing had happened."""
    outcome = afternoon(tmp_path, point)
    assert outcome.killed
    assert outcome.wrong == ()
