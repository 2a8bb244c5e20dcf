"""What a session said, into the store: once each, ended when it has ended, queued for extraction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import apsw

from recalld import redact
from recalld.model import Answer, Turn, moment, timestamp
from recalld.store import jobs, meta, turns
from recalld.store.turns import Session, Where
from recalld.transcript import Reading, TranscriptTurn

SETTLE_S = 1.0
"""Extraction waits this long after a turn, for its last lines to reach the transcript and for quick turns to gather."""

UNSAID_SETTLE_S = 5.0
"""And this long where the Stop did not bring the answer: only the transcript will have it, a while after the hook."""

LEEWAY = timedelta(minutes=2)
"""A transcript's turn older than its session is by this much is history that a fork or resume brought along."""

Redact = Callable[[str], str]


def begin(db: apsw.Connection, session_id: str, prompt_id: str, prompt: str, where: Where, now: datetime) -> bool:
    """A prompt was submitted: the session's open turns were interrupted, a new one begins.

    Returns whether a turn was queued by that.
    """
    interrupted = [earlier for earlier in turns.open_turns(db, session_id) if earlier != prompt_id]
    for earlier in interrupted:
        end(db, earlier, now, interrupted=True)
    recover(db, session_id, prompt_id, prompt, where, now)
    return bool(interrupted)


def recover(db: apsw.Connection, session_id: str, prompt_id: str, prompt: str, where: Where, now: datetime) -> None:
    """Store a turn that is heard of late or for the first time; it says nothing about the others."""
    turn = Turn(
        prompt_id=prompt_id,
        session_id=session_id,
        prompt=prompt,
        context=turns.last_turn(db, session_id),
        started_at=timestamp(now),
    )
    if not turns.open_turn(db, turn, where):
        fill(db, prompt_id, now, prompt=turn.prompt)


def fill(
    db: apsw.Connection, prompt_id: str, now: datetime, *, prompt: str = "", answer: str = "",
    answers: tuple[Answer, ...] = (),
) -> None:  # fmt: skip
    """Add what is known now of a turn; words of the person's that come after its extraction are extracted, too."""
    if turns.fill_turn(db, prompt_id, prompt=prompt, answer=answer, answers=answers):
        jobs.again(db, "extract", prompt_id, now)


def end(
    db: apsw.Connection, prompt_id: str, now: datetime, *, interrupted: bool = False, settle_s: float = SETTLE_S
) -> None:
    """A turn is over; it is queued for extraction, once."""
    turns.end_turn(db, prompt_id, now, interrupted=interrupted)
    jobs.enqueue(db, "extract", prompt_id, now, delay_s=settle_s)


def absorb(
    db: apsw.Connection, session: Session, reading: Reading, mask: Redact, now: datetime, *, final: bool = False
) -> None:
    """Take over what a transcript tells of a session's turns.

    final: nothing more will be written, so a turn without an end was interrupted.
    """
    oldest = moment(session.started_at) - LEEWAY
    for said in reading.turns:
        prompt_id = said.hook_id if said.hook_id and turns.known(db, said.hook_id) else said.prompt_id
        over = said.complete or said.interrupted or final
        if not turns.known(db, prompt_id):
            at = moment(said.started_at) if said.started_at else now
            if not over or _before(said, oldest) or meta.paused(db, timestamp(at)):
                continue
            # A fork copies history; an old client gives it other ids.
            if said.hook_id and turns.said_then(db, cleaned(said.prompt, mask), at):
                continue
            _insert(db, session, prompt_id, said, mask, now)
        fill(
            db, prompt_id, now,
            prompt=cleaned(said.prompt, mask),
            answer=cleaned(said.answer, mask) if over else "",  # so far it may be a word on the way
            answers=tuple(Answer(cleaned(a.question, mask), cleaned(a.answer, mask)) for a in said.answers),
        )  # fmt: skip
        still_open = turns.open_turns(db, session.session_id)
        if over and prompt_id in still_open:
            end(db, prompt_id, now, interrupted=said.interrupted or not said.complete)
        # Prompts queued behind one another go to the model as one, under the id of the last.
        for earlier in turns.with_prompt(db, still_open, [cleaned(prompt, mask) for prompt in said.prompts[:-1]]):
            end(db, earlier, now)
    turns.set_offset(db, session.session_id, reading.resume_offset)
    if reading.context_tokens is not None:
        turns.set_context(db, session.session_id, reading.context_tokens)


def cleaned(text: str, mask: Redact) -> str:
    """`text` as it may be stored: without private parts, injected memories and secrets."""
    return mask(redact.clean(text))


def _insert(
    db: apsw.Connection, session: Session, prompt_id: str, said: TranscriptTurn, mask: Redact, now: datetime
) -> None:
    turn = Turn(
        prompt_id=prompt_id,
        session_id=session.session_id,
        prompt=cleaned(said.prompt, mask),
        context=turns.last_turn(db, session.session_id),
        started_at=said.started_at or timestamp(now),
    )
    turns.open_turn(
        db, turn, Where(cwd=session.cwd, project_id=session.project_id, branch=mask(said.branch or "") or None)
    )


def _before(said: TranscriptTurn, oldest: datetime) -> bool:
    return said.started_at is not None and moment(said.started_at) < oldest
