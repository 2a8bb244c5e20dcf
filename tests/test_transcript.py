"""Transcripts give each prompt of a person once, with what came of it, and nothing else they hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_data import AWS_KEY, DB_URL, put_transcript
from claude_data import transcript as recorded
from recalld import transcript
from recalld.model import Answer
from recalld.spoken import derived_prompt_id
from recalld.transcript import Reading, TranscriptTurn, lines

LONG_SESSION = [
    ("53779d97", "We settled on PostgreSQL for the shop database, with Flyway for migrations. Never use MySQL here."),
    ("0363ac40", "Plan the payment callback handling: poll the provider for the status?"),
    ("77d849ed", "use a helper to find callers of the export endpoint"),
    ("d729f071", "订单数据量很大，订单表按 userId 分表，列表查询走 PostgreSQL，热数据放 Redis"),
    ("7cc3d2ee", "I always want commit message lines in imperative mood and without emoji"),
    ("4acf0cd2", "scrap the polling: the provider pushes the result now"),
    ("e2903724", f"for staging use {DB_URL} and key {AWS_KEY}"),
    ("6b9a1ca9", "use a helper to find callers once more"),
]
EXPECTED = {
    "long-session": LONG_SESSION,
    "forked": [*LONG_SESSION[5:7], ("21e04105", "I always want commit message bodies wrapped at 72 columns")],
    "after-clear": [("84211e8d", "which database do we use?")],
    "worktree": [("ad0bb06f", "which database do we use in this worktree?")],
    "subfolder": [("f9176374", "which database in this package?")],
    "human-answers": [
        ("3a2864db", "we need a cache layer for the product list, ask me what you need to know"),
        ("40864f3c", "delete the old exports folder"),
        ("86fd6349", "slow answer please"),
        ("c87712e6", "and also log every cache miss"),
    ],
    "inside-turn": [
        ("0e1413a3", "refuse me"),
        ("29a40aa7", "refuse me twice"),
        ("0e9641d0", "ask me things"),
        ("c2198398", "ask me again"),
        ("16efce3d", "run slow tool now"),
        ("16fd30c0", "fail now please"),
    ],
    "queued-pair": [
        ("50d5323d", "slow answer one"),
        ("7167fafb", "queued A\n\nqueued B"),
        ("72aa9da0", "/home/dev is the root"),
        ("10f2c33c", "refuse me"),
        ("3bef95cb", "slow answer two"),
    ],
    "amended": [("630405d3", "refuse me")],
    "subagent-a66b1": [],
    "subagent-ab789": [],
}


def turns_of(name: str, folder: Path) -> dict[str, TranscriptTurn]:
    reading = transcript.read(put_transcript(name, folder))
    assert reading.problem is None and reading.skipped == 0
    return {turn.prompt_id[:8]: turn for turn in reading.turns}


def dumped(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def prompt(number: int, text: str = "", **fields: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "promptId": f"p{number}",
        "uuid": f"u{number}",
        "sessionId": "s",
        "message": {"role": "user", "content": text or f"prompt {number}"},
        "origin": {"kind": "human"},
        "timestamp": "2026-11-30T00:46:41.728Z",
        **fields,
    }


def answer(number: int, text: str = "", stop_reason: str | None = "end_turn", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text or f"answer {number}"}]
    message = {"id": f"m{number}", "role": "assistant", "content": content, "stop_reason": stop_reason}
    return {"type": "assistant", "uuid": f"a{number}", "sessionId": "s", "message": message, **fields}


def read_bytes(folder: Path, data: bytes, offset: int = 0) -> Reading:
    path = folder / "session.jsonl"
    path.write_bytes(data)
    return transcript.read(path, offset)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_recorded_session_gives_each_human_prompt_once_and_nothing_else(name: str, tmp_path: Path) -> None:
    """Sub-agents, commands, summaries, injected text and tool output are in these files, and in no turn."""
    reading = transcript.read(put_transcript(name, tmp_path))
    assert [(turn.prompt_id[:8], turn.prompt) for turn in reading.turns] == EXPECTED[name]
    whole = repr(reading.turns)
    for foreign in ("Example injected memory", "No other callers", "local-command", "summary of the conversation"):
        assert foreign not in whole
    assert all(turn.complete for turn in reading.turns)


def test_a_fork_keeps_the_ids_of_the_prompts_it_copies(tmp_path: Path) -> None:
    """So a fork of a captured session brings its new turn only, under its own session."""
    before, fork = turns_of("long-session", tmp_path), turns_of("forked", tmp_path)
    assert list(fork.keys() - before.keys()) == ["21e04105"]
    assert all(turn.session_id == "e9ff8b7d-58b4-4a92-8f02-353e654cece3" for turn in fork.values())
    copied = fork["4acf0cd2"]
    assert (copied.prompt, copied.answer) == (before["4acf0cd2"].prompt, before["4acf0cd2"].answer)


def test_the_answer_is_the_last_message_as_stop_has_it(tmp_path: Path) -> None:
    turns = turns_of("long-session", tmp_path)
    assert turns["53779d97"].answer == (
        "Understood. PostgreSQL it is, with Flyway for migrations; I will keep MySQL out of this repository."
    )
    assert turns["77d849ed"].answer == "The helper found no other callers of the export endpoint."


def test_an_interrupted_turn_has_its_partial_answer_and_says_so(tmp_path: Path) -> None:
    turn = turns_of("long-session", tmp_path)["0363ac40"]
    assert turn.interrupted and turn.answer == "The payment callback should"
    assert turns_of("inside-turn", tmp_path)["0e1413a3"].interrupted
    assert [turn.interrupted for turn in turns_of("queued-pair", tmp_path).values()] == [False] * 4 + [True]


def test_place_time_and_branch_come_with_the_turn(tmp_path: Path) -> None:
    turn = turns_of("worktree", tmp_path)["ad0bb06f"]
    assert (turn.cwd, turn.branch) == ("/home/dev/shop-wt", "feature/export")
    assert (turn.started_at, turn.ended_at) == ("2026-11-29T23:02:10.698Z", "2026-11-29T23:02:10.854Z")


def test_what_no_person_typed_is_headless_also_in_a_session_a_person_began(tmp_path: Path) -> None:
    headless = {name: [turn.headless for turn in turns_of(name, tmp_path).values()] for name in EXPECTED}
    assert headless["long-session"] == [False] * 7 + [True]
    assert headless["forked"] == [False, False, True]
    assert headless["worktree"] == headless["subfolder"] == [True]
    assert not any(headless["human-answers"] + headless["inside-turn"])


def test_what_the_person_says_inside_a_turn_belongs_to_it(tmp_path: Path) -> None:
    """Answers to questions, the comment of a refusal or a permission, a word thrown in while a tool ran."""
    turns = turns_of("human-answers", tmp_path) | turns_of("inside-turn", tmp_path) | turns_of("amended", tmp_path)
    answers = {prompt_id: turn.answers for prompt_id, turn in turns.items() if turn.answers}
    assert answers == {
        "3a2864db": (Answer("Which cache should the shop use?", "Redis with a 60 second TTL, never cache the cart"),),
        "40864f3c": (Answer("", "keep the old exports, finance audits them every year"),),
        "0e9641d0": (Answer("Which cache?", "Redis, LRU"), Answer("Which db?", "PG")),
        "16efce3d": (Answer("", "queued during tool"),),
        "630405d3": (Answer("", "but in the tmp folder"),),
    }


def test_prompts_queued_together_are_one_turn_that_lists_them(tmp_path: Path) -> None:
    """The client sends both under the id of the last; the hook gave the first one its own."""
    assert turns_of("queued-pair", tmp_path)["7167fafb"].prompts == ("queued A", "queued B")


def test_what_follows_a_shell_line_or_a_command_is_no_part_of_the_turn_before(tmp_path: Path) -> None:
    assert turns_of("inside-turn", tmp_path)["16efce3d"].answer == "Tool done fine."


def test_an_api_error_is_no_answer(tmp_path: Path) -> None:
    turn = turns_of("inside-turn", tmp_path)["16fd30c0"]
    assert turn.complete and turn.answer == ""


def test_any_other_tools_result_is_never_the_persons_word(tmp_path: Path) -> None:
    """Neither a tool's answers of that shape, nor its error that looks like a refusal in the middle."""
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x\nthe user said:\nuse FTP", "is_error": True}
    shape = {"type": "tool_result", "tool_use_id": "t2", "content": "ok"}
    data = dumped(
        prompt(1),
        {"type": "user", "uuid": "r1", "message": {"content": [result]}, "toolUseResult": "Error: x"},
        {"type": "user", "uuid": "r2", "message": {"content": [shape]}, "toolUseResult": {"answers": {"q": "FTP"}}},
        answer(1),
    )
    assert read_bytes(tmp_path, data).turns[0].answers == ()


def test_a_prompt_from_something_other_than_a_person_is_no_turn_and_ends_the_one_before(tmp_path: Path) -> None:
    notice = prompt(2, "<task-notification>done</task-notification>", origin={"kind": "task-notification"})
    data = dumped(prompt(1), answer(1), notice, answer(2), prompt(3, isMeta=True), prompt(4, isSidechain=True))
    reading = read_bytes(tmp_path, data)
    assert [(turn.prompt, turn.answer) for turn in reading.turns] == [("prompt 1", "answer 1")]


def test_an_old_clients_prompt_without_marks_is_known_by_its_text_and_its_uuid(tmp_path: Path) -> None:
    """`hook_id` is what the hook's derivation gave the same prompt, so that both are known as one turn."""
    old = {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "use uv"}}
    command = {**old, "uuid": "u2", "message": {"role": "user", "content": "<command-name>/model</command-name>"}}
    caveat = {**old, "uuid": "u3", "message": {"role": "user", "content": "<local-command-stdout>x"}}
    block = [{"type": "text", "text": "<ide_opened_file>x</ide_opened_file>"}, {"type": "text", "text": "fix it"}]
    editor = {**old, "uuid": "u4", "message": {"role": "user", "content": block}}
    turns = read_bytes(tmp_path, dumped(old, command, caveat, answer(1), editor)).turns
    assert [(turn.prompt_id, turn.prompt) for turn in turns] == [("u1", "use uv"), ("u4", "fix it")]
    assert turns[0].hook_id == derived_prompt_id("s", "use uv")
    assert turns[0].answer == "answer 1"


def test_a_history_written_a_second_time_adds_nothing(tmp_path: Path) -> None:
    records = (prompt(1), answer(1), prompt(2), answer(2))
    once, twice = read_bytes(tmp_path, dumped(*records)), read_bytes(tmp_path, dumped(*records, *records))
    assert twice.turns == once.turns


def test_one_message_in_several_records_is_one_answer_and_the_words_before_are_kept_apart(tmp_path: Path) -> None:
    before, first, second = answer(1, "I look.", "tool_use"), answer(2, "Done", None), answer(2, "and dusted.")
    second["uuid"] = "a2b"
    turn = read_bytes(tmp_path, dumped(prompt(1), before, first, second)).turns[0]
    assert turn.answer == "Done\nand dusted."


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_reading_piece_by_piece_gives_what_reading_at_once_gives(name: str, tmp_path: Path) -> None:
    """At whatever byte the file ends at each read, also within a line: the same turns, and only an offset kept."""
    data, path = recorded(name), tmp_path / "growing.jsonl"
    path.write_bytes(data)
    whole = {turn.prompt_id: turn for turn in transcript.read(path).turns}
    for step in (997, 4001):
        offset, found = 0, {}
        for end in [*range(step, len(data), step), len(data)]:
            path.write_bytes(data[:end])
            reading = transcript.read(path, offset)
            assert offset <= reading.resume_offset <= reading.end_offset <= end
            assert data[: reading.end_offset].endswith(b"\n") or reading.end_offset == 0
            found.update({turn.prompt_id: turn for turn in reading.turns})
            offset = reading.resume_offset
        assert found == whole


def test_the_last_answer_that_comes_after_stop_is_not_lost(tmp_path: Path) -> None:
    """B60: first nothing, then half a line, then the whole: the turn has the final text, once."""
    path, last = tmp_path / "s.jsonl", dumped(answer(1, "the final text"))
    path.write_bytes(dumped(prompt(1)))
    first = transcript.read(path)
    assert [turn.complete for turn in first.turns] == [False]
    with path.open("ab") as file:
        file.write(last[:40])
    half = transcript.read(path, first.resume_offset)
    assert half.end_offset == first.end_offset and half.turns[0].answer == ""
    with path.open("ab") as file:
        file.write(last[40:])
    (turn,) = transcript.read(path, half.resume_offset).turns
    assert (turn.prompt_id, turn.answer, turn.complete) == ("p1", "the final text", True)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_file_may_be_read_a_few_turns_at_a_time(name: str, tmp_path: Path) -> None:
    """B62: so that one of weeks is never held whole."""
    path = put_transcript(name, tmp_path)
    whole, offset, more = transcript.read(path), 0, True
    found: dict[str, TranscriptTurn] = {}
    while more:
        reading = transcript.read(path, offset, 1)
        assert not reading.more or (len(reading.turns) == 1 and reading.resume_offset > offset)
        found |= {turn.prompt_id: turn for turn in reading.turns}
        offset, more = reading.resume_offset, reading.more
    assert list(found.values()) == list(whole.turns)
    assert offset == whole.resume_offset


def test_each_read_takes_only_the_new_turns_bytes(tmp_path: Path) -> None:
    """B63: while the file grows, a read starts at the newest turn, wherever the end is by then."""
    path, offset, seen = tmp_path / "s.jsonl", 0, []
    for number in range(20):
        size = path.stat().st_size if path.exists() else 0
        with path.open("ab") as file:
            file.write(dumped(prompt(number), answer(number, "x" * 50_000)))
            file.write(dumped({"type": "system", "subtype": "turn_duration"}))
        reading = transcript.read(path, offset)
        assert offset == size
        offset = reading.resume_offset
        seen += [turn.prompt_id for turn in reading.turns]
    assert seen == [f"p{number}" for number in range(20)]


def test_a_file_that_shrank_or_was_replaced_is_read_from_its_beginning(tmp_path: Path) -> None:
    short = read_bytes(tmp_path, dumped(prompt(1), answer(1)), 10_000)
    other = read_bytes(tmp_path, dumped(prompt(2), answer(2)), 7)
    assert short.turns[0].prompt_id == "p1"
    assert other.turns[0].prompt_id == "p2"


def test_what_is_no_regular_file_is_reported_and_holds_nobody_up(tmp_path: Path) -> None:
    """A FIFO, a folder, a link, nothing at all: no exception, no wait, the offset stays."""
    fifo, link, target = tmp_path / "fifo", tmp_path / "link", tmp_path / "target"
    os.mkfifo(fifo)
    target.write_bytes(dumped(prompt(1)))
    link.symlink_to(target)
    for path in (fifo, link, tmp_path, tmp_path / "missing"):
        reading = transcript.read(path, 5)
        assert reading.problem and (reading.turns, reading.resume_offset) == ((), 5)


def test_a_spoilt_line_costs_itself_only(tmp_path: Path) -> None:
    """Binary, half JSON, NUL, wrong types, depth, a list: counted or passed over, and the turn is whole."""
    spoilt = [
        b"\x00\x01\xff",
        b'{"type": "user", "message": {"content": "x"',
        b'[1, "user"]',
        b'{"type": "user", "message": 5}',
        b'{"type": "user", "message": {"content": {"a": 1}}, "origin": [1], "uuid": 4}',
        b'{"type": "assistant", "message": {"content": [5], "usage": "much"}}',
        b'{"type": "user", "message": ' + b"[" * 100_000,
        b"",
    ]
    data = dumped(prompt(1)) + b"\n".join(spoilt) + b"\n" + dumped(answer(1))
    reading = read_bytes(tmp_path, data)
    assert [(turn.prompt, turn.answer) for turn in reading.turns] == [("prompt 1", "answer 1")]
    assert reading.skipped == 5
    assert reading.end_offset == len(data)


def test_stray_bytes_and_lone_surrogates_are_repaired_not_skipped(tmp_path: Path) -> None:
    data = (
        dumped(prompt(1, "a HERE b"), answer(1, "c HERE d")).replace(b"HERE", b"\xff", 1).replace(b"HERE", rb"\ud83d")
    )
    (turn,) = read_bytes(tmp_path, data).turns
    assert (turn.prompt, turn.answer) == ("a \ufffd b", "c  d")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = [
    "subtype",
    "promptId",
    "uuid",
    "sessionId",
    "timestamp",
    "cwd",
    "gitBranch",
    "origin",
    "promptSource",
    "entrypoint",
    "message",
    "toolUseResult",
    "isMeta",
    "attachment",
    "content",
    "text",
    "id",
    "model",
    "stop_reason",
    "usage",
    "tool_use_id",
    "is_error",
    "name",
    "answers",
    "annotations",
    "prompt",
]


@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=8), max_size=6), st.randoms())
def test_records_with_any_value_in_any_field_never_raise(tmp_path_factory: Any, records: Any, random: Any) -> None:
    """A later client may change what it likes: the prompts that are still understood are captured."""
    kinds = ("user", "assistant", "attachment", "system")
    shaped = []
    for fields in records:
        block = {"type": random.choice(("text", "tool_result", "tool_use")), **fields}
        message = {**fields, "content": random.choice(([block], fields.get("content"), "words"))}
        shaped.append({**fields, "type": random.choice(kinds), "message": random.choice((message, fields))})
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(dumped(prompt(1), *shaped, prompt(2, "the last one")))
    reading = transcript.read(path)
    assert reading.turns[0].prompt == "prompt 1"
    assert reading.turns[-1].prompt == "the last one"


def test_a_turn_broken_off_without_a_mark_is_interrupted_once_something_new_begins(tmp_path: Path) -> None:
    """The terminal was closed in the middle; the session was resumed later."""
    data = dumped(prompt(1), answer(1, "I look.", "tool_use"))
    (turn,) = read_bytes(tmp_path, data).turns
    assert (turn.complete, turn.interrupted) == (False, False)
    turns = read_bytes(tmp_path, data + dumped(prompt(2), answer(2))).turns
    assert [(turn.complete, turn.interrupted) for turn in turns] == [(True, True), (True, False)]


def test_the_size_of_the_newest_request_is_told_until_a_compaction(tmp_path: Path) -> None:
    used = answer(1)
    used["message"]["usage"] = {
        "input_tokens": 5,
        "cache_read_input_tokens": 150_000,
        "cache_creation_input_tokens": 1_000,
        "output_tokens": 9,
    }
    assert read_bytes(tmp_path, dumped(prompt(1), used)).context_tokens == 151_005
    compacted = {"type": "system", "subtype": "compact_boundary"}
    assert read_bytes(tmp_path, dumped(prompt(1), used, compacted)).context_tokens is None


@pytest.mark.parametrize("filler", ["x", 'say "hi"\\\n', "商", "\u0001\\", '"', "ab\\", "\U0001f600"])
def test_a_line_beyond_the_bound_is_cut_with_a_mark(filler: str, tmp_path: Path) -> None:
    """The prompt keeps its beginning and end; the turn and its id are not lost."""
    long = (
        "begin "
        + filler * (lines.MAX_LINE_BYTES // (len(json.dumps(filler, ensure_ascii=False).encode()) - 2) + 100_000)
        + " end"
    )
    data = dumped(prompt(1, long), answer(1))
    assert len(data) > lines.MAX_LINE_BYTES
    (turn,) = read_bytes(tmp_path, data).turns
    assert (turn.prompt_id, turn.answer) == ("p1", "answer 1")
    assert turn.prompt.startswith("begin ") and turn.prompt.endswith(" end") and "[... cut ...]" in turn.prompt


def test_a_line_beyond_the_bound_whose_end_is_not_written_yet_waits(tmp_path: Path) -> None:
    data = dumped(prompt(1), answer(1)) + b'{"type": "user", "x": "' + b"y" * (lines.MAX_LINE_BYTES + 10)
    reading = read_bytes(tmp_path, data)
    assert reading.end_offset == len(dumped(prompt(1), answer(1)))


def test_a_huge_file_with_a_huge_line_takes_little_memory(tmp_path: Path) -> None:
    """120 MB with a line of 40 MB: less than 40 MiB more, and the newest turn is right."""
    path = tmp_path / "huge.jsonl"
    block = dumped(prompt(1), answer(1, "y" * 100_000))
    with path.open("wb") as file:
        for _ in range(400):
            file.write(block)
        file.write(dumped(prompt(2, "z" * 40_000_000)))
        for _ in range(400):
            file.write(block)
        file.write(dumped(prompt(3), answer(3)))
    program = (
        "import resource, sys; from pathlib import Path; from recalld import transcript\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (2**20 // SCALE)\n"
        "SCALE = 1 if sys.platform == 'darwin' else 1024\n"
        "before = peak(); turns = transcript.read(Path(sys.argv[1])).turns\n"
        "print(peak() - before, turns[-1].prompt_id, turns[-1].answer)"
    )
    run = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    grown, *newest = run.stdout.split(maxsplit=2)
    assert int(grown) < 40
    assert [word.strip() for word in newest] == ["p3", "answer 3"]


def test_reading_is_fast(tmp_path: Path) -> None:
    """At least 50 MB of transcript a second of processor time (in practice several times that)."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(recorded("long-session") * 600)
    begun = time.process_time()
    transcript.read(path)
    assert path.stat().st_size / (time.process_time() - begun) > 50e6
