"""How memories age."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from consolidate_book import START, memory
from recalld.config import KeepConfig
from recalld.decay import due
from recalld.model import Status, Type, timestamp

PROGRESS = Type.PROGRESS


def at(days: float) -> str:
    return timestamp(START + timedelta(days=days))


@pytest.mark.parametrize(
    ("days", "fields", "expected"),
    [
        (89, {"confidence": 0.7}, None),
        (90, {"confidence": 0.7}, Status.ARCHIVED),
        (900, {"confidence": 0.8}, None),
        (900, {"confidence": 0.7, "pinned": True}, None),
        (100, {"confidence": 0.7, "last_used": at(50)}, None),
        (140, {"confidence": 0.7, "last_used": at(50)}, Status.ARCHIVED),
        (13, {"type": PROGRESS}, None),
        (14, {"type": PROGRESS}, Status.ARCHIVED),
        (14, {"type": PROGRESS, "last_used": at(13)}, Status.ARCHIVED),
        (14, {"type": PROGRESS, "pinned": True}, None),
        (200, {"type": PROGRESS, "status": Status.SUPERSEDED}, None),
        (200, {"type": Type.DECISION}, None),
        (3, {"expires_at": at(2)}, Status.ARCHIVED),
        (2, {"expires_at": at(2)}, Status.ARCHIVED),
        (1, {"expires_at": at(2)}, None),
        (3, {"expires_at": at(2), "pinned": True}, Status.ARCHIVED),
        (90, {"confidence": 0.7, "status": Status.PENDING}, Status.ARCHIVED),
        (90, {"confidence": 0.7, "status": Status.ARCHIVED}, None),
    ],
)
def test_what_is_over(days: float, fields: dict[str, Any], expected: Status | None) -> None:
    """Ends, progress and unsure memories nobody needs; pinned ones only by the end they were given."""
    assert due(memory("m-0", "x", **fields), START + timedelta(days=days), KeepConfig()) == expected


def test_zero_days_switch_a_rule_off() -> None:
    """Both rules."""
    never = KeepConfig(archive_after_days=0, progress_days=0)
    for fields in ({"confidence": 0.1}, {"type": PROGRESS}):
        assert due(memory("m-0", "x", **fields), START + timedelta(days=5000), never) is None
