"""What a session starts with: chosen for breadth, since there is no question yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from recalld import segment
from recalld.config import MemoryConfig
from recalld.model import Type
from recalld.scored import Scored, givable, most_hits, score, scored, with_conflicts, with_handles
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
EACH = 60
"""So many of each type are weighed: pinned first, then the most used and newest of a partition."""
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
            items.append(scored(row, worth, score(worth, row, most, now, config)))
    return with_handles(db, with_conflicts(db, _broad(items)))


def _weighed(db: apsw.Connection, place: str) -> set[int]:
    seqs: set[int] = set()
    for kind in Type:
        rows = db.execute(
            # What the upkeep has put together is out of use; a prompt may still ask for it.
            """select seq from memories where scope = ? and project_id is ? and status = 'active' and type = ?
               and (source <> 'maintain' or pinned = 1)
               order by pinned desc, useful_count desc, last_seen desc limit ?""",
            (*search.owner(place), kind.value, EACH),
        )
        seqs |= {int(row[0]) for row in rows}
    return seqs


def _broad(items: Sequence[Scored]) -> list[Scored]:
    """`items` by score, each lowered by the share of its words that one before it has."""
    words = {item.seq: frozenset(segment.terms(item.content)) for item in items}
    left = {item.seq: item for item in items}
    repeated = dict.fromkeys(left, 0.0)
    order: list[Scored] = []
    while left and len(order) < BROAD:
        chosen = max(left.values(), key=lambda item: (item.score - ALIKE * repeated[item.seq], item.seq))
        del left[chosen.seq]
        order.append(chosen)
        own = words[chosen.seq]
        for seq in left:
            shared = len(own & words[seq]) / max(1, len(words[seq]))
            repeated[seq] = max(repeated[seq], shared)
    return [*order, *sorted(left.values(), key=lambda item: (-item.score, -item.seq))]
