"""A memory with its place in an order, and how that place is reckoned."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recalld.config import MemoryConfig
from recalld.model import Origin, Scope, Type, moment, timestamp
from recalld.store import search
from recalld.store.injections import LEAST_USEFUL

if TYPE_CHECKING:
    import apsw

SHORT_ID = 8
"""`m-` and six digits."""
DAY_S = 86_400.0
RECENCY_DAYS = 30.0

COLUMNS = """seq, id, scope, project_id, type, content, origin, pinned, last_seen, first_seen, confidence, branch,
    useful_count, source_session"""


class Row(NamedTuple):
    """What ranking reads of a memory, in the order of COLUMNS."""

    seq: int
    id: str
    scope: str
    project_id: int | None
    type: str
    content: str
    origin: str
    pinned: int
    last_seen: str
    first_seen: str
    confidence: float
    branch: str | None
    useful_count: int
    source_session: str | None


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """A ranked memory.

    similarity: calibrated, 0..1; the threshold applies to it. score: the order. date: when it was last said.
    hits: how often it was really used. handle: the id, as short as it is unambiguous in the store.
    conflicts: ids of memories that it cannot hold together with; newer: those of them that came after it.
    """

    seq: int
    id: str
    scope: Scope
    type: Type
    content: str
    origin: Origin = Origin.USER
    similarity: float = 0.0
    score: float = 0.0
    pinned: bool = False
    date: str = ""
    confidence: float = 1.0
    branch: str | None = None
    hits: int = 0
    handle: str = ""
    conflicts: tuple[str, ...] = ()
    newer: tuple[str, ...] = ()


def givable(
    db: apsw.Connection,
    seqs: Collection[int],
    min_confidence: float,
    now: datetime,
    sessions: Collection[str | None] | None = None,
) -> dict[int, Row]:
    """Those of `seqs` that may be given: active, confident enough, not expired; said in one of `sessions`, if told."""
    found = db.execute(
        f"""select {COLUMNS} from memories where seq in (select value from json_each(?1))
            and status = 'active' and confidence >= ?2 and (expires_at is null or expires_at > ?3)
            and (?4 is null or source_session in (select value from json_each(?4)))""",
        (json.dumps(list(seqs)), min_confidence, timestamp(now), sessions and json.dumps(list(sessions))),
    )
    return {row[0]: Row(*row) for row in found}


def scored(row: Row, similarity: float, score: float) -> Scored:
    """A row with its two numbers."""
    return Scored(
        seq=row.seq, id=row.id, scope=Scope(row.scope), type=Type(row.type), content=row.content,
        origin=Origin(row.origin), similarity=similarity, score=score, pinned=bool(row.pinned), date=row.last_seen,
        confidence=row.confidence, branch=row.branch, hits=max(0, row.useful_count),
    )  # fmt: skip


def score(relevance: float, use: float, row: Row, now: datetime, config: MemoryConfig) -> float:
    """The order: relevance, real use (see `used`) and recency, as the configuration weighs them."""
    days = max(0.0, (now - moment(row.last_seen)).total_seconds() / DAY_S)
    weights = config.weights
    value = weights.similarity * relevance + weights.hits * use + weights.recency * math.exp(-days / RECENCY_DAYS)
    return value * config.type_weights.get(row.type, 1.0)


def used(row: Row, most: int) -> float:
    """How much a memory was really used, 1 for `most` times; below 0, to -1, where people found it useless."""
    if row.useful_count < 0:
        return max(-1.0, row.useful_count / -LEAST_USEFUL)
    return row.useful_count / most if most else 0.0


def most_hits(db: apsw.Connection, partitions: Sequence[str]) -> int:
    """The largest number of real uses of any memory there; 0 where none was used."""
    most = 0
    for place in partitions:
        row = db.execute(
            """select useful_count from memories where scope = ? and project_id is ? and useful_count > 0
               order by useful_count desc limit 1""",
            search.owner(place),
        ).fetchone()
        most = max(most, int(row[0]) if row else 0)
    return most


def with_conflicts(db: apsw.Connection, items: Sequence[Scored]) -> list[Scored]:
    """`items`, each with the ids of the memories that it is in open conflict with."""
    ids = json.dumps([item.id for item in items])
    pairs: list[tuple[str, str]] = [
        (str(before), str(after))
        for before, after in db.execute(
            """select older, newer from conflicts where settled_at is null and older in (select value from json_each(?))
               union select older, newer from conflicts where settled_at is null
               and newer in (select value from json_each(?))""",
            (ids, ids),
        )
    ]
    if not pairs:
        return list(items)
    newer: dict[str, list[str]] = {}
    older: dict[str, list[str]] = {}
    for before, after in pairs:
        newer.setdefault(before, []).append(after)
        older.setdefault(after, []).append(before)
    return [
        msgspec.structs.replace(
            item,
            conflicts=(*older.get(item.id, ()), *newer.get(item.id, ())),
            newer=tuple(newer.get(item.id, ())),
        )
        for item in items
    ]


def with_handles(db: apsw.Connection, items: Sequence[Scored]) -> list[Scored]:
    """`items`, each with the shortest id, of at least SHORT_ID characters, that no other memory's id begins with."""
    if not items:
        return []
    rows: Iterable[tuple[str, str | None, str | None]] = db.execute(
        """select value, (select max(id) from memories where id < value), (select min(id) from memories where id > value)
           from json_each(?)""",
        (json.dumps([item.id for item in items]),),
    )
    handles = {memory: _handle(memory, before or "", after or "") for memory, before, after in rows}
    return [msgspec.structs.replace(item, handle=handles[item.id]) for item in items]


def _handle(memory: str, before: str, after: str) -> str:
    """The start of an id that its neighbours in the order of ids do not share."""
    length = SHORT_ID
    while memory[:length] in (before[:length], after[:length]):
        length += 1
    return memory[:length]
