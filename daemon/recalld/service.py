"""The four events of Claude Code, each read straight through: place, recall, injection, capture."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import apsw
import msgspec

from recalld import asking, capture, project, wire
from recalld.breaker import Breaker
from recalld.config import Config
from recalld.errors import RecalldError
from recalld.giving import Giver, receipt
from recalld.known_files import KnownFiles
from recalld.model import timestamp
from recalld.project import containers
from recalld.redact import Redactor
from recalld.settings import Settings
from recalld.store import injections, meta, projects, turns
from recalld.store.injections import Receipt
from recalld.store.store import Clock, Store
from recalld.store.turns import Where
from recalld.trouble import Trouble
from recalld.verbs.context import Context, where

log = logging.getLogger(__name__)

REPEAT_S = 10.0
"""A hook that is registered twice (settings and plugin) says everything twice within this time."""

DEADLINE_S = {"prompt": 0.2, "stop": 0.22, "session-start": 0.8, "session-end": 0.2}
"""The hook gives up a little later than this; what was begun goes on, but its answer would come too late."""

COMMANDS = 1_000
"""So many prompt ids of slash commands and the like are remembered, to leave out their Stop as well."""


class Service:
    """Answers hooks.

    wake: called when something was queued. touch: called with the transcript of each session that is heard of.
    known_files: those of `home` unless given.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Clock,
        home: Path,
        wake: Callable[[], None] = lambda: None,
        touch: Callable[[Path], None] = lambda _: None,
        known_files: KnownFiles | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._home = home
        self._wake = wake
        self._touch = touch
        self._giver = Giver(settings, known_files or KnownFiles(home / ".claude"))
        self._recent: dict[tuple[str, ...], float] = {}
        self.breaker = Breaker()
        self.trouble = Trouble()
        self._commands: deque[str] = deque(maxlen=COMMANDS)
        self._masked: tuple[Config, Redactor] | None = None
        self._running: set[asyncio.Task[bytes]] = set()

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
        event = self._event(request)
        if event is None or not self._settings.current.memory.enabled:
            return wire.NO_REPLY
        if event.transcript_path:
            self._touch(Path(event.transcript_path))
        task = asyncio.ensure_future(self._answer(event))
        self._running.add(task)
        task.add_done_callback(self._finished)
        done, _ = await asyncio.wait((task,), timeout=DEADLINE_S[request.name])
        if done:
            return task.result()
        log.warning("%s took longer than its hook waits", request.name)
        # Not the acknowledgement: the hook of a prompt or Stop that is not committed yet must spool it.
        return b"" if isinstance(event, wire.PromptSubmitted | wire.TurnEnded) else wire.NO_REPLY

    async def drain(self) -> None:
        """Wait until what hooks have begun is stored."""
        if self._running:
            await asyncio.wait(self._running)

    def _finished(self, task: asyncio.Task[bytes]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a hook's work failed: %s: %s", type(error).__name__, error)

    async def _answer(self, event: wire.HookEvent) -> bytes:
        headless = self._settings.current.capture.headless if event.headless else "on"
        if headless == "off":
            return wire.NO_REPLY
        match event:
            case wire.SessionStarted():
                try:
                    return await self.session_started(event)
                except RecalldError:
                    if event.headless or not (told := self.trouble.report()):
                        raise
                    return wire.reply_context("SessionStart", "", f"recalld: {told}")
            case wire.PromptSubmitted():
                return await self.prompt_submitted(event, captured=headless == "on")
            case wire.TurnEnded():
                if headless == "on" and event.prompt_id not in self._commands:
                    await self.turn_ended(event)
                return wire.NO_REPLY
            case wire.SessionEnded():
                await self.close_session(event.session_id)
                return wire.NO_REPLY

    async def session_started(self, event: wire.SessionStarted) -> bytes:
        """Pinned memories, standing ones, and where work stopped, into a new, resumed or compacted session."""
        if self._repeated("start", event.session_id, event.source):
            return wire.NO_REPLY
        begun, now = time.perf_counter(), self._clock()
        at = await self._store.write(self._begin, event, now)
        if at is None:
            return wire.NO_REPLY
        chosen = await self._store.read(self._giver.at_start, event, at, now)
        if not event.headless and (wrong := await self._wrong()):
            told = f"recalld: {wrong}" + chosen.notice.replace("recalld: ", " · ", 1)
            chosen = msgspec.structs.replace(chosen, notice=told)
        given = receipt(event.session_id, at, None, "SessionStart", chosen, now, begun)
        if event.source != wire.SELF_CHECK:
            await self._store.write(_given, given, now)
        return wire.reply_context("SessionStart", chosen.block, chosen.notice)

    async def prompt_submitted(self, event: wire.PromptSubmitted, *, captured: bool) -> bytes:
        """The few memories that matter to this prompt; the turn begins."""
        if self._repeated("prompt", event.prompt_id):
            return wire.NO_REPLY
        begun, now = time.perf_counter(), self._clock()
        if not event.spoken:
            self._commands.append(event.prompt_id)
        block, queued = await self._store.write(self._prompted, event, captured and event.spoken, begun, now)
        if queued:
            self._wake()
        return wire.reply_context("UserPromptSubmit", block)

    async def turn_ended(self, event: wire.TurnEnded) -> None:
        """The turn and its job, in one commit that survives a power cut."""
        try:
            await self._store.write_durably(self._ended, event, self._clock())
        except RecalldError as error:
            self.trouble.met(error)
            raise
        self.trouble.over()
        self._wake()

    async def _wrong(self) -> str:
        """What the owner has to know, whatever `memory.notice` says: a rescue once, trouble as long as it lasts."""
        if rescued := await self._store.read(meta.get, meta.RESCUED):
            await self._store.write(meta.remove, meta.RESCUED)
        return " · ".join(part for part in (rescued, self.trouble.report()) if part)

    async def close_session(self, session_id: str) -> None:
        """The session is over: what it left open was interrupted."""
        await self._store.write(_session_over, session_id, self._clock())
        self._wake()

    async def take_in(self, request: wire.Request, said_at: datetime) -> None:
        """A prompt or Stop that a hook kept in the spool: captured as of `said_at`, too late for any answer."""
        event = self._event(request)
        headless = self._settings.current.capture.headless if event and event.headless else "on"
        if headless != "on" or not self._settings.current.memory.enabled:
            return
        if isinstance(event, wire.TurnEnded):
            await self._store.write_durably(self._ended, event, said_at)
            self.trouble.over()
        elif isinstance(event, wire.PromptSubmitted) and event.spoken:
            await self._store.write_durably(self._missed, event, said_at)

    def _event(self, request: wire.Request) -> wire.HookEvent | None:
        """What a hook says, by the paths of this machine; None for what is not ours to handle. Raises InputError."""
        event = wire.parse_hook(request.name, request.payload, request.values)
        return event and containers.at_home(event, self._settings.current.containers.paths, self._home)

    def _place(self, db: apsw.Connection, event: wire.HookEvent, now: datetime) -> project.Place | Where | None:
        """Where an event comes from: a place to be looked up, or one without a project; None where recalld stays out."""
        if meta.paused(db, timestamp(now)):
            return None
        place = project.locate(Path(event.cwd), self._settings.current.projects, self._home)
        if isinstance(place, project.Excluded):
            return None
        if place is None and not os.path.isdir(event.cwd):
            # A folder that was deleted while its session ran still belongs to the session's project.
            session = turns.session(db, event.session_id)
            return Where(cwd=self._cwd(event), project_id=session.project_id if session else None)
        return project.masked(place, self.redactor().redact) if place else Where(cwd=self._cwd(event))

    def _cwd(self, event: wire.HookEvent) -> str:
        return project.masked_path(event.cwd, self.redactor().redact)

    def _transcript(self, event: wire.HookEvent) -> str | None:
        """The transcript's path as it may be stored: not where a folder's name holds a secret, since it repeats that."""
        mask = self.redactor().redact
        paths = (event.cwd, event.project_dir, event.transcript_path or "")
        return event.transcript_path if all(mask(path) == path for path in paths) else None

    def _here(self, db: apsw.Connection, event: wire.HookEvent, now: datetime) -> Where | None:
        """Where an event comes from, its project made or brought up to date; None where recalld stays out."""
        place = self._place(db, event, now)
        return (
            where(place, self._cwd(event), projects.resolve(db, place, now))
            if isinstance(place, project.Place)
            else place
        )

    def _begin(self, db: apsw.Connection, event: wire.SessionStarted, now: datetime) -> Where | None:
        at = self._here(db, event, now)
        if at is None or event.source == wire.SELF_CHECK:
            return at
        turns.touch_session(db, event.session_id, at, self._transcript(event), event.headless, now)
        if event.model:
            turns.set_model(db, event.session_id, event.model)
        if event.source in ("compact", "clear"):
            turns.mark_compacted(db, event.session_id, now)
        return at

    def _prompted(
        self, db: apsw.Connection, event: wire.PromptSubmitted, captured: bool, begun: float, now: datetime
    ) -> tuple[str, bool]:
        """Choose what a prompt is given, record that and the prompt's turn; the block, and whether a job was queued.

        One transaction from reading to recording: each handing over to another thread would cost the person who waits
        more than the recording does.
        """
        if (at := self._here(db, event, now)) is None:
            return "", False
        said = capture.cleaned(event.prompt, self.redactor().redact)
        chosen = self._giver.for_prompt(db, event, said, at, self._store.vectors, now)
        turns.touch_session(db, event.session_id, at, self._transcript(event), event.headless, now)
        _given(db, receipt(event.session_id, at, event.prompt_id, "UserPromptSubmit", chosen, now, begun), now)
        return chosen.block, captured and capture.begin(db, event.session_id, event.prompt_id, said, at, now)

    def _missed(self, db: apsw.Connection, event: wire.PromptSubmitted, said_at: datetime) -> None:
        if (at := self._here(db, event, said_at)) is not None:
            turns.touch_session(db, event.session_id, at, self._transcript(event), event.headless, said_at)
            said = capture.cleaned(event.prompt, self.redactor().redact)
            capture.recover(db, event.session_id, event.prompt_id, said, at, said_at)

    def _ended(self, db: apsw.Connection, event: wire.TurnEnded, now: datetime) -> None:
        if (at := self._here(db, event, now)) is None:
            return
        if not turns.heard(db, event.session_id) and not self.breaker.admits(at.cwd, event.session_id, now):
            return
        turns.touch_session(db, event.session_id, at, self._transcript(event), event.headless, now)
        still_open = turns.open_turns(db, event.session_id)
        prompt_id = event.prompt_id or (still_open[-1] if still_open else None)
        if prompt_id is None:
            return
        if not turns.known(db, prompt_id):
            # Its prompt was never heard (a daemon that was away): the spool or the transcript may still have it.
            capture.recover(db, event.session_id, prompt_id, "", at, now)
        answer = capture.cleaned(event.last_assistant_message, self.redactor().redact)
        capture.fill(db, prompt_id, now, answer=answer)
        capture.end(db, prompt_id, now, settle_s=capture.SETTLE_S if answer else capture.UNSAID_SETTLE_S)

    def _repeated(self, *key: str) -> bool:
        """Whether the same was said within the last REPEAT_S; notes that it was said now."""
        now = time.monotonic()
        self._recent = {said: at for said, at in self._recent.items() if now - at < REPEAT_S}
        repeated = key in self._recent
        self._recent[key] = now
        return repeated


def _given(db: apsw.Connection, receipt: Receipt, now: datetime) -> None:
    injections.record(db, receipt)
    asking.asked(db, receipt, now)


def _session_over(db: apsw.Connection, session_id: str, now: datetime) -> None:
    for prompt_id in turns.open_turns(db, session_id):
        capture.end(db, prompt_id, now, interrupted=True)
    turns.mark_ended(db, session_id, now)
