"""The four events of Claude Code, each read straight through: place, recall, injection, capture."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recalld import capture, inject, project, query, recall, wire
from recalld.config import Config
from recalld.held import given_ids
from recalld.model import timestamp
from recalld.redact import Redactor
from recalld.settings import Settings
from recalld.store import injections, memories, projects, search, turns
from recalld.store.injections import Considered, Receipt
from recalld.store.store import Clock, Store
from recalld.store.turns import Where
from recalld.verbs.context import Context, where

log = logging.getLogger(__name__)

REPEAT_S = 10.0
"""A hook that is registered twice (settings and plugin) says everything twice within this time."""

DEADLINE_S = {"prompt": 0.2, "stop": 0.22, "session-start": 0.8, "session-end": 0.2}
"""The hook gives up a little later than this; what was begun goes on, but its answer would come too late."""

SOURCE = "claude-code"
COMMANDS = 1_000
"""So many prompt ids of slash commands and the like are remembered, to leave out their Stop as well."""

QUERY_CHARS = 500
"""So much of a prompt is kept with its receipt."""


class _Injection(msgspec.Struct, frozen=True):
    """What recall has chosen for an event, before it is sent and recorded."""

    block: str
    selection: inject.Selection
    query: str = ""
    notice: str = ""


class Service:
    """Answers hooks.

    wake: called when something was queued. touch: called with the transcript of each session that is heard of.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Clock,
        home: Path,
        wake: Callable[[], None] = lambda: None,
        touch: Callable[[Path], None] = lambda path: None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._home = home
        self._wake = wake
        self._touch = touch
        self._recent: dict[tuple[str, ...], float] = {}
        self._commands: deque[str] = deque(maxlen=COMMANDS)
        self._masked: tuple[Config, Redactor] | None = None
        self._running: set[asyncio.Task[bytes]] = set()
        self.paused = False

    def context(self, source: str, batch: str | None = None) -> Context:
        """The surroundings of a call made now by `source`."""
        return Context(
            config=self._settings.current, now=self._clock(), actor=source, source=source, batch=batch,
            vectors=self._store.vectors, redact=self.redactor().redact, home=self._home,
        )  # fmt: skip

    def redactor(self) -> Redactor:
        """The masker of the present settings."""
        current = self._settings.current
        if self._masked is None or self._masked[0] is not current:
            self._masked = (current, Redactor(current.privacy))
        return self._masked[1]

    async def hook(self, request: wire.Request) -> bytes:
        """The reply to a hook, in time: `{}` where there is nothing to say, or not yet."""
        event = wire.parse_hook(request.name, request.payload, request.values)
        if event is None or self.paused or not self._settings.current.memory.enabled:
            return wire.NO_REPLY
        if event.transcript_path:
            self._touch(Path(event.transcript_path))
        task = asyncio.ensure_future(self._answer(event))
        self._running.add(task)
        task.add_done_callback(self._finished)
        try:
            return await asyncio.wait_for(asyncio.shield(task), DEADLINE_S.get(request.name, 0.2))
        except TimeoutError:
            log.warning("%s took longer than its hook waits", request.name)
            # Not the acknowledgement: the hook of a Stop that is not committed yet must spool it.
            return b"" if isinstance(event, wire.TurnEnded) else wire.NO_REPLY

    async def drain(self) -> None:
        """Wait until what hooks have begun is stored."""
        if self._running:
            await asyncio.wait(self._running)

    def _finished(self, task: asyncio.Task[bytes]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a hook's work failed: %s: %s", type(error).__name__, error)

    async def _answer(self, event: wire.HookEvent) -> bytes:
        place = await asyncio.to_thread(project.locate, Path(event.cwd), self._settings.current.projects, self._home)
        headless = self._settings.current.capture.headless if event.headless else "on"
        if isinstance(place, project.Excluded) or headless == "off":
            return wire.NO_REPLY
        at = await self._where(place, event)
        match event:
            case wire.SessionStarted():
                return await self.session_started(event, at)
            case wire.PromptSubmitted():
                return await self.prompt_submitted(event, at, captured=headless == "on")
            case wire.TurnEnded():
                if headless == "on" and event.prompt_id not in self._commands:
                    await self.turn_ended(event, at)
                return wire.NO_REPLY
            case wire.SessionEnded():
                await self.session_ended(event)
                return wire.NO_REPLY

    async def _where(self, place: project.Place | None, event: wire.HookEvent) -> Where:
        """The place's project, made on first sight; a known one costs no write.

        A folder that was deleted while its session ran still belongs to the session's project.
        """
        if place is not None:
            found = await self._store.read(projects.find, place)
            if found is None:
                found = await self._store.write(projects.resolve, place, self._clock())
            return where(place, event.cwd, found)
        if not await asyncio.to_thread(Path(event.cwd).is_dir):
            session = await self._store.read(turns.session, event.session_id)
            return Where(cwd=event.cwd, project_id=session.project_id if session else None)
        return Where(cwd=event.cwd)

    async def session_started(self, event: wire.SessionStarted, at: Where) -> bytes:
        """Pinned memories, standing ones, and where work stopped, into a new, resumed or compacted session."""
        if self._repeated("start", event.session_id, event.source):
            return wire.NO_REPLY
        begun, now = time.perf_counter(), self._clock()
        if event.source in ("compact", "clear"):
            await self._store.write(_compacted, event.session_id, now)
        held = await self._held(event) if event.source == "resume" else frozenset()
        chosen = await self._store.read(self._for_start, event, at, held, now)
        receipt = _receipt(event.session_id, at, None, "SessionStart", chosen, now, begun)
        await self._store.write(_started, event, at, receipt, now)
        return wire.reply_context("SessionStart", chosen.block, chosen.notice)

    async def prompt_submitted(self, event: wire.PromptSubmitted, at: Where, *, captured: bool) -> bytes:
        """The few memories that matter to this prompt; the turn begins."""
        if self._repeated("prompt", event.prompt_id):
            return wire.NO_REPLY
        begun, now = time.perf_counter(), self._clock()
        if not event.spoken:
            self._commands.append(event.prompt_id)
        known = await self._store.read(turns.session, event.session_id)
        held = await self._held(event) if known is None else frozenset()
        chosen = await self._store.read(self._for_prompt, event, at, held, now)
        receipt = _receipt(event.session_id, at, event.prompt_id, "UserPromptSubmit", chosen, now, begun)
        await self._store.write(self._prompted, event, at, receipt, now, captured and event.spoken)
        self._wake()
        return wire.reply_context("UserPromptSubmit", chosen.block)

    async def turn_ended(self, event: wire.TurnEnded, at: Where) -> None:
        """The turn and its job, in one commit that survives a power cut."""
        await self._store.write_durably(self._ended, event, at, self._clock())
        self._wake()

    async def session_ended(self, event: wire.SessionEnded) -> None:
        """The session is over."""
        await self.close_session(event.session_id)

    async def close_session(self, session_id: str) -> None:
        """What the session left open was interrupted."""
        await self._store.write(_session_over, session_id, self._clock())
        self._wake()

    async def take_in(self, request: wire.Request, said_at: datetime) -> None:
        """A prompt or Stop that a hook kept in the spool: captured as of `said_at`, too late for any answer."""
        event = wire.parse_hook(request.name, request.payload, request.values)
        if not isinstance(event, wire.PromptSubmitted | wire.TurnEnded):
            return
        place = await asyncio.to_thread(project.locate, Path(event.cwd), self._settings.current.projects, self._home)
        headless = self._settings.current.capture.headless if event.headless else "on"
        if isinstance(place, project.Excluded) or headless != "on":
            return
        at = await self._where(place, event)
        if isinstance(event, wire.TurnEnded):
            await self.turn_ended(event, at)
        elif event.spoken:
            await self._store.write_durably(self._missed, event, at, said_at)

    def _for_start(
        self, db: apsw.Connection, event: wire.SessionStarted, at: Where, held: frozenset[str], now: datetime
    ) -> _Injection:
        config = self._settings.current.memory
        standing = recall.standing(db, partitions(at), now, config, at.branch)
        given = injections.given(db, event.session_id) | _whole_ids(db, held)
        selection = inject.for_start(standing, given, injections.tokens_given(db, event.session_id), config)
        name = projects.name(db, at.project_id)
        notice = _notice(db, at, name, now) if config.notice and event.source == "startup" else ""
        return _Injection(inject.block(name, selection.groups), selection, notice=notice)

    def _for_prompt(
        self, db: apsw.Connection, event: wire.PromptSubmitted, at: Where, held: frozenset[str], now: datetime
    ) -> _Injection:
        config = self._settings.current.memory
        asked = query.build(event.prompt, turns.last_turn(db, event.session_id), now)
        if asked.silent or not event.spoken:
            return _Injection("", inject.NOTHING)
        embedder = self._store.vectors.embedder if self._store.vectors else None
        places = partitions(at)
        filters = recall.Filters(min_confidence=config.min_confidence)
        ranked = recall.rank(db, places, asked, embedder, now, config, filters)
        given = injections.given(db, event.session_id) | _whole_ids(db, held)
        vectors: dict[int, Any] = {}
        for place in places:
            vectors |= search.vectors(db, place, [item.seq for item in ranked])
        spent = injections.tokens_given(db, event.session_id)
        selection = inject.for_prompt(ranked, given, spent, config, vectors)
        masked = self.redactor().redact(event.prompt[:QUERY_CHARS])
        return _Injection(inject.block(projects.name(db, at.project_id), selection.groups), selection, query=masked)

    def _prompted(
        self, db: apsw.Connection, event: wire.PromptSubmitted, at: Where, receipt: Receipt, now: datetime, spoken: bool
    ) -> None:
        turns.touch_session(db, event.session_id, at, event.transcript_path, event.headless, now)
        if spoken:
            mask = self.redactor().redact
            capture.begin(db, event.session_id, event.prompt_id, event.prompt, at, mask, now)
        injections.record(db, receipt)

    def _missed(self, db: apsw.Connection, event: wire.PromptSubmitted, at: Where, said_at: datetime) -> None:
        turns.touch_session(db, event.session_id, at, event.transcript_path, event.headless, said_at)
        mask = self.redactor().redact
        capture.recover(db, event.session_id, event.prompt_id, event.prompt, at, mask, said_at)

    def _ended(self, db: apsw.Connection, event: wire.TurnEnded, at: Where, now: datetime) -> None:
        turns.touch_session(db, event.session_id, at, event.transcript_path, event.headless, now)
        still_open = turns.open_turns(db, event.session_id)
        prompt_id = event.prompt_id or (still_open[-1] if still_open else None)
        if prompt_id is None:
            return
        mask = self.redactor().redact
        if not turns.known(db, prompt_id):
            # Its prompt was never heard (a daemon that was away): the transcript may still have it.
            capture.recover(db, event.session_id, prompt_id, "", at, mask, now)
        turns.fill_turn(db, prompt_id, answer=capture.cleaned(event.last_assistant_message, mask))
        capture.end(db, prompt_id, now)

    async def _held(self, event: wire.SessionStarted | wire.PromptSubmitted) -> frozenset[str]:
        """What a resumed or forked session's transcript shows was given to it before."""
        if event.transcript_path is None:
            return frozenset()
        return await asyncio.to_thread(given_ids, Path(event.transcript_path))

    def _repeated(self, *key: str) -> bool:
        """Whether the same was said within the last REPEAT_S; notes that it was said now."""
        now = time.monotonic()
        self._recent = {said: at for said, at in self._recent.items() if now - at < REPEAT_S}
        repeated = key in self._recent
        self._recent[key] = now
        return repeated


def partitions(at: Where) -> list[str]:
    """What a question asked there may see."""
    shared = [search.partition("user", None), search.partition("org", None)]
    return shared if at.project_id is None else [search.partition("project", at.project_id), *shared]


def _compacted(db: apsw.Connection, session_id: str, now: datetime) -> None:
    turns.mark_compacted(db, session_id, now)


def _started(db: apsw.Connection, event: wire.SessionStarted, at: Where, receipt: Receipt, now: datetime) -> None:
    turns.touch_session(db, event.session_id, at, event.transcript_path, event.headless, now)
    injections.record(db, receipt)


def _session_over(db: apsw.Connection, session_id: str, now: datetime) -> None:
    for prompt_id in turns.open_turns(db, session_id):
        capture.end(db, prompt_id, now, interrupted=True)
    turns.mark_ended(db, session_id, now)


def _receipt(
    session_id: str, at: Where, prompt_id: str | None, event: str, chosen: _Injection, now: datetime, begun: float
) -> Receipt:
    return Receipt(
        session_id=session_id, project_id=at.project_id, prompt_id=prompt_id, event=event, query=chosen.query,
        at=timestamp(now), tokens=chosen.selection.tokens, ms=round((time.perf_counter() - begun) * 1000, 2),
        items=tuple(
            Considered(
                memory=item.id, score=item.score, similarity=item.similarity, given=item.given, reason=item.reason
            )
            for item in chosen.selection.considered
        ),
    )  # fmt: skip


def _notice(db: apsw.Connection, at: Where, name: str | None, now: datetime) -> str:
    """The line for the user at the start of a session; empty where there is nothing to tell."""
    wanted = memories.Filter(projects=() if at.project_id is None else (at.project_id,))
    known = memories.count(db, wanted)
    if not known:
        return ""
    parts = [f"recalld: {known} {'memory' if known == 1 else 'memories'}" + (f" for {name}" if name else "")]
    if learnt := injections.learnt_since_last(db, at.project_id, now):
        parts.append(f"learnt {learnt} last time")
    if conflicts := len(memories.open_conflicts(db, wanted)):
        parts.append(f"{conflicts} {'conflict' if conflicts == 1 else 'conflicts'} to settle")
    return " · ".join(parts)


def _whole_ids(db: apsw.Connection, short: frozenset[str]) -> set[str]:
    """The memories whose ids begin with these prefixes."""
    return {
        row[0]
        for prefix in short
        for row in db.execute("select id from memories where id between ? and ?", (prefix, prefix + "g"))
    }
