"""How much of a question's words a memory holds: bm25 over the proposed memories, with synonyms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

from recalld import synonyms
from recalld.store import search

if TYPE_CHECKING:
    import apsw

K1 = 0.5
B = 0.6
"""bm25: how soon repetition stops counting, and how much length does. One-sentence memories want less of the first."""
FLOOR = 0.5
"""The best memory counts as 1, but only if it matches at least this much, in units of a word that no other one has."""
COVER, COVERED = 0.25, 3
"""And at least this share of what the query's three most telling words are worth, heard of or not."""
FEW = 30
"""In a store of fewer memories no word can be told to be rare: it is counted as if it had so many."""
SYNONYM = 0.6
"""A word found only as a synonym, against the word itself (recall set: F1 0.64 without, 0.70 with)."""

Texts = tuple[list[str], list[str]]
"""The stems of a memory's content, and of its tags and aliases."""


class _Terms(NamedTuple):
    """What a question asks for. wanted: stem -> weight. rarity: inverse document frequency."""

    wanted: Mapping[str, float]
    senses: Sequence[synonyms.Sense]
    rarity: Mapping[str, float]
    mean_length: float


class _Held(NamedTuple):
    """What one memory has of it: how often each stem stands in the content, and which stand in the names."""

    times: Mapping[str, int]
    named: AbstractSet[str]
    length: int


class Counts(NamedTuple):
    """How many memories a partition holds, and how many of them hold each stem that was asked for."""

    memories: int
    held: Mapping[str, int]


def wanted(db: apsw.Connection, words: Mapping[str, float]) -> dict[str, float]:
    """The stems of a query's words, each with its weight."""
    by_weight: dict[float, list[str]] = {}
    for word, weight in words.items():
        by_weight.setdefault(weight, []).append(word)
    stems = search.stemmer(db)
    return {stem: weight for weight in sorted(by_weight) for stem in stems(" ".join(by_weight[weight]))}


def measure(
    db: apsw.Connection, wanted: Mapping[str, float], counts: Mapping[str, Counts], texts: Mapping[int, Texts]
) -> dict[int, float]:
    """For each seq its share of the best match, 0..1.

    counts: of `wanted`, by partition. Words are counted over all of these together, so that a small one does not take
    every word for a rare one.
    """
    senses = synonyms.senses(wanted)
    asked = frozenset(wanted) | {stem for sense in senses for stem in sense.stems}
    held = {
        seq: _Held(_times([stem for stem in content if stem in asked]), asked.intersection(names), len(content))
        for seq, (content, names) in texts.items()
    }
    known = {stem for one in held.values() for stem in (*one.times, *one.named)}
    count, rarity = _rarity(db, counts, known)
    mean = sum(one.length for one in held.values()) / max(1, len(held))
    terms = _Terms(wanted, [sense for sense in senses if sense.stems <= known], rarity, max(1.0, mean))
    sums = {seq: _matched(terms, one) for seq, one in held.items()}
    unit = max(max(sums.values(), default=0.0), _enough(wanted, rarity, count)) or 1.0
    return {seq: value / unit for seq, value in sums.items()}


def _times(stems: list[str]) -> dict[str, int]:
    return {stem: stems.count(stem) for stem in stems}


def _enough(wanted: Mapping[str, float], rarity: Mapping[str, float], count: int) -> float:
    """What the best memory has to match at least, to count as 1."""
    unheard = math.log(1 + 2 * count)
    worth = sorted((weight * rarity.get(stem, unheard) for stem, weight in wanted.items()), reverse=True)
    return max(FLOOR * math.log(1 + count), COVER * sum(worth[:COVERED]))


def _rarity(db: apsw.Connection, counts: Mapping[str, Counts], words: set[str]) -> tuple[int, dict[str, float]]:
    """The number of memories, and the inverse document frequency of each of `words`."""
    total, frequency = 0, Counter[str]()
    for place, (memories, held) in counts.items():
        total += memories
        frequency.update({word: held[word] for word in words & held.keys()})
        frequency.update(search.frequencies(db, place, words - held.keys())[1])
    total = max(total, FEW)
    return total, {
        word: math.log(1 + max(0.0, total - frequency[word] + 0.5) / (frequency[word] + 0.5)) for word in words
    }


def _matched(terms: _Terms, held: _Held) -> float:
    """bm25 of one memory: the words it holds, and what it says by another name. Tags and aliases count like content."""
    present = held.times.keys() | held.named
    if not present:
        return 0.0
    damping = K1 * (1 - B + B * held.length / terms.mean_length)
    values = {}
    for stem in present:
        number = held.times.get(stem, 0)
        share = number * (K1 + 1) / (number + damping)
        values[stem] = terms.rarity[stem] * (max(1.0, share) if stem in held.named else share)
    direct = {stem: terms.wanted[stem] * value for stem, value in values.items() if stem in terms.wanted}
    total = sum(direct.values())
    for sense in terms.senses:
        if sense.stems <= present:
            instead = SYNONYM * sense.weight * max(values[stem] for stem in sense.stems)
            total += max(0.0, instead - sum(direct.get(stem, 0.0) for stem in sense.source))
    return total
