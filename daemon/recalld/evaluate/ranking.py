"""Ranking and choosing for a prompt, as the service does it, with all that was ranked to look at."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from recalld import inject, query, recall
from recalld.config import MemoryConfig
from recalld.embed import Embedder
from recalld.store import search

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT = 50


class Ranked(msgspec.Struct, frozen=True):
    """What was found for a prompt, best first. vectors: by seq. silent: nothing is looked for in such a prompt.

    ms: for encoding, searching and ranking.
    """

    items: tuple[recall.Scored, ...]
    vectors: Mapping[int, Any]
    silent: bool
    ms: float

    def chosen(self, config: MemoryConfig) -> list[str]:
        """The ids of the memories that would be injected, best first."""
        if self.silent:
            return []
        selection = inject.for_prompt(self.items, (), 0, config, self.vectors)
        return [item.memory for item in selection.considered if item.given]


def rank(
    db: apsw.Connection,
    places: Sequence[str],
    text: str,
    embedder: Embedder | None,
    now: datetime,
    config: MemoryConfig,
    *,
    with_vectors: bool = False,
    context: bool = True,
) -> Ranked:
    """The memories of the partitions `places` for a prompt with nothing before it; no threshold is applied."""
    begun = time.perf_counter()
    asked = query.build(text, "", now)
    filters = recall.Filters(min_confidence=config.min_confidence)
    items = recall.rank(db, places, asked, embedder, now, config, filters, limit=LIMIT, context=context)
    ms = (time.perf_counter() - begun) * 1000
    vectors: dict[int, Any] = {}
    for place in places if with_vectors else ():
        vectors |= search.vectors(db, place, [item.seq for item in items])
    return Ranked(tuple(items), vectors, asked.silent, ms)
