"""What full text and vectors propose for a question, with the two measures of likeness for each."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recalld import likeness
from recalld.model import Type, moment, timestamp
from recalld.query import SLIGHT, Query
from recalld.scored import Row, givable
from recalld.store import search

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

LEXICAL = 28
NEAREST = 24
"""How many memories full text and vectors propose, each, in a project."""
BESIDE = 0.5
"""And against that in user and team scope."""
CONTEXT = 6
"""For so many of the first of each, what was said just before and after is proposed too."""
REACH = 2
"""How many memories before and after."""
ENOUGH = 6
"""With so many real words in the query, single characters and the like propose nothing (they still count)."""
COMMON, MANY = 0.3, 1_000
"""Among more than MANY memories, the words that propose are held by no more than this share of them altogether."""
PROGRESS = 8
"""So many of the newest notes on progress are proposed where the prompt asks for them."""
NEAR_S = 3600.0
"""Memories of one session count as said together when no more than this lies between them."""


class Filters(msgspec.Struct, frozen=True):
    """What may be found at all; applied before ranking. Empty tuples and None admit everything."""

    types: tuple[Type, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    min_confidence: float = 0.0

    @property
    def narrow(self) -> bool:
        """Whether so much is left out that the allowed memories have to be listed first."""
        return bool(self.types or self.tags or self.since or self.until)


class Proposals(NamedTuple):
    """Memories by seq, and of each: the share of the query's words it holds, its cosine, and its vector."""

    rows: dict[int, Row]
    words: dict[int, float]
    cosines: dict[int, float]
    vectors: dict[int, NDArray[np.float32]]


def propose(
    db: apsw.Connection,
    partitions: Sequence[str],
    query: Query,
    vector: NDArray[np.float32] | None,
    filters: Filters,
    now: datetime,
    *,
    context: bool = True,
) -> Proposals:
    """The memories that may fit the query; with `context` also what was said around the first of them.

    Without `vector` only full text is asked.
    """
    found = Proposals({}, {}, {}, {})
    held: dict[int, likeness.Texts] = {}
    counts: dict[str, likeness.Counts] = {}
    wanted = likeness.wanted(db, query.words)
    for place in filter(partial(search.holds, db), partitions):
        counts[place] = likeness.Counts(*search.frequencies(db, place, wanted))
        rows, near = _first(db, place, query, _telling(db, query, counts[place]), vector, filters, now, context=context)
        found.rows.update(rows)
        held |= search.indexed(db, place, rows)
        if vector is not None and near:
            cosines, vectors = search.compare(db, place, vector, rows.keys() - near.cosines.keys())
            found.cosines.update({seq: near.cosines[seq] for seq in rows.keys() & near.cosines.keys()} | cosines)
            found.vectors.update({seq: near.vectors[seq] for seq in rows.keys() & near.vectors.keys()} | vectors)
    found.words.update(likeness.measure(db, wanted, counts, held))
    return found


def together(a: Row, b: Row) -> bool:
    """Whether two memories were said at about the same time in one session."""
    if a.source_session is None or a.source_session != b.source_session:
        return False
    if (a.scope, a.project_id) != (b.scope, b.project_id):
        return False
    if a.first_seen == b.first_seen:
        return True
    return abs((moment(a.first_seen) - moment(b.first_seen)).total_seconds()) <= NEAR_S


def _telling(db: apsw.Connection, query: Query, counts: likeness.Counts) -> list[str]:
    """The words that propose memories: the rare ones first, as long as not too many memories hold them.

    What nearly every memory holds ranks nothing and costs the most.
    """
    strong = [word for word, weight in query.words.items() if weight > SLIGHT]
    words = strong if len(strong) >= ENOUGH else list(query.words)
    if counts.memories <= MANY:
        return words
    stems = search.stemmer(db)
    held = {word: max((counts.held.get(stem, 0) for stem in stems(word)), default=0) for word in words}
    words = sorted((word for word in words if held[word]), key=held.__getitem__)
    sums = accumulate(held[word] for word in words)
    return words[: max(1, sum(total <= COMMON * counts.memories for total in sums))]


def _first(
    db: apsw.Connection,
    place: str,
    query: Query,
    words: list[str],
    vector: Any,
    filters: Filters,
    now: datetime,
    *,
    context: bool,
) -> tuple[dict[int, Row], search.Near | None]:
    """The best of a partition by words and by vector, and what was said around them; and what was compared with the vector.

    Asks for more as long as most of what was found may not be given (hedged, expired).
    """
    allowed = _allowed(db, place, filters) if filters.narrow else None
    factor = 1.0 if search.owner(place)[1] else BESIDE
    while True:
        lexical, nearest = int(LEXICAL * factor), int(NEAREST * factor)
        by_words = [hit.seq for hit in search.lexical(db, place, words, lexical, allowed)]
        near = search.near(db, place, vector, nearest, allowed, by_words) if vector is not None else None
        by_meaning = near.seqs if near else []
        seqs = {*by_words, *by_meaning}
        rows = givable(db, seqs, filters.min_confidence, now)
        full = len(by_words) == lexical or len(by_meaning) == nearest
        if not full or 2 * len(rows) >= len(seqs):
            break
        factor *= 4
    if context and allowed is None:
        best = {seq: rows[seq] for seq in (*by_words[:CONTEXT], *by_meaning[:CONTEXT]) if seq in rows}
        rows |= _around(db, best, rows, filters, now)
    if query.status:
        rows |= givable(db, _progress(db, place, filters), filters.min_confidence, now)
    return rows, near


def _around(
    db: apsw.Connection, best: Mapping[int, Row], known: Mapping[int, Row], filters: Filters, now: datetime
) -> dict[int, Row]:
    """What was said just before and after each of `best`, of what is not known yet."""
    steps = [step for step in range(-REACH, REACH + 1) if step]
    wanted = {seq + step for seq, row in best.items() if row.source_session for step in steps} - known.keys()
    if not wanted:
        return {}
    found = givable(db, wanted, filters.min_confidence, now, {row.source_session for row in best.values()})
    centres = ((row, [best[row.seq + step] for step in steps if row.seq + step in best]) for row in found.values())
    return {row.seq: row for row, near in centres if any(together(row, centre) for centre in near)}


def _progress(db: apsw.Connection, place: str, filters: Filters) -> Collection[int]:
    """The newest notes on where work stands that the filters admit."""
    kinds = tuple(kind for kind in (Type.PROGRESS, Type.SUMMARY) if not filters.types or kind in filters.types)
    if not kinds:
        return []
    return _allowed(
        db, place, msgspec.structs.replace(filters, types=kinds), "order by last_seen desc limit ?", PROGRESS
    )


def _allowed(db: apsw.Connection, place: str, filters: Filters, end: str = "", *rest: int) -> Collection[int]:
    """The memories of a partition that the filters admit."""
    conditions = ["status = 'active'", "scope = ?", "project_id is ?"]
    values: list[str | int | None] = [*search.owner(place)]
    if filters.types:
        conditions.append("type in (select value from json_each(?))")
        values.append(json.dumps(filters.types))
    for tag in filters.tags:
        conditions.append("exists (select 1 from json_each(tags) where value = ?)")
        values.append(tag)
    if filters.since:
        conditions.append("last_seen >= ?")
        values.append(timestamp(filters.since))
    if filters.until:
        conditions.append("last_seen < ?")
        values.append(timestamp(filters.until))
    query = f"select seq from memories where {' and '.join(conditions)} {end}"
    return [int(row[0]) for row in db.execute(query, (*values, *rest))]
