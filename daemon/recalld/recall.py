"""Ranking: which memories matter to a question, best first, on a calibrated scale.

Full text and vectors both propose; what they propose is judged by one formula. `similarity` is a probability: of the
memories given s, about a share s is relevant. It is a logistic function of a few features, with the constants of
`Weights` below. `score` puts them in order: relevance, real use, recency, all three weighed by the configuration.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recalld.config import MemoryConfig
from recalld.model import Origin, Scope, Type
from recalld.proposals import Filters, Proposals, propose, together
from recalld.query import Query, inside
from recalld.scored import Row, Scored, most_hits, score, scored, used, with_conflicts, with_handles
from recalld.standing import standing
from recalld.store import search

if TYPE_CHECKING:
    import apsw

    from recalld.embed import Embedder

__all__ = ["Filters", "Scored", "rank", "standing"]


class Weights(NamedTuple):
    """The constants of the logistic function, in log-odds.

    words, cosine: the two measures of likeness. lead: of both together, over the best of the others.
    kin: likeness to a memory that itself is probably relevant. The others hold for a kind of prompt and of memory.
    """

    bias: float
    words: float
    cosine: float
    lead: float
    kin: float
    general_question: float
    lesson_for_trouble: float
    rule_for_change: float
    progress_asked: float
    progress_unasked: float
    user_scope: float


HYBRID = Weights(-3.65, 3.2, 1.75, 1.2, 2.2, -1.75, 0.65, 0.55, 0.9, -1.05, -0.8)
"""Fitted by logistic regression on a recall set of ours: 8 projects, 332 memories, 120 prompts in English, Chinese and
a few others, similarity threshold 0.45. Each project left out in turn: F1 0.72, silence 0.97; in the sample 0.74 and 0.97."""
TEXT_ONLY = Weights(-2.1, 2.15, 0.0, 1.6, 0.0, -2.1, 0.6, 0.35, 0.9, -0.75, -0.95)
"""The same while there are no vectors: F1 0.64 and 0.97."""
BARE = 3.0
"""What progress gains where the prompt asks for nothing else ("where did we stop?"); by hand, there are too few of them."""
KIN = 2
"""So many of the best lend something to their kin."""
# The order may lean more on meaning than the threshold does, and on what the shared public sets show (see `_in_context`).
MEANING = 2.0
"""What a cosine of 1 adds in the order (devbench R@5 91 -> 100, MADial R@10 +1)."""
AROUND = (0.35, 0.15)
"""Share of its log-odds that a memory said one or two before or after lends (LoCoMo: R@10 +9)."""
ASSISTANT = -3.0
"""What a memory loses that only the assistant said (BEAM: R@10 +8)."""
FITTING = 2
"""Use counts as far as a memory fits: times this power of its relevance. With 0, as in the plain formula, one that was
used all the time takes the only place from one that fits better in 5 prompts of 100 at a threshold of 0.2, with 1 in 2,
with 2 in none. What use is worth stays: right first memories of 77 on the recall set, 62 without, 66, 66 and 65."""
_FIRST = {scope.value: place for place, scope in enumerate((Scope.PROJECT, Scope.USER, Scope.ORG))}
"""What stands first on equal score."""


def rank(
    db: apsw.Connection,
    partitions: Sequence[str],
    query: Query,
    embedder: Embedder | None,
    now: datetime,
    config: MemoryConfig,
    filters: Filters | None = None,
    limit: int = 20,
    *,
    context: bool = True,
) -> list[Scored]:
    """The memories of `partitions` that fit the query, best first, at most `limit`; no threshold is applied.

    Without `embedder` only full text is asked. Without `filters` those of the configuration hold. Conflicts and handles
    are told of those that pass the configuration's threshold. context: also propose what was said around the best;
    that may be worth reading, but is hardly ever likely enough by itself to be injected.
    """
    filters = filters or Filters(min_confidence=config.min_confidence)
    vector = embedder.encode([query.text])[0] if embedder else None
    query = inside(query, _projects(db, partitions))
    ask = partial(propose, db, partitions, query, vector, now=now, context=context)
    found = _found(ask, query, filters)
    if not found.rows:
        return []
    odds = judge(found, query, TEXT_ONLY if vector is None else HYBRID)
    order = {seq: _probability(value) for seq, value in _in_context(found, odds).items()}
    best, most = max(order.values()), most_hits(db, partitions)
    scores = {}
    for seq, row in found.rows.items():
        fit = 1.0 if _asked_for(row, query) else order[seq] / best
        scores[seq] = score(fit, fit**FITTING * used(row, most), row, now, config)
    first = sorted(found.rows.values(), key=lambda row: (-scores[row.seq], _FIRST[row.scope], -row.seq))[:limit]
    items = [scored(row, _probability(odds[row.seq]), scores[row.seq]) for row in first]
    fitting = [item for item in items if item.similarity >= config.similarity_threshold]
    told = {item.seq: item for item in with_handles(db, with_conflicts(db, fitting))}
    return [told.get(item.seq, item) for item in items]


def _projects(db: apsw.Connection, partitions: Sequence[str]) -> list[str]:
    """The names of the projects among `partitions`."""
    ids = [search.owner(place)[1] for place in partitions]
    rows = (
        db.execute("select name from projects where project_id = ?", (number,)).fetchone() for number in ids if number
    )
    return [str(row[0]) for row in rows if row]


def _found(ask: Callable[[Filters], Proposals], query: Query, filters: Filters) -> Proposals:
    """What fits; of the time the query speaks of ("yesterday"), if there is anything of that time."""
    if query.status and query.since and not filters.since and not filters.until:
        found = ask(msgspec.structs.replace(filters, since=query.since, until=query.until))
        if found.rows:
            return found
    return ask(filters)


def judge(found: Proposals, query: Query, weights: Weights) -> dict[int, float]:
    """The log-odds that each proposed memory matters to the query."""
    likeness = {seq: found.words.get(seq, 0.0) + found.cosines.get(seq, 0.0) for seq in found.rows}
    first, second = (*sorted(likeness.values(), reverse=True), 0.0)[:2]
    odds = {}
    for seq, row in found.rows.items():
        lead = likeness[seq] - (second if likeness[seq] == first else first)
        odds[seq] = (
            weights.bias
            + weights.words * found.words.get(seq, 0.0)
            + weights.cosine * found.cosines.get(seq, 0.0)
            + weights.lead * lead
            + _by_kind(row, query, weights)
        )
    for seq, kin in _kin(found, odds).items():
        odds[seq] += weights.kin * kin
    return odds


def _by_kind(row: Row, query: Query, weights: Weights) -> float:
    """What the kinds of prompt and memory say before any word is compared."""
    value = weights.general_question * query.general + weights.user_scope * (row.scope == Scope.USER)
    if row.type == Type.PROGRESS:
        value += weights.progress_asked if query.status else weights.progress_unasked
        value += BARE * _asked_for(row, query)
    if query.trouble and row.type == Type.LESSON:
        value += weights.lesson_for_trouble
    if query.change and row.type in (Type.DECISION, Type.PREFERENCE):
        value += weights.rule_for_change
    return value


def _asked_for(row: Row, query: Query) -> bool:
    """Whether the prompt asks for where work stands, whatever the subject: then the newest is the best."""
    return query.bare and row.type == Type.PROGRESS


def _kin(found: Proposals, odds: Mapping[int, float]) -> dict[int, float]:
    """How like each memory is to one of the best others, times that one's probability."""
    if not found.vectors:
        return {}
    import numpy as np

    best = [seq for seq in heapq.nlargest(KIN, odds, key=odds.__getitem__) if seq in found.vectors]
    table = np.stack(list(found.vectors.values()))
    kin = dict.fromkeys(found.vectors, 0.0)
    for other in best:
        cosines = (_probability(odds[other]) * (table @ found.vectors[other])).tolist()
        for seq, cosine in zip(found.vectors, cosines, strict=True):
            if seq != other and cosine > kin[seq]:
                kin[seq] = cosine
    return kin


def _in_context(found: Proposals, odds: Mapping[int, float]) -> dict[int, float]:
    """The log-odds that decide the order: those said around a memory lend it some, and the user's word stands first.

    What was said around tells where to look, not that this one is relevant, so `similarity` does not have it.
    """
    leaning = {seq: value + MEANING * found.cosines.get(seq, 0.0) for seq, value in odds.items()}
    floor = min(leaning.values())
    order = dict(leaning)
    for seq, row in found.rows.items():
        if row.origin == Origin.ASSISTANT:
            order[seq] += ASSISTANT
        for distance, share in enumerate(AROUND, 1) if row.source_session else ():
            after = found.rows.get(seq + distance)
            if after is not None and together(row, after):
                order[seq] += share * (leaning[after.seq] - floor)
                order[after.seq] += share * (leaning[seq] - floor)
    return order


def _probability(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
