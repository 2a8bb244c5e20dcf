"""How measured times lie."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recalld.percentile import percentile


class Spread(msgspec.Struct, frozen=True):
    """Milliseconds; n: how many were measured."""

    p50: float
    p95: float
    p99: float
    n: int


def spread(times_ms: Sequence[float]) -> Spread:
    """The spread of these times."""
    p50, p95, p99 = (round(percentile(times_ms, part), 3) for part in (0.5, 0.95, 0.99))
    return Spread(p50, p95, p99, len(times_ms))
