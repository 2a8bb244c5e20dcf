"""How long the daemon takes to answer hooks, since it started and of late."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from recalld.percentile import percentile

LAST = 1_000
"""So many of each event's answers tell the percentiles."""


class Pace:
    """Measures the answers to `events`; what is called otherwise is not looked at."""

    def __init__(self, events: Iterable[str]) -> None:
        self._last: dict[str, deque[float]] = {name: deque(maxlen=LAST) for name in events}
        self._sums: dict[str, list[float]] = {name: [0.0, 0.0] for name in self._last}

    @contextlib.contextmanager
    def measured(self, event: str) -> Iterator[None]:
        """The time until the end of the block counts, also where it raises."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            if event in self._last:
                self.add(event, (time.perf_counter() - begun) * 1000)

    def add(self, event: str, ms: float) -> None:
        """One answer took so many milliseconds."""
        self._last[event].append(ms)
        self._sums[event][0] += 1
        self._sums[event][1] += ms

    def report(self) -> dict[str, dict[str, Any]]:
        """For each event that came: how many, ms altogether, and the percentiles of the last ones, in ms."""
        return {
            event: {
                "count": int(self._sums[event][0]),
                "sum_ms": round(self._sums[event][1], 3),
                **{f"p{share}_ms": round(percentile(last, share / 100), 3) for share in (50, 95, 99)},
            }
            for event, last in self._last.items()
            if last
        }
