"""`recalld import transcripts`: what Claude Code has kept of the past, through the same queue as what is said today."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from recalld import config, extract, transcript
from recalld.cli import output
from recalld.cli.calls import LONG_S, ask
from recalld.errors import InputError
from recalld.inject import estimate_tokens
from recalld.learn import BATCH as LEARNT_AT_ONCE
from recalld.learn import PAST_SHARE
from recalld.llm import prompt
from recalld.model import Turn
from recalld.paths import claude_config_dir, find
from recalld.store import usage
from recalld.transcript import TranscriptTurn

BATCH = 50
"""So many turns go to the daemon at once."""
OVERHEAD_TOKENS = 1_500
"""The tool's description and the memories shown with each call."""
ANSWER_TOKENS = 150
"""What a model writes about a turn."""


class Session(NamedTuple):
    """A transcript with the turns that are new. read: the byte up to which there is nothing else."""

    path: Path
    cwd: str
    headless: bool
    turns: list[TranscriptTurn]
    read: int

    @property
    def first_at(self) -> str:
        """When it began, as far as it is new."""
        return self.turns[0].started_at or ""

    def arguments(self) -> dict[str, Any]:
        """What every verb wants to know of it."""
        return {"session_id": self.path.stem, "cwd": self.cwd, "headless": self.headless}


class Estimate(NamedTuple):
    """What learning from the new turns may take. days: with the part of the daily caps that the past gets."""

    backend: str
    calls: int
    tokens: int
    usd: float
    days: int


def run(arguments: argparse.Namespace) -> int:
    """Read, say what it may cost, ask, queue."""
    files = transcripts(arguments.path)
    sessions, left_out = _new(files)
    turns = sum(len(session.turns) for session in sessions)
    estimate = estimated(sessions)
    facts = {"transcripts": len(files), "sessions": len(sessions), "turns": turns, "left_out": left_out,
             "estimate": estimate._asdict(), "dry_run": arguments.dry_run, "queued": 0}  # fmt: skip
    if not arguments.json:
        print(_told(len(files), len(sessions), turns, estimate, left_out))
    if turns and not arguments.dry_run:
        if not output.confirmed(f"learn from these {turns:,} turns?", given=arguments.yes):
            raise InputError("nothing was imported")
        facts["queued"] = _queue(sessions)
        if not arguments.json:
            print(f"{output.plural(facts['queued'], 'turn')} queued; the daemon learns from them in the background "
                  "(`recalld status`), live turns first")  # fmt: skip
    if arguments.json:
        output.print_json(facts)
    return 0


def transcripts(path: Path | None) -> list[Path]:
    """The transcripts of sessions that people had, below `path` or all of Claude Code's. Raises InputError."""
    root = path.expanduser() if path else claude_config_dir() / "projects"
    if path and not root.exists():
        raise InputError(f"{root}: nothing is there")
    found = [Path(os.path.abspath(file)) for file in ([root] if root.is_file() else root.rglob("*.jsonl"))]
    return sorted({file for file in found if not file.name.startswith("agent-") and "subagents" not in file.parts})


def _new(files: Sequence[Path]) -> tuple[list[Session], dict[str, int]]:
    """The sessions with turns that are new, the oldest first; and how many turns are left out, by reason."""
    before: dict[str, int] = {}
    for at in range(0, len(files), 500):
        before |= ask("past-offsets", timeout_s=LONG_S, session_ids=[file.stem for file in files[at : at + 500]])
    sessions: list[Session] = []
    left_out: dict[str, int] = {}
    with output.progress("reading", sum(_size(file) for file in files)) as tick:
        for file in files:
            if session := _read(file, before.get(file.stem, 0), left_out):
                sessions.append(session)
            tick(_size(file))
    return sorted(sessions, key=lambda session: session.first_at), left_out


def _read(file: Path, offset: int, left_out: dict[str, int]) -> Session | None:
    reading = transcript.read(file, offset)
    if reading.problem:
        left_out[f"not readable: {reading.problem}"] = left_out.get(f"not readable: {reading.problem}", 0) + 1
        return None
    if not reading.turns:
        return None
    first = reading.turns[0]
    headless = all(turn.headless for turn in reading.turns)
    session = Session(file, first.cwd, headless, list(reading.turns), reading.resume_offset)
    new: set[str] = set()
    for part in _parts(session.turns):
        seen = ask("past-look", timeout_s=LONG_S, turns=msgspec.to_builtins(part), **session.arguments())
        if seen["left_out"]:
            left_out[seen["left_out"]] = left_out.get(seen["left_out"], 0) + len(session.turns)
            return None
        new.update(seen["new"])
    turns = [turn for turn in session.turns if turn.prompt_id in new]
    return session._replace(turns=turns) if turns else None


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _parts(turns: Sequence[TranscriptTurn]) -> Iterator[Sequence[TranscriptTurn]]:
    for at in range(0, len(turns), BATCH):
        yield turns[at : at + BATCH]


def _queue(sessions: Iterable[Session]) -> int:
    sessions, taken = list(sessions), 0
    with output.progress("queueing", sum(len(session.turns) for session in sessions)) as tick:
        for session in sessions:
            for part in _parts(session.turns):
                last = part[-1] is session.turns[-1]
                done = ask(
                    "past", writes=True, timeout_s=LONG_S, path=str(session.path), turns=msgspec.to_builtins(part),
                    read=session.read if last else 0, **session.arguments(),
                )  # fmt: skip
                taken += done["taken"]
                tick(len(part))
    return taken


def estimated(sessions: Iterable[Session]) -> Estimate:
    """What the backend in use would be asked: the same gate, batches and texts as when it learns."""
    settings = config.load(find().config)
    choice = extract.choose(settings, os.environ)
    if choice.backend == "rules":
        return Estimate("rules", 0, 0, 0.0, 0)
    calls = tokens_in = tokens_out = 0
    system = estimate_tokens(prompt.SYSTEM) + OVERHEAD_TOKENS
    for session in sessions:
        for at in range(0, len(session.turns), LEARNT_AT_ONCE):
            said = [_turn(one) for one in session.turns[at : at + LEARNT_AT_ONCE]]
            if extract.worth_asking(said):
                calls += 1
                tokens_in += system + estimate_tokens(prompt.build(said, ()).user)
                tokens_out += ANSWER_TOKENS * len(said)
    usd = usage.cost_usd(settings.extract.model, tokens_in, tokens_out) if choice.paid else 0.0
    caps = settings.extract
    needs = (
        (calls, caps.max_calls_per_day), (tokens_in + tokens_out, caps.max_tokens_per_day),
        (usd, caps.max_usd_per_day if choice.paid else 0),
    )  # fmt: skip
    days = max((int(PAST_SHARE * need / cap) + 1 for need, cap in needs if cap and need), default=0)
    return Estimate(f"{choice.backend} {settings.extract.model}", calls, tokens_in + tokens_out, usd, days)


def _turn(said: TranscriptTurn) -> Turn:
    return Turn(
        prompt_id=said.prompt_id, session_id=said.session_id, prompt=said.prompt, answer=said.answer,
        answers=said.answers, started_at=said.started_at or "",
    )  # fmt: skip


def _told(files: int, sessions: int, turns: int, estimate: Estimate, left_out: dict[str, int]) -> str:
    new = f"{output.plural(turns, 'new turn')} in {output.plural(sessions, 'session')}"
    lines = [f"{output.plural(files, 'transcript')}: {new}"]
    lines += [f"left out: {output.plural(number, 'turn')} ({reason})" for reason, number in left_out.items()]
    if not turns:
        return "\n".join(lines)
    if not estimate.calls:
        lines.append("extraction: by the rules, on this machine; costs nothing")
        return "\n".join(lines)
    cost = f"${estimate.usd:.2f}" if estimate.usd else "no extra cost"
    lines.append(
        f"extraction: {estimate.backend}, about {output.plural(estimate.calls, 'call')}, {estimate.tokens:,} tokens, {cost}; "
        f"the daily caps let half of them go to the past: about {output.plural(estimate.days, 'day')}"
    )
    return "\n".join(lines)
