"""The similarity threshold that the owner's own history speaks for, and how surely.

Each memory that was weighed for a prompt has a chance that it was relevant: what a person said of it decides; else
whether the answer used it; else the calibrated similarity itself. What a threshold would give is then known in
expectation, also below the one in use, and the best one has the largest F1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from recalld.store.labels import Asked, Weighed

LOWEST, HIGHEST, STEP = 0.20, 0.90, 0.01
FURTHEST = 0.15
"""So far a single run moves the threshold; what is below the one in use is known less well than what is above."""
LABELS, EACH = 60, 10
"""So many memories must have been judged, and so many of them for and against, before anything is proposed."""
RESAMPLES, SURE = 400, 0.9
"""The proposal must be better than the threshold in use in this share of bootstrap samples of the prompts."""
USED = 0.5
"""Of what is relevant the answer visibly uses about so much (an assumption: the rest is followed without being said)."""
BY_CHANCE = 0.05
"""And of what is not relevant so much."""
OPEN = ("relevant", "below the threshold", "enough items")
"""Reasons by which another threshold would have decided otherwise."""


class Outcome(msgspec.Struct, frozen=True):
    """What a threshold would have given, in expectation. given: memories; prompts: those that got any."""

    threshold: float
    given: int
    prompts: int
    precision: float
    recall: float
    f1: float


class Tuning(msgspec.Struct, frozen=True):
    """labels: how many memories were judged, by what. proposed: None where the threshold should stay; reason: why.

    current, best: what each gives. likely: between which thresholds the best one lies in 90 of 100 samples. sure: the
    share of samples in which the best beats the current one.
    """

    prompts: int
    labels: dict[str, int]
    current: Outcome
    best: Outcome
    likely: tuple[float, float]
    sure: float
    proposed: float | None
    reason: str


class _Counts(NamedTuple):
    """By prompt (row) and threshold (column): memories given, and how many of them are relevant; by prompt: how many there are."""

    given: NDArray[np.float64]
    right: NDArray[np.float64]
    wanted: NDArray[np.float64]


def tune(history: Sequence[Asked], threshold: float, max_items: int) -> Tuning:
    """What `history` says of the `threshold` in use. max_items: so many a prompt are given."""
    thresholds = _thresholds(threshold)
    counts = _counted(history, thresholds, max_items)
    rows = len(counts.wanted)
    scores = _f1(counts, np.ones((1, rows)))[0]
    now, best = thresholds.index(threshold), _best(scores, thresholds, threshold)
    draws = np.random.default_rng(0).multinomial(rows, np.full(rows, 1 / rows), RESAMPLES)
    sampled = _f1(counts, draws)
    winners = [thresholds[_best(row, thresholds, threshold)] for row in sampled]
    sure = float((sampled[:, best] > sampled[:, now]).mean())
    low, high = np.quantile(winners, (0.05, 0.95)).tolist()
    labels = _labels(history)
    reason = _against(labels, thresholds[best], threshold, sure)
    return Tuning(
        prompts=len(history), labels=labels, current=_outcome(counts, thresholds, now),
        best=_outcome(counts, thresholds, best), likely=(round(low, 2), round(high, 2)), sure=round(sure, 3),
        proposed=None if reason else thresholds[best],
        reason=reason or f"better in {sure:.0%} of {RESAMPLES} samples of your prompts",
    )  # fmt: skip


def chance(item: Weighed) -> float:
    """How likely it is that a memory was relevant."""
    if item.verdict:
        return float(item.verdict != "useless")
    if item.used is None:
        return item.similarity
    for_, against = (USED, BY_CHANCE) if item.used else (1 - USED, 1 - BY_CHANCE)
    weight = item.similarity * for_
    return weight / (weight + (1 - item.similarity) * against)


def _thresholds(current: float) -> list[float]:
    """Those within reach, the one in use among them."""
    steps = np.arange(round((HIGHEST - LOWEST) / STEP) + 1)
    near = [round(LOWEST + STEP * step, 2) for step in steps.tolist()]
    return sorted({current, *(one for one in near if abs(one - current) <= FURTHEST + 1e-9)})


def _counted(history: Sequence[Asked], thresholds: Sequence[float], max_items: int) -> _Counts:
    rows = max(1, len(history))  # without any, a single prompt that got nothing
    given, right, wanted = np.zeros((rows, len(thresholds))), np.zeros((rows, len(thresholds))), np.zeros(rows)
    for row, asked in enumerate(history):
        eligible = [(item, chance(item)) for item in asked.items if item.reason in OPEN]
        wanted[row] = sum(value for _, value in eligible) + asked.unseen
        for column, threshold in enumerate(thresholds):
            taken = [value for item, value in eligible if item.similarity >= threshold][:max_items]
            given[row, column], right[row, column] = len(taken), sum(taken)
    return _Counts(given, right, wanted)


def _f1(counts: _Counts, draws: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """By sample (row of `draws`: how often each prompt is in it) and threshold."""
    both = draws @ counts.given + (draws @ counts.wanted)[:, None]
    result: NDArray[np.float64] = 2 * (draws @ counts.right) / np.maximum(both, 1e-9)
    return result


def _best(scores: NDArray[np.float64], thresholds: Sequence[float], current: float) -> int:
    """The best threshold; of equals the one nearest to the current."""
    top = float(scores.max())
    return min(
        (place for place, score in enumerate(scores.tolist()) if score >= top - 1e-12),
        key=lambda place: abs(thresholds[place] - current),
    )


def _outcome(counts: _Counts, thresholds: Sequence[float], column: int) -> Outcome:
    given, right = float(counts.given[:, column].sum()), float(counts.right[:, column].sum())
    wanted = float(counts.wanted.sum())
    return Outcome(
        threshold=thresholds[column], given=int(given), prompts=int((counts.given[:, column] > 0).sum()),
        precision=round(right / given, 3) if given else 0.0, recall=round(right / wanted, 3) if wanted else 0.0,
        f1=round(2 * right / (given + wanted), 3) if given + wanted else 0.0,
    )  # fmt: skip


def _labels(history: Sequence[Asked]) -> dict[str, int]:
    found = Counter[str]()
    for asked in history:
        found["missed"] += asked.unseen
        for item in asked.items:
            if item.verdict:
                found[item.verdict] += 1
            elif item.used is not None:
                found["used" if item.used else "not used"] += 1
    return {name: found[name] for name in ("used", "not used", "useful", "useless", "missed")}


def _against(labels: dict[str, int], best: float, current: float, sure: float) -> str:
    """Why nothing should be changed, else ''."""
    yes = labels["used"] + labels["useful"] + labels["missed"]
    no = labels["not used"] + labels["useless"]
    if yes + no < LABELS or min(yes, no) < EACH:
        return (
            f"too little is known yet: {yes} memories spoken for and {no} against; it takes {LABELS}, "
            f"{EACH} of each kind (answers that use a memory and `recalld feedback` count)"
        )
    if best == current:
        return "the threshold in use is the best one"
    return (
        "" if sure >= SURE else f"no other is surely better: the best one is in only {sure:.0%} of {RESAMPLES} samples"
    )
