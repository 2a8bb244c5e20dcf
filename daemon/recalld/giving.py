"""What an event is given: recall, selection, the block of text, and the receipt that tells why."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recalld import asking, inject, query, recall, window, wire
from recalld.known_files import KnownFiles, Said
from recalld.model import timestamp
from recalld.scored import Scored
from recalld.settings import Settings
from recalld.store import conflicts, injections, memories, projects, search, turns
from recalld.store.changes import Vectors
from recalld.store.injections import Receipt
from recalld.store.turns import Where
from recalld.transcript.held import given_ids

QUERY_CHARS = 500
"""So much of a prompt is kept with its receipt."""


class Chosen(msgspec.Struct, frozen=True):
    """What recall has chosen for an event, before it is sent and recorded."""

    block: str
    selection: inject.Selection
    query: str = ""
    notice: str = ""


class Giver:
    """Chooses what a session or a prompt is given; every function reads one snapshot."""

    def __init__(self, settings: Settings, known_files: KnownFiles) -> None:
        self._settings = settings
        self._known_files = known_files

    def at_start(self, db: apsw.Connection, event: wire.SessionStarted, at: Where, now: datetime) -> Chosen:
        """Pinned memories, standing ones and where work stopped; and a line for the user."""
        config = self._settings.current.memory
        standing = recall.standing(db, partitions(at), now, config, at.branch)
        given, files = self._held(db, event, resumed=event.source == "resume")
        spent = injections.tokens_given(db, event.session_id)
        share = window.share(*turns.context(db, event.session_id))
        selection = inject.for_start(standing, given, spent, config, lambda item: files.says(item.content), share)
        selection = asking.with_questions(selection, () if event.headless else asking.waiting(db, at))
        name = projects.name(db, at.project_id)
        notice = (
            _notice(db, at, name, now, selection.pinned_left_out) if config.notice and event.source == "startup" else ""
        )
        return Chosen(inject.block(name, selection.groups), selection, notice=notice)

    def for_prompt(
        self,
        db: apsw.Connection,
        event: wire.PromptSubmitted,
        said: str,
        at: Where,
        vectors: Vectors | None,
        now: datetime,
    ) -> Chosen:
        """The few memories that matter to a prompt. said: the prompt as it may be stored."""
        config = self._settings.current.memory
        asked = query.build(said, turns.last_turn(db, event.session_id), now)
        if asked.silent or not event.spoken:
            return Chosen("", inject.NOTHING)
        embedder = vectors.embedder if vectors else None
        places = partitions(at)
        filters = recall.Filters(min_confidence=config.min_confidence)
        ranked = recall.rank(db, places, asked, embedder, now, config, filters, context=False)
        given, files = self._held(db, event, resumed=turns.session(db, event.session_id) is None)
        fitting = [item.seq for item in ranked if item.similarity >= config.similarity_threshold]
        near: dict[int, Any] = {}
        for place in places if len(fitting) > 1 else ():
            near |= search.vectors(db, place, fitting)
        spent = injections.tokens_given(db, event.session_id)
        share = window.share(*turns.context(db, event.session_id))

        def known(item: Scored) -> bool:
            return item.similarity >= config.similarity_threshold and files.says(item.content)

        selection = inject.for_prompt(ranked, given, spent, config, near, known, share)
        selection = asking.with_questions(selection, () if event.headless else asking.waiting(db, at, event.session_id))
        block = inject.block(projects.name(db, at.project_id), selection.groups)
        return Chosen(block, selection, query=said[:QUERY_CHARS])

    def _held(
        self, db: apsw.Connection, event: wire.SessionStarted | wire.PromptSubmitted, *, resumed: bool
    ) -> tuple[set[str], Said]:
        """What Claude has already: the ids this session was given, and what Claude Code reads by itself.

        resumed: the transcript may tell of injections that we do not know of.
        """
        path = event.transcript_path
        shown = given_ids(Path(path)) if resumed and path else frozenset()
        files = self._known_files.at(event.project_dir or event.cwd, path)
        return injections.given(db, event.session_id) | _whole_ids(db, shown), files


def partitions(at: Where) -> list[str]:
    """What a question asked there may see."""
    return search.seen_from(() if at.project_id is None else (at.project_id,))


def receipt(
    session_id: str, at: Where, prompt_id: str | None, event: str, chosen: Chosen, now: datetime, begun: float
) -> Receipt:
    """The receipt of an injection. begun: when work on it began, by `time.perf_counter`."""
    return Receipt(
        session_id=session_id, project_id=at.project_id, prompt_id=prompt_id, event=event, query=chosen.query,
        at=timestamp(now), tokens=chosen.selection.tokens, ms=round((time.perf_counter() - begun) * 1000, 2),
        items=chosen.selection.considered,
    )  # fmt: skip


def _notice(db: apsw.Connection, at: Where, name: str | None, now: datetime, left_out: int) -> str:
    """The line for the user at the start of a session; empty where there is nothing to tell.

    left_out: how many pinned memories found no room.
    """
    wanted = memories.Filter(projects=() if at.project_id is None else (at.project_id,))
    known = memories.count(db, wanted)
    pending = asking.count(db, at)
    if not known and not pending:
        return ""
    parts = [f"recalld: {known} {'memory' if known == 1 else 'memories'}" + (f" for {name}" if name else "")]
    if learnt := injections.learnt_since_last(db, at.project_id, now):
        parts.append(f"learnt {learnt} last time")
    if unsettled := len(conflicts.unsettled(db, wanted)):
        parts.append(f"{unsettled} {'conflict' if unsettled == 1 else 'conflicts'} to settle")
    if pending:
        parts.append(f"{pending} to confirm (`recalld inbox`)")
    if left_out:
        parts.append(f"{left_out} pinned ones do not fit (unpin some)")
    return " · ".join(parts)


def _whole_ids(db: apsw.Connection, short: frozenset[str]) -> set[str]:
    """The memories whose ids begin with these prefixes."""
    return {
        row[0]
        for prefix in short
        for row in db.execute("select id from memories where id between ? and ?", (prefix, prefix + "g"))
    }
