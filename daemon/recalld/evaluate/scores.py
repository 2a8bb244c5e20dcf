"""Measures that several kinds of cases share. All are fractions, 0..1."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence


def share(part: float, whole: float) -> float:
    """`part` of `whole`; 0 of nothing."""
    return part / whole if whole else 0.0


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; 0 of none."""
    return share(sum(values), len(values))


def f1(precision: float, recall: float) -> float:
    """The harmonic mean of precision and recall."""
    return share(2 * precision * recall, precision + recall)


def recall_at(ranked: Sequence[object], relevant: Collection[object], k: int) -> float:
    """The share of `relevant` among the first `k`."""
    return share(len(set(ranked[:k]) & set(relevant)), len(set(relevant)))


def ndcg_at(ranked: Sequence[object], relevant: Collection[object], k: int) -> float:
    """Normalised discounted cumulative gain of the first `k`; a document is relevant or it is not."""
    wanted = set(relevant)
    gain = sum(1 / math.log2(place + 2) for place, item in enumerate(ranked[:k]) if item in wanted)
    return share(gain, sum(1 / math.log2(place + 2) for place in range(min(k, len(wanted)))))


def reciprocal_rank(ranked: Sequence[object], relevant: Collection[object]) -> float:
    """1 / the place of the first relevant one; 0 where none was found."""
    wanted = set(relevant)
    return next((1 / place for place, item in enumerate(ranked, 1) if item in wanted), 0.0)
