"""Claude Code's transcript files, read a piece at a time: the turns of a person, and nothing else of what they hold.

The only state between two reads is an offset. A read that ends within a turn hands back that turn's start, so the
next one sees the turn whole; whoever stores turns keeps them apart by `prompt_id`, which a fork or resume copies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from recalld.model import Answer
from recalld.spoken import derived_prompt_id, is_spoken, shorten, text
from recalld.transcript import lines, records
from recalld.transcript.records import Block, Record

MAX_ANSWERS = 100
MAX_PROMPTS = 50

# A line with none of these is of no kind that is read. Much cheaper to see than to parse.
_WANTED = (b'"user"', b'"assistant"', b'"queued_command"', b'"turn_duration"', b'"compact_boundary"')
_INTERRUPTED = "[Request interrupted by user"
# Written by the client as the assistant's, to close an open turn.
_NO_ANSWER = "No response requested."
# A slash command that makes a prompt, and a shell line: what the assistant says after them belongs to no prompt.
_OTHER_WORK = ("<command-message>", "<bash-input>")


class TranscriptTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt of a person and what came of it, as the transcript tells it; texts are not redacted yet.

    prompt_id: the client's; the record's uuid where an old client gave none, and then `hook_id` is the id that
    `derived_prompt_id` made of the same prompt in the hook: a stored turn under either is this one.
    prompts: prompts queued behind one another go out together under the id of the last, while the hook gave each
    its own: an open turn of this session whose prompt is among these is part of this turn.
    answer: the assistant's last message, as Stop has it.
    answers: what the person said inside the turn; `question` is empty for a word thrown in while it ran.
    complete: nothing more is expected. Times are as in `model`.
    """

    prompt_id: str
    hook_id: str | None = None
    session_id: str
    cwd: str
    branch: str | None
    prompt: str
    prompts: tuple[str, ...]
    answer: str
    answers: tuple[Answer, ...]
    interrupted: bool
    headless: bool
    complete: bool
    started_at: str | None
    ended_at: str | None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What one read found.

    end_offset: after the last complete line. resume_offset: where the next read has to start.
    more: there are further turns, which were left for the next read. skipped: lines that are no JSON, cut ones among
    them. context_tokens: size of the newest request to the model. problem: why nothing could be read, or None.
    """

    turns: tuple[TranscriptTurn, ...] = ()
    end_offset: int = 0
    resume_offset: int = 0
    more: bool = False
    skipped: int = 0
    context_tokens: int | None = None
    problem: str | None = None


def read(path: Path, offset: int = 0, most_chars: float = math.inf) -> Reading:
    """The turns that the complete lines from `offset` on hold. Raises nothing: see Reading.problem.

    most_chars: once the turns hold more text than this, the next one is left for another read.
    """
    try:
        with lines.open_regular(path) as file:
            # Else the file is shorter than, or not the one, that the offset came from.
            start = offset if lines.starts_line(file, offset) else 0
            fold = _Fold(path.stem, start, most_chars)
            for line in lines.complete_lines(file, start):
                fold.add(line)
                if fold.full:
                    break
    except OSError as error:
        return Reading(end_offset=offset, resume_offset=offset, problem=error.strerror or "not a regular file")
    return fold.reading()


@dataclass(slots=True)
class _Growing:
    """A turn while its records come in. `start` is the offset of its first one."""

    start: int
    prompt_id: str
    hook_id: str | None
    session_id: str
    cwd: str
    branch: str | None
    headless: bool
    started_at: str | None
    ended_at: str | None = None
    prompts: list[str] = field(default_factory=list)
    message_id: str = ""
    answer: list[str] = field(default_factory=list)
    questions: set[str] = field(default_factory=set)
    answers: list[Answer] = field(default_factory=list)
    interrupted: bool = False
    complete: bool = False

    @property
    def chars(self) -> int:
        """How much text it holds."""
        return sum(map(len, self.prompts)) + sum(map(len, self.answer)) + sum(len(one.answer) for one in self.answers)

    def say(self, message_id: str, words: str) -> None:
        """The assistant's `words`, in place of its message before; one message may come in several records."""
        if message_id != self.message_id:
            self.answer = []
        self.message_id = message_id
        self.answer.append(shorten(words))

    def answered(self, question: str, words: str) -> None:
        if words and len(self.answers) < MAX_ANSWERS:
            self.answers.append(Answer(shorten(question, 1000, 0), shorten(words)))

    def turn(self) -> TranscriptTurn:
        return TranscriptTurn(
            prompt_id=self.prompt_id,
            hook_id=self.hook_id,
            session_id=self.session_id,
            cwd=self.cwd,
            branch=self.branch,
            prompt=shorten("\n\n".join(self.prompts)),
            prompts=tuple(self.prompts),
            answer=shorten("\n".join(self.answer)),
            answers=tuple(self.answers),
            interrupted=self.interrupted,
            headless=self.headless,
            complete=self.complete,
            started_at=self.started_at,
            ended_at=self.ended_at,
        )


class _Fold:
    """Turns records into turns, one after the other.

    current: the turn that what comes next belongs to; None between turns and within work that no prompt asked for.
    """

    def __init__(self, session_id: str, offset: int, most_chars: float) -> None:
        self.session_id = session_id
        self.end_offset = offset
        self.room_chars = most_chars
        self.full = False
        self.turns: dict[str, _Growing] = {}
        self.current: _Growing | None = None
        self.seen: set[str] = set()
        self.skipped = 0
        self.context_tokens: int | None = None

    def reading(self) -> Reading:
        return Reading(
            turns=tuple(turn.turn() for turn in self.turns.values()),
            end_offset=self.end_offset,
            resume_offset=self.current.start if self.current else self.end_offset,
            more=self.full,
            skipped=self.skipped,
            context_tokens=self.context_tokens,
        )

    def add(self, line: lines.Line) -> None:
        self.end_offset = line.end
        if not line.data.strip() or not any(kind in line.data for kind in _WANTED):
            return
        try:
            self._take(line, line.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._take_repaired(line)

    def _take_repaired(self, line: lines.Line) -> None:
        try:
            self._take(line, records.repaired(line.data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.skipped += 1

    def _take(self, line: lines.Line, data: bytes) -> None:
        record = records.record(data)
        if record.isSidechain is True or record.isMeta is True or record.isVisibleInTranscriptOnly is True:
            return
        if record.type == "user" and record.isCompactSummary is not True:
            self._user(record, line.start)
        elif record.type == "assistant":
            self._assistant(record)
        elif record.type == "attachment":
            self._attachment(record)
        elif record.type == "system":
            self._system(record)

    def _user(self, record: Record, start: int) -> None:
        content = records.blocks(records.message(record).content)
        results = [block for block in content if block.type == "tool_result"]
        words = "\n".join(records.texts(content))
        if results:
            self._results(record, results, records.typed(content))
        if words.startswith(_INTERRUPTED):
            self._interrupted(record)
        elif not results and records.is_prompt(record, words):
            self._prompt(record, words, start)
        elif not results and (records.kind_of(record.origin) or words.lstrip().startswith(_OTHER_WORK)):
            self._abandon()

    def _prompt(self, record: Record, words: str, start: int) -> None:
        session_id = text(record.sessionId) or self.session_id
        uuid, given = text(record.uuid), text(record.promptId)
        prompt_id = given or uuid or derived_prompt_id(session_id, words)
        turn = self.turns.get(prompt_id)
        if self.current is not turn:
            self._abandon()
        if turn is None and self.room_chars < 0:
            self.full, self.end_offset = True, start
            return
        if turn is None:
            turn = self.turns[prompt_id] = _Growing(
                start=start,
                prompt_id=prompt_id,
                hook_id=None if given else derived_prompt_id(session_id, words),
                session_id=session_id,
                cwd=text(record.cwd),
                branch=records.branch_of(record.gitBranch),
                headless=records.headless(record),
                started_at=records.time_of(record.timestamp),
            )
        self.current = turn
        if self._is_new(uuid) and words not in turn.prompts and len(turn.prompts) < MAX_PROMPTS:
            turn.prompts.append(shorten(words))

    def _results(self, record: Record, results: list[Block], comment: str) -> None:
        turn = self.current
        if turn is None or not self._is_new(text(record.uuid)):
            return
        turn.ended_at = records.time_of(record.timestamp) or turn.ended_at
        for block in results:
            if text(block.tool_use_id) in turn.questions and block.is_error is not True:
                for question, words in records.replies(record):
                    turn.answered(text(question), words)
            elif block.is_error is True:
                turn.answered("", records.refusal(block))
        turn.answered("", comment)

    def _interrupted(self, record: Record) -> None:
        if self.current is not None:
            self.current.interrupted = True
            self.current.ended_at = records.time_of(record.timestamp) or self.current.ended_at
            self._leave()

    def _assistant(self, record: Record) -> None:
        message = records.message(record)
        self.context_tokens = records.context_tokens(message) or self.context_tokens
        turn = self.current
        if turn is None or not self._is_new(text(record.uuid)):
            return
        if record.isApiErrorMessage is True:
            turn.complete = True
            return
        content = records.blocks(message.content)
        turn.ended_at = records.time_of(record.timestamp) or turn.ended_at
        turn.questions.update(text(block.id) for block in content if block.name == "AskUserQuestion")
        turn.complete = message.stop_reason in ("end_turn", "stop_sequence", "max_tokens", "refusal")
        words = "\n".join(records.texts(content)).strip()
        if words and words != _NO_ANSWER:
            turn.say(text(message.id), words)

    def _attachment(self, record: Record) -> None:
        """A prompt sent while a tool ran is handed to the model inside the turn; no hook tells of it."""
        if self.current is None or b"queued_command" not in bytes(record.attachment):
            return
        queued = records.attachment(record)
        human = records.kind_of(queued.origin) in ("", "human") and queued.isMeta is not True
        if queued.type == "queued_command" and human and self._is_new(text(record.uuid)):
            words = records.queued_text(queued.prompt)
            self.current.answered("", words if is_spoken(words) else "")

    def _system(self, record: Record) -> None:
        if record.subtype == "turn_duration":
            self._leave()
        elif record.subtype == "compact_boundary":
            self.context_tokens = None

    def _abandon(self) -> None:
        """Something new has begun: a turn whose end was not seen was broken off. Old clients write no such ends."""
        if self.current is not None and not self.current.complete and self.current.hook_id is None:
            self.current.interrupted = True
        self._leave()

    def _leave(self) -> None:
        if self.current is not None:
            self.current.complete = True
            self.room_chars -= self.current.chars
            self.current = None

    def _is_new(self, uuid: str) -> bool:
        """Whether a record was not met before in this read; some clients write a resumed history a second time."""
        if uuid in self.seen:
            return False
        if uuid:
            self.seen.add(uuid)
        return True
