"""From turns to memories: rules, then a model where one may be asked, each result in one commit with its job's state.

A crash repeats a job and never doubles it: what a turn has led to is found again by its prompt id.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recalld import capture, extract, rules, transcript, used
from recalld.errors import PermanentError, RecalldError, TransientError, UnavailableError
from recalld.llm import prompt
from recalld.llm.protocol import BadReplyError, NoAnswerError, Operation, TooLongError
from recalld.model import Candidate, Memory, moment
from recalld.pausing import HELD_S, Pauses
from recalld.service import Service
from recalld.store import injections, jobs, turns, usage
from recalld.store.jobs import Job
from recalld.store.store import Store
from recalld.store.turns import Session, StoredTurn
from recalld.verbs import remember
from recalld.verbs.context import Context
from recalld.verbs.near import neighbours

log = logging.getLogger(__name__)

BATCH = 8
"""So many turns of a session at most go into one model call."""

MAX_HALVINGS = 2
"""So often a question that is too long is asked again, each time with half the text."""

READ_CHARS = 2_000_000
"""So much text of a transcript is held at a time; one that is met for the first time may hold weeks."""

PAST_SHARE = 2
"""An imported past may use one part in so many of a day's caps; the rest is for what is said today."""

PAST_WAITS = "the imported past waits: its part of today's allowance for model calls is used"

MODEL_NEIGHBOURS = 20
"""So many stored memories are shown to the model with them."""


class Learner:
    """Works off claimed extraction jobs of one session."""

    def __init__(
        self, store: Store, service: Service, environ: Mapping[str, str], deadline_s: float = extract.DEADLINE_S
    ) -> None:
        self._store = store
        self._service = service
        self._environ = environ
        self._deadline_s = deadline_s
        self._pauses = Pauses()

    async def choice(self) -> extract.Choice:
        """The extraction backend in use right now; looked for in files, so on a thread of its own."""
        return await asyncio.to_thread(extract.choose, self._service.context("recalld").config, self._environ)

    async def reason(self, choice: extract.Choice) -> str:
        """What `status` says of the backend: why no model is asked at present, else why it is this one."""
        context = self._service.context("recalld")
        if choice.backend != "rules" and (spent := await self._store.read(_spent_up, context)):
            return f"rules only: {spent}"
        pause = self._pauses.of(choice, context.now)
        return f"rules only until {pause.until:%H:%M} UTC: {pause.reason}" if pause else choice.reason

    async def learn(self, claimed: Sequence[Job], now: datetime) -> None:
        """Extract from these jobs' turns; where a model has to wait, what the rules found is kept meanwhile."""
        batch = f"job:{claimed[0].job_id}"
        context = self._service.context("claude-code", batch)
        await self.read_transcript(await self._session(claimed[0]), now)
        said = [
            turn
            for turn in await self._store.read(turns.load, [job.key for job in claimed])
            if turn.turn.prompt or turn.turn.answers  # an answer alone was to something no person said
        ]
        new = await self._store.read(_unquoted, said)
        fresh = {job.key for job in claimed if not job.payload.get("rules")}
        candidates = [
            (turn, await asyncio.to_thread(rules.extract, bare.turn, self._encode()))
            for turn, bare in zip(said, new, strict=True)
            if turn.turn.prompt_id in fresh
        ]
        choice = await self.choice()
        asked = choice.backend != "rules" and extract.worth_asking([turn.turn for turn in new])
        if asked and choice.remote:
            asked = not await self._store.read(_local_only, context, said)
        later, wait_s = "", HELD_S
        if asked and (pause := self._pauses.of(choice, now)):
            later, wait_s = pause.reason, (pause.until - now).total_seconds()
        elif asked and all(job.payload.get("past") for job in claimed):
            later = PAST_WAITS if await self._store.read(_spent_up, context, PAST_SHARE) else ""
        elif asked:
            asked = not await self._store.read(_spent_up, context)
        ids = [job.job_id for job in claimed]
        await self._store.act(context.actor, batch, True, _keep_rules, context, candidates, ids, None if asked else now)
        if later:
            await self._store.write(jobs.fail, list(claimed), now, later, wait_s=wait_s)
        elif asked:
            await self._ask(claimed, new, choice, context)

    async def read_transcript(self, session: Session | None, now: datetime, *, final: bool = False) -> None:
        """Take over what is new in a session's transcript."""
        if session is None or session.transcript_path is None:
            return
        path, offset, more = Path(session.transcript_path), session.transcript_offset, True
        mask = self._service.redactor().redact
        while more:
            reading = await asyncio.to_thread(transcript.read, path, offset, READ_CHARS)
            if reading.problem:
                log.info("a transcript could not be read: %s", reading.problem)
                return
            offset, more = reading.resume_offset, reading.more
            await self._store.write(capture.absorb, session, reading, mask, now, final=final and not more)

    async def _session(self, job: Job) -> Session | None:
        said = await self._store.read(turns.load, [job.key])
        return await self._store.read(turns.session, said[0].turn.session_id) if said else None

    def _encode(self) -> Callable[[Sequence[str]], Any] | None:
        return self._store.vectors.embedder.encode if self._store.vectors else None

    async def _ask(
        self, claimed: Sequence[Job], said: Sequence[StoredTurn], choice: extract.Choice, context: Context
    ) -> None:
        """One model call for all these turns, its changes and the jobs' end in one commit."""
        near = await self._store.read(_near, context, said, remote=choice.remote)
        project_id = said[-1].where.project_id

        async def record(call: usage.Call) -> None:
            await self._store.write_durably(usage.record, call, context.now, project_id, claimed[0].job_id)

        dialogue = [turn.turn for turn in said]
        config = context.config.extract
        try:
            limit = prompt.LIMIT_CHARS >> _halved(claimed)
            found = await extract.ask(
                dialogue, near, choice, config, self._environ,
                record=record, limit_chars=limit, deadline_s=self._deadline_s,
            )  # fmt: skip
        except BadReplyError as error:
            await self._store.write(jobs.fail, list(claimed), context.now, str(error))
        except (TransientError, UnavailableError) as error:
            now = self._service.context("recalld").now  # the answer may have taken a minute
            pause_s = self._pauses.begin(choice, error, now)
            wait_s = None if isinstance(error, NoAnswerError) else pause_s
            await self._store.write(jobs.fail, list(claimed), now, str(error), wait_s=wait_s)
        except TooLongError as error:
            await self._too_long(claimed, context, error)
        except PermanentError as error:
            await self._store.write(jobs.fail, list(claimed), context.now, str(error), dead=True)
        else:
            self._pauses.end()
            ids = [job.job_id for job in claimed]
            dropped = "; ".join(found.dropped[:3]) or None
            await self._store.act(
                context.actor, context.batch, True, _keep_operations, context, found.operations, near, said, ids,
                dropped,
            )  # fmt: skip

    async def _too_long(self, claimed: Sequence[Job], context: Context, error: RecalldError) -> None:
        """Ask with half as much next time; given up after MAX_HALVINGS, what the rules found is kept."""
        halved = _halved(claimed) + 1
        if halved > MAX_HALVINGS:
            await self._store.write(jobs.fail, list(claimed), context.now, str(error), dead=True)
        else:
            await self._store.write(_shorter, list(claimed), context.now, str(error), halved)


def _halved(claimed: Sequence[Job]) -> int:
    """How often these turns were too long for the model already."""
    return max(int(job.payload.get("halved", 0)) for job in claimed)


def _unquoted(db: apsw.Connection, said: Sequence[StoredTurn]) -> list[StoredTurn]:
    """These turns of one session, without what their answers quote of the memories that it was given."""
    given = [_quote_of(text) for text in injections.contents(db, said[0].turn.session_id)] if said else []

    def bare(stored: StoredTurn) -> StoredTurn:
        answer = stored.turn.answer
        for quote in given:
            answer = quote.sub(" ", answer)
        return msgspec.structs.replace(stored, turn=msgspec.structs.replace(stored.turn, answer=answer))

    return [bare(stored) for stored in said]


def _quote_of(content: str) -> re.Pattern[str]:
    """A quote of `content`: all of it, or one half at least and an ellipsis for the rest."""
    half, cut = len(content) // 2, r"(?:\.\.\.|…)"
    start, end, rest = re.escape(content[:half]), re.escape(content[half:]), rf"[^\n]{{0,{half}}}?"
    return re.compile(f"{re.escape(content)}|{start}{rest}{cut}|{cut}{rest}{end}")


def _local_only(db: apsw.Connection, context: Context, said: Sequence[StoredTurn]) -> bool:
    """Whether any of these turns belongs to a project whose text stays on this machine."""
    return any(context.local_only(db, turn.where.project_id) for turn in said)


def _spent_up(db: apsw.Connection, context: Context, share: int = 1) -> str | None:
    """Why no more calls may be made today. share: only this part (one in `share`) of each cap may be used."""
    spend = usage.spent(db, usage.day_start(context.now))
    return usage.allowed(
        usage.Spend(spend.calls * share, spend.tokens * share, spend.usd * share), context.config.extract
    )


def _keep_rules(
    db: apsw.Connection,
    context: Context,
    found: Sequence[tuple[StoredTurn, list[Candidate]]],
    job_ids: list[int],
    done_at: datetime | None,
) -> None:
    """Store what the rules found and what the answers used, and end the jobs or note that only the model is left to ask."""
    encode = context.vectors.embedder.encode if context.vectors else None
    for stored, candidates in found:
        used.record(db, stored.turn, stored.where.project_id, encode)
        for candidate in candidates:
            remember.take(db, context, candidate, _occasion(stored))
    if done_at:
        jobs.finish(db, job_ids, done_at)
    else:
        jobs.mark(db, job_ids, {"rules": True})


def _keep_operations(
    db: apsw.Connection,
    context: Context,
    operations: Sequence[Operation],
    near: Sequence[Memory],
    said: Sequence[StoredTurn],
    job_ids: list[int],
    note: str | None,
) -> None:
    """Make the changes that the model proposed, and end the jobs."""
    by_prompt = {stored.turn.prompt_id: stored for stored in said}
    shown = {memory.id for memory in near}
    for operation in operations:
        stored = by_prompt.get(operation.prompt_id, said[-1])
        masked = msgspec.structs.replace(operation, content=context.redact(operation.content))
        remember.carry_out(db, context, masked, shown, _occasion(stored))
    jobs.finish(db, job_ids, context.now, note)


def _occasion(stored: StoredTurn) -> remember.Said:
    turn = stored.turn
    return remember.Said(where=stored.where, at=moment(turn.ended_at or turn.started_at), session_id=turn.session_id)


def _near(db: apsw.Connection, context: Context, said: Sequence[StoredTurn], *, remote: bool) -> list[Memory]:
    """The stored memories most like these turns, best first; for a remote model without those that stay here."""
    best: dict[str, tuple[float, Memory]] = {}
    for stored in said:
        asked = Candidate(content=stored.turn.prompt[:2000] or stored.turn.answer[:2000])
        for near in neighbours(db, context, asked, stored.where.project_id):
            score = max(near.cosine, near.lexical)
            if near.memory.id not in best or best[near.memory.id][0] < score:
                best[near.memory.id] = (score, near.memory)
    ranked = sorted(best.values(), key=lambda pair: pair[0], reverse=True)
    return [memory for _, memory in ranked if not (remote and memory.local_only)][:MODEL_NEIGHBOURS]


def _shorter(db: apsw.Connection, claimed: list[Job], now: datetime, error: str, halved: int) -> None:
    jobs.fail(db, claimed, now, error)
    jobs.mark(db, [job.job_id for job in claimed], {"halved": halved})
