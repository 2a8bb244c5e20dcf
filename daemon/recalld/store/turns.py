"""Sessions and their turns."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import apsw
import msgspec

from recalld.model import Answer, Turn, timestamp

SAME_MOMENT = timedelta(seconds=10)


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """The place a session is at: its folder, project and version-control state."""

    cwd: str
    project_id: int | None = None
    branch: str | None = None
    worktree: str | None = None
    commit: str | None = None


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session of Claude Code as it was last heard of."""

    session_id: str
    project_id: int | None
    cwd: str
    transcript_path: str | None
    transcript_offset: int
    headless: bool
    started_at: str


class StoredTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn with the place it was said at."""

    turn: Turn
    where: Where


def touch_session(
    db: apsw.Connection, session_id: str, where: Where, transcript_path: str | None, headless: bool, now: datetime
) -> None:
    """Note that the session is alive and where; makes it on first sight."""
    db.execute(
        """insert into sessions (session_id, project_id, cwd, transcript_path, headless, started_at, last_event_at)
           values (?1, ?2, ?3, ?4, ?5, ?6, ?6)
           on conflict do update set project_id = excluded.project_id, cwd = excluded.cwd,
               transcript_path = coalesce(excluded.transcript_path, transcript_path),
               headless = excluded.headless, last_event_at = excluded.last_event_at, ended_at = null,
               summed_up_at = null, imported_at = null""",
        (session_id, where.project_id, where.cwd, transcript_path, int(headless), timestamp(now)),
    )


def session(db: apsw.Connection, session_id: str) -> Session | None:
    """The session of this id, if it was ever heard of."""
    return _session(db, "session_id = ?", session_id)


def session_of_transcript(db: apsw.Connection, path: str) -> Session | None:
    """The newest session that writes this transcript."""
    return _session(db, "transcript_path = ? order by last_event_at desc", path)


def _session(db: apsw.Connection, condition: str, value: str) -> Session | None:
    row = db.execute(
        f"""select session_id, project_id, cwd, transcript_path, transcript_offset, headless, started_at
            from sessions where {condition} limit 1""",
        (value,),
    ).fetchone()
    if not row:
        return None
    fields = dict(zip(Session.__struct_fields__, row, strict=True))
    return Session(**fields | {"headless": bool(fields["headless"])})


def mark_compacted(db: apsw.Connection, session_id: str, now: datetime) -> None:
    """From now on nothing that was injected before is in the session's context, and there is room again."""
    db.execute(
        "update sessions set compacted_at = ?, context_tokens = null where session_id = ?", (timestamp(now), session_id)
    )


def mark_ended(db: apsw.Connection, session_id: str, now: datetime) -> None:
    """The session is over (until it is resumed)."""
    db.execute("update sessions set ended_at = ? where session_id = ?", (timestamp(now), session_id))


def set_offset(db: apsw.Connection, session_id: str, offset: int) -> None:
    """Its transcript has been read up to this byte."""
    db.execute("update sessions set transcript_offset = ? where session_id = ?", (offset, session_id))


def set_model(db: apsw.Connection, session_id: str, model: str) -> None:
    """The model that the session was started with."""
    db.execute("update sessions set model = ? where session_id = ?", (model, session_id))


def set_context(db: apsw.Connection, session_id: str, tokens: int) -> None:
    """So large was the session's newest request to its model."""
    db.execute("update sessions set context_tokens = ? where session_id = ?", (tokens, session_id))


def context(db: apsw.Connection, session_id: str) -> tuple[int, str]:
    """The size of the session's newest request in tokens, and its model; 0 and '' where they are not known."""
    row = db.execute(
        "select coalesce(context_tokens, 0), coalesce(model, '') from sessions where session_id = ?", (session_id,)
    ).fetchone()
    return (int(row[0]), str(row[1])) if row else (0, "")


def open_turn(db: apsw.Connection, turn: Turn, where: Where) -> bool:
    """Store a turn that has begun; False where its prompt id is known already (a fork, a resume, a repeat)."""
    db.execute(
        """insert or ignore into turns (prompt_id, session_id, project_id, prompt, context, state, branch, worktree,
               "commit", started_at)
           values (?, ?, ?, ?, ?, 'open', ?, ?, ?, ?)""",
        (turn.prompt_id, turn.session_id, where.project_id, turn.prompt, turn.context, where.branch, where.worktree,
         where.commit, turn.started_at),
    )  # fmt: skip
    return bool(db.changes())


def fill_turn(
    db: apsw.Connection, prompt_id: str, *, prompt: str = "", answer: str = "", answers: tuple[Answer, ...] = ()
) -> bool:
    """Add what is known now of a turn; what was known before stays, but for a longer list of answers.

    Returns whether more of the person's own words is known now than before.
    """
    before = db.execute(
        "select prompt, json_array_length(answers) from turns where prompt_id = ?", (prompt_id,)
    ).fetchone()
    db.execute(
        """update turns set prompt = iif(prompt = '', ?2, prompt), answer = iif(answer = '', ?3, answer),
               answers = iif(json_array_length(?4) > json_array_length(answers), ?4, answers)
           where prompt_id = ?1""",
        (prompt_id, prompt, answer, json.dumps([[a.question, a.answer] for a in answers], ensure_ascii=False)),
    )
    return before is not None and ((before[0] == "" and prompt != "") or len(answers) > before[1])


def end_turn(db: apsw.Connection, prompt_id: str, now: datetime, *, interrupted: bool = False) -> None:
    """The turn is over; one that was thought interrupted and then ended properly has ended."""
    db.execute(
        """update turns set ended_at = coalesce(ended_at, ?2), state = iif(?3 and state = 'open', 'interrupted',
               iif(?3, state, 'ended')) where prompt_id = ?1""",
        (prompt_id, timestamp(now), int(interrupted)),
    )


def open_turns(db: apsw.Connection, session_id: str) -> list[str]:
    """The prompt ids of the session's turns that have not ended, oldest first."""
    rows = db.execute(
        "select prompt_id from turns where session_id = ? and state = 'open' order by turn_id", (session_id,)
    )
    return [row[0] for row in rows]


def with_prompt(db: apsw.Connection, prompt_ids: list[str], prompts: list[str]) -> list[str]:
    """Those of the turns `prompt_ids` whose prompt is one of `prompts`."""
    if not prompt_ids or not prompts:
        return []
    rows = db.execute(
        """select prompt_id from turns where prompt_id in (select value from json_each(?))
           and prompt in (select value from json_each(?))""",
        (json.dumps(prompt_ids), json.dumps(prompts)),
    )
    return [row[0] for row in rows]


def known(db: apsw.Connection, prompt_id: str) -> bool:
    """Whether this turn was captured before, in whatever session."""
    return bool(db.execute("select exists (select 1 from turns where prompt_id = ?)", (prompt_id,)).get)


def said_then(db: apsw.Connection, prompt: str, at: datetime) -> bool:
    """Whether these words were captured as said at that time, by the clock of the hook or that of the transcript."""
    span = (timestamp(at - SAME_MOMENT), timestamp(at + SAME_MOMENT), prompt)
    return bool(
        db.execute("select exists (select 1 from turns where started_at between ? and ? and prompt = ?)", span).get
    )


def heard(db: apsw.Connection, session_id: str) -> bool:
    """Whether any turn of this session was captured."""
    return bool(db.execute("select exists (select 1 from turns where session_id = ?)", (session_id,)).get)


def last_turn(db: apsw.Connection, session_id: str) -> str:
    """The session's last prompt and its answer, as one text; empty where there is none."""
    row = db.execute(
        "select prompt, answer from turns where session_id = ? order by started_at desc, turn_id desc limit 1",
        (session_id,),
    ).fetchone()
    return "\n".join(part for part in row if part) if row else ""


def stale_sessions(db: apsw.Connection, before: str) -> list[str]:
    """Sessions with an open turn that were not heard of since `before`."""
    rows = db.execute(
        """select distinct session_id from turns t join sessions s using (session_id)
           where t.state = 'open' and s.last_event_at < ?""",
        (before,),
    )
    return [row[0] for row in rows]


def load(db: apsw.Connection, prompt_ids: list[str]) -> list[StoredTurn]:
    """The turns of these prompts, in the order they were said."""
    rows = db.execute(
        """select t.prompt_id, t.session_id, t.prompt, t.answer, t.answers, t.context, t.state, t.started_at, t.ended_at,
               s.cwd, t.project_id, t.branch, t.worktree, t."commit"
           from turns t join sessions s using (session_id)
           where t.prompt_id in (select value from json_each(?)) order by t.turn_id""",
        (json.dumps(prompt_ids),),
    )
    return [
        StoredTurn(
            turn=Turn(
                prompt_id=prompt_id, session_id=session_id, prompt=prompt, answer=answer,
                answers=tuple(Answer(*pair) for pair in json.loads(answers)), context=context,
                interrupted=state == "interrupted", started_at=started_at, ended_at=ended_at,
            ),
            where=Where(cwd=cwd, project_id=project_id, branch=branch, worktree=worktree, commit=commit),
        )
        for (prompt_id, session_id, prompt, answer, answers, context, state, started_at, ended_at,
             cwd, project_id, branch, worktree, commit) in rows
    ]  # fmt: skip
