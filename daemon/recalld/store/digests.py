"""Summaries of a topic, and the archived memories whose sentences they hold.

A summary is its topic and the sentences of its members, word for word, so that each can be taken out again: when a
member is deleted, comes back into force, or is put differently, its sentence leaves the summary, whoever changed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from recalld.model import Memory, Status, timestamp
from recalld.store import memories

SOURCE = "maintain"
SEPARATOR = " · "


class Cut(NamedTuple):
    """A summary that lost a sentence."""

    seq: int
    id: str
    scope: str
    project_id: int | None
    version: int
    status: str


def text(topic: str, sentences: Sequence[str]) -> str:
    """The summary's content."""
    return f"{topic}: {SEPARATOR.join(sentences)}"


def members(db: apsw.Connection, summary: Memory) -> list[Memory]:
    """The archived memories that `summary` stands for; none for a summary that was written otherwise."""
    if summary.source != SOURCE:
        return []
    held = set(_sentences(summary.content)[1])
    found = (memories.get(db, other) for other in summary.related)
    return [memory for memory in found if memory and memory.status is Status.ARCHIVED and memory.content in held]


def cut(db: apsw.Connection, project_id: int, sentence: str, now: datetime, *, erased: bool) -> list[Cut]:
    """Take the sentence of a member out of its project's summaries; one that has no other is over.

    erased: the sentence must be nowhere any more, in no history either.
    """
    rows: Sequence[tuple[Any, ...]] = db.execute(
        """select seq, id, scope, project_id, version, status, content from memories
           where scope = 'project' and project_id = ? and status <> 'deleted' and type = 'summary' and source = ?
           and instr(content, ?) > 0""",
        (project_id, SOURCE, sentence),
    ).fetchall()
    lost = []
    for *fields, content in rows:
        summary = Cut(*fields)
        topic, held = _sentences(content)
        if sentence not in held:
            continue
        left = [other for other in held if other != sentence]
        gone = Status.DELETED if erased else Status.ARCHIVED
        values = (text(topic, left), summary.status) if left else ("" if erased else content, gone)
        db.execute(
            "update memories set content = ?, status = ?, version = version + 1, updated_at = ? where seq = ?",
            (*values, timestamp(now), summary.seq),
        )
        if erased:
            db.execute(
                "update history set content = '' where memory = ? and instr(content, ?) > 0", (summary.id, sentence)
            )
        lost.append(summary)
    return lost


def _sentences(content: str) -> tuple[str, list[str]]:
    topic, _, body = content.partition(": ")
    return topic, body.split(SEPARATOR)
