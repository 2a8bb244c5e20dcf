"""Percentiles by nearest rank: always a value that was measured."""

from __future__ import annotations

import math
from collections.abc import Collection


def place(count: int, share: float) -> int:
    """Where, of `count` > 0 values in order, the smallest one stands that `share` (0..1) of all do not exceed."""
    return min(count - 1, max(0, math.ceil(share * count) - 1))


def percentile(values: Collection[float], share: float) -> float:
    """That value; 0 of none."""
    return sorted(values)[place(len(values), share)] if values else 0.0
