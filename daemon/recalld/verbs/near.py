"""What is stored near a candidate, which it has to be compared with."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from recalld import segment
from recalld.consolidate.compare import Relation, compare
from recalld.model import Candidate, Neighbour, Status, Type
from recalld.store import digests, memories, search
from recalld.verbs.context import Context

NEAREST = 8
"""How many neighbours by meaning, and as many by words, a candidate is compared with."""


def compared(db: apsw.Connection, context: Context, candidate: Candidate, project_id: int | None) -> list[Neighbour]:
    """The neighbours of a candidate, with each summarised memory that is spoken of again back in force, to be judged by itself."""
    near = neighbours(db, context, candidate, project_id)
    given_up = set(segment.terms(candidate.revokes))
    meant = [
        member
        for neighbour in near
        if neighbour.memory.type is Type.SUMMARY
        for member in digests.members(db, neighbour.memory)
        if given_up & set(segment.terms(member.content)) or _concerns(candidate.content, member.content)
    ]
    if not meant:
        return near
    for member in meant:
        memories.update(db, member.id, context.now, status=Status.ACTIVE)
    context.follow(db)
    return neighbours(db, context, candidate, project_id)


def _concerns(content: str, known: str) -> bool:
    """Whether what is said now may change what `known` says, not only speak of something like it."""
    comparison = compare(content, known)
    return comparison.cue or comparison.relation not in {Relation.APART, Relation.RELATED}


def neighbours(db: apsw.Connection, context: Context, candidate: Candidate, project_id: int | None) -> list[Neighbour]:
    """The stored memories that a candidate has to be compared with, nearest first."""
    places = search.seen_from(() if project_id is None else (project_id,))
    found: dict[int, tuple[float, float]] = {}
    for text, limit in ((candidate.content, NEAREST), (candidate.revokes, NEAREST)):
        if text:
            for seq, (cosine, words) in _near(db, context, places, text, limit).items():
                before = found.get(seq, (0.0, 0.0))
                found[seq] = (max(before[0], cosine), max(before[1], words))
    for seq in _waiting(db, candidate, project_id):
        found.setdefault(seq, (0.0, 0.0))
    rows = memories.by_seq(db, found)
    pairs = [Neighbour(rows[seq], cosine, words) for seq, (cosine, words) in found.items() if seq in rows]
    return sorted(pairs, key=lambda near: max(near.cosine, near.lexical), reverse=True)


def _near(
    db: apsw.Connection, context: Context, places: Sequence[str], text: str, limit: int
) -> dict[int, tuple[float, float]]:
    """By row number: the cosine, and the share of the text's words that the memory holds."""
    words = segment.terms(text)
    vector = context.vectors.embedder.encode([text])[0] if context.vectors else None
    found: dict[int, tuple[float, float]] = {}
    for place in places:
        by_words = {hit.seq for hit in search.lexical(db, place, words, limit)}
        by_meaning = {hit.seq for hit in search.nearest(db, place, vector, limit)} if vector is not None else set()
        seqs = by_words | by_meaning
        cosines = search.cosines(db, place, vector, seqs) if vector is not None else {}
        for seq, content in db.execute(
            "select seq, content from memories where seq in (select value from json_each(?))", (json.dumps([*seqs]),)
        ):
            held = set(segment.terms(content))
            share = sum(word in held for word in words) / len(words) if words else 0.0
            found[seq] = (max(0.0, cosines.get(seq, 0.0)), share)
    return found


def _waiting(db: apsw.Connection, candidate: Candidate, project_id: int | None) -> list[int]:
    """Memories that no index holds or that are compared by kind: pending ones, and progress with progress."""
    progress = candidate.type is Type.PROGRESS
    rows = db.execute(
        """select seq from memories where (project_id is null or project_id is ?)
           and (status = 'pending' or (? and status = 'active' and type = 'progress'))
           order by last_seen desc limit ?""",
        (project_id, int(progress), 2 * NEAREST),
    )
    return [row[0] for row in rows]
