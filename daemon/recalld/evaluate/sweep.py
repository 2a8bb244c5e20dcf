"""What each threshold would make of the same prompts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from recalld.config import MemoryConfig
from recalld.evaluate import scores
from recalld.evaluate.ranking import Ranked

STEPS = 50


class Labelled(NamedTuple):
    """A prompt and what is right for it, as ids of the scratch store. neutral: counted neither for nor against."""

    ranked: Ranked
    relevant: Collection[str]
    neutral: Collection[str]


class Point(NamedTuple):
    """The scores at one threshold."""

    threshold: float
    precision: float
    recall: float
    f1: float
    silent: float


Curve = tuple[Point, ...]


def curve(prompts: Sequence[Labelled], config: MemoryConfig) -> Curve:
    """The scores at thresholds from 0 to 1, the one in use among them."""
    thresholds = {step / STEPS for step in range(STEPS + 1)} | {config.similarity_threshold}
    return tuple(at(prompts, config, threshold) for threshold in sorted(thresholds))


def at(prompts: Sequence[Labelled], config: MemoryConfig, threshold: float) -> Point:
    """The scores of what would be injected at this threshold."""
    config = msgspec.structs.replace(config, similarity_threshold=threshold)
    given = [(prompt.ranked.chosen(config), prompt) for prompt in prompts]
    return Point(threshold, *injected([(chosen, prompt.relevant, prompt.neutral) for chosen, prompt in given]))


def injected(
    prompts: Sequence[tuple[Sequence[object], Collection[object], Collection[object]]],
) -> tuple[float, float, float, float]:
    """Precision, recall, F1, silence of (given, relevant, neutral) for each prompt.

    Precision and recall are micro-averaged over all prompts. Silence is the share of the prompts with nothing
    relevant that were given nothing, neutral ones apart; 1 where there are no such prompts.
    """
    hits = counted = wanted = quiet = silent = 0
    for given, relevant, neutral in prompts:
        right, wrong = set(given) & set(relevant), set(given) - set(relevant) - set(neutral)
        hits, counted, wanted = hits + len(right), counted + len(right) + len(wrong), wanted + len(set(relevant))
        quiet += not relevant
        silent += not relevant and not wrong
    precision, recall = scores.share(hits, counted), scores.share(hits, wanted)
    return precision, recall, scores.f1(precision, recall), scores.share(silent, quiet) if quiet else 1.0
