"""The past of Claude Code: turns of transcripts that were written before recalld listened, into the same queue.

The opposite of `capture.absorb`, which leaves out what is older than its session: what a session said while recalld
listened is none of the import's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import apsw

from recalld import capture
from recalld.model import Answer, Turn, moment, timestamp
from recalld.store import jobs, meta, turns
from recalld.store.turns import Where
from recalld.transcript import TranscriptTurn

OUR_QUESTION = '{"memories":'
"""How a prompt begins that our own extraction has sent; old clients kept a transcript of it."""


def wanted(said: TranscriptTurn) -> bool:
    """Whether a person said it, and all of it."""
    over = said.complete or said.interrupted
    return over and bool(said.prompt or said.answers) and not said.prompt.startswith(OUR_QUESTION)


def offset(db: apsw.Connection, session_id: str) -> int:
    """How far the session's transcript was imported before."""
    return int(db.execute("select coalesce(max(past_offset), 0) from sessions where session_id = ?", (session_id,)).get)


def is_new(db: apsw.Connection, session_id: str, said: TranscriptTurn) -> bool:
    """Whether a turn was neither heard nor imported before, nor said in a pause."""
    if turns.known(db, said.prompt_id) or (said.hook_id and turns.known(db, said.hook_id)):
        return False
    if said.started_at and meta.paused(db, timestamp(moment(said.started_at))):
        return False
    since: str | None = db.execute(
        "select started_at from sessions where session_id = ? and imported_at is null", (session_id,)
    ).get
    return since is None or (said.started_at is not None and moment(said.started_at) < moment(since) - capture.LEEWAY)


def open_session(
    db: apsw.Connection, session_id: str, where: Where, path: str | None, headless: bool, first_at: str, now: datetime
) -> None:
    """Make the session known, over and summed up; one that was heard of stays as it is."""
    db.execute(
        """insert or ignore into sessions (session_id, project_id, cwd, transcript_path, headless, started_at,
               last_event_at, ended_at, summed_up_at, imported_at)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (session_id, where.project_id, where.cwd, path, int(headless), first_at, first_at, first_at, timestamp(now),
         timestamp(now)),
    )  # fmt: skip


def take(
    db: apsw.Connection,
    session_id: str,
    where: Where,
    said: Iterable[TranscriptTurn],
    mask: capture.Redact,
    now: datetime,
) -> int:
    """Store and queue the new ones of these turns, as of the time they were said; returns how many those were."""
    taken, before = 0, ""
    for one in said:
        context, before = before, capture.cleaned(f"{one.prompt}\n{one.answer}", mask)
        if not wanted(one) or not is_new(db, session_id, one):
            continue
        at = one.started_at or one.ended_at or timestamp(now)
        turn = Turn(
            prompt_id=one.prompt_id, session_id=session_id, prompt=capture.cleaned(one.prompt, mask),
            context=context, started_at=at,
        )  # fmt: skip
        turns.open_turn(
            db, turn, Where(cwd=where.cwd, project_id=where.project_id, branch=mask(one.branch or "") or None)
        )
        answers = tuple(Answer(capture.cleaned(a.question, mask), capture.cleaned(a.answer, mask)) for a in one.answers)
        turns.fill_turn(db, one.prompt_id, answer=capture.cleaned(one.answer, mask), answers=answers)
        turns.end_turn(db, one.prompt_id, moment(one.ended_at or at), interrupted=one.interrupted)
        jobs.enqueue(db, "extract", one.prompt_id, now, payload={"past": True})
        taken += 1
    return taken


def read_to(db: apsw.Connection, session_id: str, read: int) -> None:
    """The session's transcript was imported up to this byte; one that nobody listens to is read no further either."""
    db.execute(
        """update sessions set past_offset = max(past_offset, ?1),
               transcript_offset = iif(imported_at is null, transcript_offset, max(transcript_offset, ?1))
           where session_id = ?2""",
        (read, session_id),
    )
