"""Whether an answer used a memory that was given for it: judged here, cheaply, from words and meaning.

What counts is what only the memory can have brought in: words of it that nobody had said in the turn before the answer
did. A number or a name says more than a plain word, one that many memories hold says little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import apsw

from recalld import segment
from recalld.model import Turn
from recalld.store import injections, search

MAX_WORDS = 4_000
MAX_SENTENCES = 60
"""So many sentences of an answer are compared by meaning, the first ones."""
NAME = 2.0
"""Weight of a number or a name; a plain word or a pair of Chinese characters has 1."""
CLEAR, CLEAR_SHARE = 2.0, 0.3
"""So much weight of the new words in the answer, if it is such a share of them: used."""
HALF = 0.45
LIKELY, LIKELY_COSINE = 0.9, 0.33
"""A single plain word is enough where it is half of what is new, or some sentence is near in meaning as well."""

_NAME = re.compile(r"[A-Za-z]+[A-Z_./-]\w+|(?<=[\w,;:] )[A-Z]\w+|`[^`]+`|\w*\d\w*")
_SENTENCE = re.compile(r"(?<=[.!?;\n])\s+|(?<=[。！？；\n])")

Encode = Callable[[Sequence[str]], Any]


def record(db: apsw.Connection, turn: Turn, project_id: int | None, encode: Encode | None) -> None:
    """Note for each memory that the turn's session holds whether its answer used it; one that was used stays so."""
    given = injections.unused(db, turn)
    if given and turn.answer:
        rarity = Rarity(db, search.seen_from(() if project_id is None else (project_id,)))
        injections.judged(db, given, judge([item.content for item in given], turn, rarity, encode))


def judge(contents: Sequence[str], turn: Turn, rarity: Rarity, encode: Encode | None) -> list[bool]:
    """For each of these memories whether the turn's answer used it."""
    said = rarity.stems("\n".join((turn.prompt, turn.context, *(answer.answer for answer in turn.answers))))
    answered = rarity.stems(turn.answer) - said
    return [
        _says(content, said, answered, rarity, partial(_nearness, content, turn.answer, encode)) for content in contents
    ]


def _says(content: str, said: set[str], answered: set[str], rarity: Rarity, nearness: Callable[[], float]) -> bool:
    """Whether enough of what is new in the memory stands in the answer. nearness: costly, so asked for only in doubt."""
    new = rarity.stems(content) - said
    names = rarity.stems(" ".join(_NAME.findall(content)))
    weights = {stem: rarity.of(stem) * _weight(stem, names) for stem in new}
    found = sum(weight for stem, weight in weights.items() if stem in answered)
    share = found / (sum(weights.values()) or 1.0)
    if found >= CLEAR and share >= CLEAR_SHARE:
        return True
    return found >= LIKELY and (share >= HALF or nearness() >= LIKELY_COSINE)


def _weight(stem: str, names: set[str]) -> float:
    if not stem.isascii() and len(stem) == 1:
        return 0.0
    return NAME if stem in names else 1.0


def _nearness(content: str, answer: str, encode: Encode | None) -> float:
    """The cosine of a memory and the nearest sentence of the answer; 0 where there are no vectors."""
    sentences = [part for part in _SENTENCE.split(answer) if part.strip()][:MAX_SENTENCES]
    if encode is None or not sentences:
        return 0.0
    rows = encode([content, *sentences])
    return float((rows[1:] @ rows[0]).max())


class Rarity:
    """Words as the index has them, and how rare each is among the memories of `places`: 1 for one that no other has."""

    def __init__(self, db: apsw.Connection, places: Sequence[str]) -> None:
        self._db = db
        self._places = places
        self._stem = search.stemmer(db)
        self._known: dict[str, float] = {}

    def stems(self, text: str) -> set[str]:
        """The words of `text` that say something."""
        return set(self._stem(" ".join(segment.terms(text, MAX_WORDS))))

    def of(self, stem: str) -> float:
        """How rare a word is, 0..1."""
        if stem not in self._known:
            pairs = [search.frequencies(self._db, place, [stem]) for place in self._places]
            count = max(1, sum(number for number, _ in pairs))
            holding = min(count, max(1, sum(found[stem] for number, found in pairs if number)))
            self._known[stem] = math.log(1 + (count - holding + 0.5) / (holding + 0.5)) / math.log(
                1 + (count - 0.5) / 1.5
            )
        return self._known[stem]
