"""Verbs that take in the past of Claude Code."""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec

from recalld import past, project
from recalld.model import timestamp
from recalld.store import places, projects
from recalld.store.turns import Where
from recalld.transcript import TranscriptTurn
from recalld.verbs.context import Context, locate, where

GONE = "folder is gone"
EXCLUDED = "folder is excluded"
HEADLESS = "no person typed it"


class Past(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Turns of one session's transcript, in order. read: the byte up to which they are all there is; 0: more follow."""

    session_id: str
    cwd: str
    path: str
    headless: bool
    turns: tuple[TranscriptTurn, ...]
    read: int = 0


class Taken(msgspec.Struct, frozen=True):
    """How many turns were queued, or the reason why none of this session is."""

    taken: int = 0
    left_out: str | None = None


def take(db: apsw.Connection, context: Context, request: Past) -> Taken:
    """Queue what is new of these turns, in the project that the session's folder belongs to."""
    reason, at = _place(db, context, request, make=True)
    if reason or not request.turns:
        return Taken(left_out=reason)
    first = request.turns[0]
    secret = any(context.redact(path) != path for path in (request.cwd, request.path))
    past.open_session(
        db, request.session_id, at, None if secret else request.path, request.headless, first.started_at or first.ended_at or timestamp(context.now),
        context.now,
    )  # fmt: skip
    taken = past.take(db, request.session_id, at, request.turns, context.redact, context.now)
    if request.read:
        past.read_to(db, request.session_id, request.read)
    return Taken(taken)


class Look(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Turns that may be new, as in `Past`."""

    session_id: str
    cwd: str
    headless: bool
    turns: tuple[TranscriptTurn, ...]


class Seen(msgspec.Struct, frozen=True):
    """The ids of those turns that are new, or the reason why none is wanted."""

    new: tuple[str, ...] = ()
    left_out: str | None = None


def look(db: apsw.Connection, context: Context, request: Look) -> Seen:
    """Which of these turns `take` would queue."""
    reason, _ = _place(db, context, request, make=False)
    if reason:
        return Seen(left_out=reason)
    new = [one.prompt_id for one in request.turns if past.wanted(one) and past.is_new(db, request.session_id, one)]
    return Seen(tuple(new))


class Offsets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sessions by id."""

    session_ids: tuple[str, ...]


def offsets(db: apsw.Connection, context: Context, request: Offsets) -> dict[str, int]:
    """How far each session's transcript was imported before."""
    return {session_id: past.offset(db, session_id) for session_id in request.session_ids}


def _place(db: apsw.Connection, context: Context, request: Past | Look, *, make: bool) -> tuple[str | None, Where]:
    """Where the session was, or why it is left out. A folder that is gone counts where its project is known."""
    cwd = project.masked_path(request.cwd, context.redact)
    nowhere = Where(cwd=cwd)
    if request.headless and context.config.capture.headless != "on":
        return HEADLESS, nowhere
    place = locate(context, request.cwd)
    if isinstance(place, project.Excluded):
        return EXCLUDED, nowhere
    if isinstance(place, project.Place):
        number = projects.resolve(db, place, context.now) if make else projects.find(db, place)
        at = where(place, cwd, number)
        # Branch, worktree and commit are those of today.
        return None, msgspec.structs.replace(at, branch=None, worktree=None, commit=None)
    folder = Path(request.cwd)
    if folder.is_dir():
        return None, nowhere
    for parent in (folder, *folder.parents):
        for row in places.rows(db, "path = ?", project.masked_path(str(parent), context.redact)):
            return None, Where(cwd=cwd, project_id=row.project_id)
    return GONE, nowhere
