"""Whether similarity means what it says: of the items scored s, about a share s should be relevant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recalld.evaluate import scores
from recalld.evaluate.sweep import Labelled

BINS = 10


class Bin(NamedTuple):
    """The items scored from `low` up to `high`: how many, their mean similarity, and which share of them is relevant."""

    low: float
    high: float
    n: int
    similarity: float
    relevant: float


def table(prompts: Sequence[Labelled]) -> tuple[Bin, ...]:
    """A row for each tenth of the scale that has items; neutral ones, and prompts that ask for nothing, are left out."""
    found: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for prompt in prompts:
        for item in () if prompt.ranked.silent else prompt.ranked.items:
            if item.id not in prompt.neutral:
                place = min(BINS - 1, int(item.similarity * BINS))
                found[place].append((item.similarity, item.id in prompt.relevant))
    return tuple(_bin(place, items) for place, items in enumerate(found) if items)


def _bin(place: int, items: Sequence[tuple[float, bool]]) -> Bin:
    mean = round(scores.mean([similarity for similarity, _ in items]), 3)
    share = round(scores.share(sum(relevant for _, relevant in items), len(items)), 3)
    return Bin(place / BINS, (place + 1) / BINS, len(items), mean, share)
