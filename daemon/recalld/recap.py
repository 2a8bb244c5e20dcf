"""Where a session stopped: what its last answer says is still to do, as one note on progress.

Nothing is made up: the sentences are the assistant's own, and without one that speaks of open work there is no note.
A session that left a note on progress by itself (the person said it, or a model found it) needs none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import apsw

from recalld.model import Candidate, Origin, Turn, Type, moment, timestamp
from recalld.rules import rewrite
from recalld.rules.languages import table_of
from recalld.rules.split import Sentence, is_cjk, sentences, size
from recalld.rules.tags import tags_of
from recalld.rules.vetoes import Statement
from recalld.store import turns
from recalld.verbs import remember
from recalld.verbs.context import Context

IDLE = timedelta(hours=1)
"""A session that said nothing for so long has stopped, whether or not its end was heard of."""
AT_ONCE = 20
"""So many sessions are summed up in one transaction."""
CONFIDENCE = 0.7
MOST = 2
"""Sentences of a note."""

_OPEN = re.compile(
    r"\bstill (?:open|missing|to do|todo|fail\w*|needs?|lacks?|left|pending|broken|has to|have to|to be)\b"
    r"|\bnot (?:yet )?(?:done|finished|implemented|covered|tested|migrated|wired|started|ported)\b|\bnot yet\b"
    r"|\b(?:is|are|what) (?:left|remains|remaining)\b|\bremain(?:s|ing)?\b|\bleft to do\b|\bto-?do\b"
    r"|\bnext (?:step|up|is|comes|thing)\b|^next[:,]|\bblocked (?:by|on)\b|\bwaiting (?:for|on)\b"
    r"|\bhalf(?:[- ]|way)\w*|\bin progress\b|\bstopped (?:at|before)\b|\bpick (?:it )?up (?:at|with|from)\b"
    r"|下一步|还没|尚未|剩下|剩余|待办|未完成|没完成|进行中|卡在|还差|还需要|还要|停在"
)
_NO_STATE = re.compile(
    r"^(?:you (?:can|could|may|might|should)|let me know|if |would you|shall i|do you want|i can|feel free)"
    r"|\b(?:could|might|would|maybe|perhaps|want me to|nothing|no\b.{0,20}\bremain)|\?|？|没有(?:剩|待)|如果|要不要|可以"
)


def where_it_stopped(turn: Turn) -> Candidate | None:
    """The note on the state of work that a session's last turn ends with, if it says one."""
    if turn.interrupted:
        return None
    found = [text for one in sentences(turn.answer) if _is_state(one) and (text := _content(one))][-MOST:]
    if not found:
        return None
    content = ("" if is_cjk(sentences(found[0])[0].lang) else " ").join(found)
    return Candidate(
        content=content, type=Type.PROGRESS, confidence=CONFIDENCE, origin=Origin.ASSISTANT, tags=tags_of(content),
        prompt_id=turn.prompt_id,
    )  # fmt: skip


def _is_state(one: Sentence) -> bool:
    table = table_of(one.lang)
    vetoes = (_NO_STATE, table.question, table.hedge, table.unsure, table.hypothetical)
    return size(one.text) >= 4 and bool(_OPEN.search(one.bare)) and not any(veto.search(one.bare) for veto in vetoes)


def _content(one: Sentence) -> str:
    return rewrite.content(Statement(one.text, one.bare, one, table_of(one.lang), cut=False))


def due(db: apsw.Connection, now: datetime) -> list[str]:
    """The sessions that have stopped, are learnt from, and were not summed up since their last word."""
    rows = db.execute(
        """select session_id from sessions s
           where summed_up_at is null and headless = 0 and (ended_at is not null or last_event_at < ?)
           and not exists (select 1 from turns t left join jobs j on j.kind = 'extract' and j.key = t.prompt_id
                           where t.session_id = s.session_id and (t.state = 'open' or j.state in ('ready', 'running')))
           order by last_event_at limit ?""",
        (timestamp(now - IDLE), AT_ONCE),
    )
    return [row[0] for row in rows]


def sum_up(db: apsw.Connection, context: Context, session_ids: Sequence[str]) -> None:
    """Store where these sessions stopped, each once."""
    for session_id in session_ids:
        row = db.execute(
            """select prompt_id from turns where session_id = ? and state = 'ended' and answer <> ''
               order by turn_id desc limit 1""",
            (session_id,),
        ).fetchone()
        if row and not _told(db, session_id):
            _take(db, context, str(row[0]))
        db.execute("update sessions set summed_up_at = ? where session_id = ?", (timestamp(context.now), session_id))


def _take(db: apsw.Connection, context: Context, prompt_id: str) -> None:
    for stored in turns.load(db, [prompt_id]):
        candidate = where_it_stopped(stored.turn)
        if candidate is None or stored.where.project_id is None:
            continue
        said_at = moment(stored.turn.ended_at or stored.turn.started_at)
        said = remember.Said(where=stored.where, at=said_at, session_id=stored.turn.session_id)
        remember.take(db, context, candidate, said)


def _told(db: apsw.Connection, session_id: str) -> bool:
    """Whether the session left a note by itself."""
    found: Any = db.execute(
        """select exists (select 1 from memories where source_session = ? and type in ('progress', 'summary')
                          and status in ('active', 'pending'))""",
        (session_id,),
    ).get
    return bool(found)
