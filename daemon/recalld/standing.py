"""What a session starts with: chosen for breadth, since there is no question yet."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from recalld import segment
from recalld.config import MemoryConfig
from recalld.model import Type
from recalld.scored import Scored, givable, most_hits, score, scored, used, with_conflicts, with_handles
from recalld.store import search

if TYPE_CHECKING:
    import apsw

WORTH = {
    Type.PREFERENCE: 1.0,
    Type.DECISION: 0.9,
    Type.LESSON: 0.75,
    Type.PROGRESS: 0.6,
    Type.SUMMARY: 0.6,
    Type.FACT: 0.5,
}
"""What a type says where no question gives a similarity: rules hold in any session, a fact only for its subject."""
OTHER_BRANCH = 0.3
"""What progress made on another branch loses."""
EACH = 40
"""So many of a partition's most used memories are weighed, and so many of the newest of each type."""
NEWEST = 300
"""Of so many that were stored last those count as newest that were said last."""
BROAD = 60
"""So many are put in order with regard to each other, far more than a session takes; the rest follows by score."""
ALIKE = 0.5
"""How much of its score a memory loses that only repeats the words of one already taken."""


def standing(
    db: apsw.Connection, partitions: Sequence[str], now: datetime, config: MemoryConfig, branch: str | None = None
) -> list[Scored]:
    """The memories a session may start with, best first; each lowered by its likeness to those before it.

    `similarity` is the worth of the type. branch: the one at hand; progress made there comes first.
    """
    most = most_hits(db, partitions)
    items = []
    for place in partitions:
        for row in givable(db, _weighed(db, place), config.min_confidence, now).values():
            worth = WORTH[Type(row.type)]
            if row.type == Type.PROGRESS and branch and row.branch and row.branch != branch:
                worth -= OTHER_BRANCH
            items.append(scored(row, worth, score(worth, used(row, most), row, now, config)))
    return with_handles(db, with_conflicts(db, _broad(items)))


def _weighed(db: apsw.Connection, place: str) -> set[int]:
    """The pinned memories of a partition, the most used, and the newest of each type; each found by an index."""
    owner = search.owner(place)
    rows = db.execute(
        """select seq from memories where scope = ?1 and project_id is ?2 and pinned = 1 and status = 'active'
           union select * from (select seq from memories where scope = ?1 and project_id is ?2 and useful_count > 0
                                and status = 'active' and source <> 'maintain' order by useful_count desc limit ?3)""",
        (*owner, EACH),
    )
    seqs = {int(row[0]) for row in rows}
    for kind in Type:
        rows = db.execute(
            # What the upkeep has put together is out of use; a prompt may still ask for it.
            """select seq from (select seq, source, last_seen from memories where scope = ? and project_id is ?
                                and status = 'active' and type = ? order by seq desc limit ?)
               where source <> 'maintain' order by last_seen desc limit ?""",
            (*owner, kind.value, NEWEST, EACH),
        )
        seqs |= {int(row[0]) for row in rows}
    return seqs


def _broad(items: Sequence[Scored]) -> list[Scored]:
    """`items` by score, each lowered by the share of its words that one before it has.

    A memory is compared with those taken before it only once it comes up: it can but fall.
    """
    waiting = [(-item.score, -item.seq, _Waiting(item)) for item in items]
    heapq.heapify(waiting)
    order: list[_Waiting] = []
    while waiting and len(order) < BROAD:
        _, tie, first = heapq.heappop(waiting)
        first.words = first.words or _words(first.item)
        if first.compared == len(order):
            order.append(first)
            continue
        shared = max(len(first.words & other.words) for other in order[first.compared :]) / max(1, len(first.words))
        first.repeated, first.compared = max(first.repeated, shared), len(order)
        heapq.heappush(waiting, (ALIKE * first.repeated - first.item.score, tie, first))
    rest = sorted((one.item for *_, one in waiting), key=lambda item: (-item.score, -item.seq))
    return [*(one.item for one in order), *rest]


class _Waiting:
    """A memory not taken yet. repeated: the largest share of its words in one of the first `compared` that were taken."""

    def __init__(self, item: Scored) -> None:
        self.item = item
        self.words: frozenset[str] = frozenset()
        self.repeated = 0.0
        self.compared = 0


def _words(item: Scored) -> frozenset[str]:
    return frozenset(segment.terms(item.content))
