"""What the command line, HTTP and MCP do alike."""

from __future__ import annotations

import time

import pytest

from recalld.ends import shown, when


def test_a_date_is_meant_where_it_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is no date goes on as it was typed: a period, or what nobody can read."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert when(" 2026-01-31 ") == "2026-01-31T00:00:00+08:00"
        assert when("2026-01-31T08:00:00Z") == "2026-01-31T16:00:00+08:00"
        assert [when(text) for text in ("90d", "next week")] == ["90d", "next week"]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_what_was_found_is_one_flat_object() -> None:
    found = {"memory": {"id": "m-1", "content": "The shop sells tea."}, "score": 0.5, "similarity": 0.75}
    assert shown(found) == {"id": "m-1", "content": "The shop sells tea.", "score": 0.5, "similarity": 0.75}
