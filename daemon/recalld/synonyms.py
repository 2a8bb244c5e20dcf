"""Words that mean the same to a developer, in English and Chinese: `prod` and 线上, `creds` and `credentials`.

A prompt says `psql` where the memory says Postgres. The static model knows few such short names, and a question of five
words has no word to spare. The list is ours, written from general knowledge of the trade: general words first, no
names of single products except where they are how people call the thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

from recalld import segment
from recalld.store import search


class Sense(NamedTuple):
    """Another way to say a part of a query.

    stems: what a memory must hold, all of them. source: the stems of the query it stands for. weight: of these.
    """

    stems: frozenset[str]
    source: frozenset[str]
    weight: float


def senses(wanted: Mapping[str, float]) -> list[Sense]:
    """The other ways to say what `wanted` (stem -> weight) says."""
    by_stem, groups = _index()
    found = {}
    for stem in wanted:
        for number, entry in by_stem.get(stem, ()):
            if not entry <= wanted.keys():
                continue
            weight = min(wanted[part] for part in entry)
            for other in groups[number]:
                if other != entry and not other <= wanted.keys():
                    found[other, entry] = Sense(other, entry, weight)
    return list(found.values())


class _Index(NamedTuple):
    by_stem: dict[str, list[tuple[int, frozenset[str]]]]
    groups: list[list[frozenset[str]]]


@cache
def _index() -> _Index:
    stems = search.stemmer()
    by_stem: dict[str, list[tuple[int, frozenset[str]]]] = {}
    groups = []
    for number, line in enumerate(_lines()):
        group = list(dict.fromkeys(frozenset(_parts(stems(segment.index_text(entry)))) for entry in line))
        groups.append(group)
        for entry in group:
            for stem in entry:
                by_stem.setdefault(stem, []).append((number, entry))
    return _Index(by_stem, groups)


def _parts(stems: list[str]) -> list[str]:
    """The stems an entry asks for: of Chinese the pairs of characters, where it has any."""
    pairs = [stem for stem in stems if len(stem) > 1]
    return pairs or stems


def _lines() -> tuple[tuple[str, ...], ...]:
    text = (resources.files("recalld") / "synonyms.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return tuple(tuple(entry.strip() for entry in line.split(",") if entry.strip()) for line in lines)
