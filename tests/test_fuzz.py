"""Random input to everything that reads what others wrote: wire, transcripts, redaction, search, settings, imports, config.

The same examples each time, few enough for every run. `make fuzz` takes new ones, FUZZ_SECONDS for each target, and tells
how many they were; what it finds is kept in `.hypothesis` and tried again first.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import Daemon, Home
from recall_store import Shelf
from recalld import config, export_file, query, segment, transcript, wire
from recalld.cli import foreign_file
from recalld.config import PrivacyConfig
from recalld.errors import ConfigError, InputError, RecalldError
from recalld.install import settings as hook_settings
from recalld.redact import TABLE, Redactor, clean
from recalld.spoken import shorten
from recalld.store import search
from test_events import House, run  # noqa: F401  # the fixture

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
"""For each target; 0: the same few examples each time."""
pytestmark = pytest.mark.timeout(0 if SECONDS else 120)
RUNS: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def _told(request: pytest.FixtureRequest) -> Iterator[None]:
    """With FUZZ_SECONDS, say how many inputs each target was given."""
    yield
    if SECONDS:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print("", *(f"{runs:>9} {target}" for target, runs in RUNS.items()), sep="\n")


def examples(number: int) -> Callable[[Any], Any]:
    """So many examples; or as many as can be tried in SECONDS, new ones each time."""
    chosen = settings(
        max_examples=number, derandomize=not SECONDS, deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.large_base_example],
    )  # fmt: skip

    def decorated(test: Any) -> Any:
        tried = test.hypothesis.inner_test

        @functools.wraps(tried)
        def counted(*args: Any, **kwargs: Any) -> None:
            RUNS[test.__name__] += 1
            tried(*args, **kwargs)

        test.hypothesis.inner_test = counted
        some = chosen(test)

        @functools.wraps(test)
        def again_and_again(*args: Any, **kwargs: Any) -> None:
            for _ in rounds(1):
                some(*args, **kwargs)

        return again_and_again

    return decorated


def rounds(number: int, target: str = "") -> Iterator[int]:
    """So many; or as many as SECONDS allow. target: what they are counted for."""
    begun = time.monotonic()
    for count in itertools.count():
        if time.monotonic() - begun > SECONDS if SECONDS else count == number:
            return
        if target:
            RUNS[target] += 1
        yield count


def luck(seed: int) -> random.Random:
    """The same chances each time, or, with SECONDS, new ones."""
    return random.Random(None if SECONDS else seed)


TEXT = st.text(max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
WORDS = st.lists(
    st.sampled_from(
        ["it's", "lib/a.py", "v3.12", "C++", "a:b", "NEAR(x)", '"', "*", "-", "AND", "OR NOT", "^", "{}", "col:", "((", ";", "\\",
         "multi-stage", "stage:", "数据库", "迁移", "テスト", "\u200b", "\x00", "\ud83d", "🦀", "NOT", "NEAR/2", "content:x", "%", "_"]
    ) | TEXT,
    max_size=12,
)  # fmt: skip


# The wire ------------------------------------------------------------------------------------------------------------

EVENTS = ("session-start", "prompt", "stop", "session-end", "other")
FIELDS = ("session_id", "transcript_path", "cwd", "hook_event_name", "source", "model", "prompt", "prompt_id", "reason",
          "permission_mode", "last_assistant_message", "stop_hook_active", "agent_id", "agent_type", "isSidechain")  # fmt: skip
FRAMES = st.binary(max_size=300) | st.builds(
    lambda head, payload: head.encode(errors="replace") + b"\n" + payload,
    st.sampled_from(["hook prompt", "hook stop x=%ff", "call list", "call " + "x" * 300, "hook", "call __init__", "HOOK prompt"]) | TEXT,
    st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()),
)  # fmt: skip


@examples(200)
@given(FRAMES, st.sampled_from(EVENTS))
def test_bytes_are_a_request_or_an_input_error(data: bytes, event: str) -> None:
    for parse in (
        lambda: wire.parse_request(data),
        lambda: wire.parse_hook(event, data, {}),
        lambda: wire.call_arguments(data),
    ):
        try:
            parse()
        except InputError as error:
            assert "\n" not in str(error)


def test_a_service_survives_any_hook(run: Any) -> None:  # noqa: F811
    """B58, B66: whatever the fields hold, the reply is one object that neither blocks nor goes on, and what is stored
    is valid text. Real prompts between them are still captured."""
    chance = luck(7)
    strange: list[Any] = ["", "x", "\ud83d", "a\x00b", 0, -1, 2**70, 1.5, None, True, [], {}, ["x"], {"a": {"b": []}}, "/", "/tmp",
                          "../..", "x" * 9000, "/" + "y" * 9000, "<private>", "</recalld-memory>", "🦀\u202e", "'; --"]  # fmt: skip

    async def work(house: House) -> None:
        for number in rounds(400, "test_a_service_survives_any_hook"):
            fields = {name: chance.choice(strange) for name in FIELDS if chance.random() < 0.6}
            event = chance.choice(EVENTS)
            if chance.random() < 0.7:
                fields["hook_event_name"] = {
                    "session-start": "SessionStart",
                    "prompt": "UserPromptSubmit",
                    "stop": "Stop",
                }.get(event)
            for name in ("agent_id", "agent_type", "isSidechain"):
                if chance.random() < 0.8:
                    fields.pop(name, None)
            if chance.random() < 0.8:
                fields["session_id"] = f"s{number % 7}"
            payload = json.dumps(fields).encode()
            if chance.random() < 0.2:
                at = chance.randrange(len(payload))
                payload = payload[:at] + chance.randbytes(3) + payload[at:]
            try:
                reply = await house.service.hook(wire.Request("hook", event, {}, payload))
            except InputError:
                continue
            answer = json.loads(reply)
            assert answer.keys() <= {"hookSpecificOutput", "systemMessage"}
        await house.prompt("We decided that the API listens on port 8080.", "real", "real")
        await house.stop("real", session="real")
        assert ("real", "We decided that the API listens on port 8080.") in await house.turns()
        for _, text in await house.turns():
            text.encode()
            assert "\x00" not in text
        await house.learn()

    run(work)


def test_a_daemon_survives_any_bytes(home: Home, daemon: Daemon) -> None:
    """Three hundred random requests on the real socket; it answers as before, and its log has no traceback."""
    chance = luck(3)
    for _ in rounds(300, "test_a_daemon_survives_any_bytes"):
        head = chance.choice([b"hook prompt ", b"call ", b"call list\n", b"hook stop\n", b"", b"call search\n"])
        _send(home, head + chance.randbytes(chance.randrange(200)))
    assert home.client.call("status")["pid"] == daemon.pid
    assert "Traceback" not in (home.paths.log / "recalld.log").read_text()


def _send(home: Home, data: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(10)
        peer.connect(str(home.paths.socket))
        peer.sendall(data)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(1 << 16):
            pass


# Transcripts ---------------------------------------------------------------------------------------------------------

RECORD = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "attachment", "summary"]) | TEXT},
    optional=dict.fromkeys(("message", "promptId", "uuid", "sessionId", "cwd", "gitBranch", "origin", "timestamp", "toolUseResult", "isMeta", "isSidechain", "attachment", "content"), JSON),
)  # fmt: skip


@examples(150)
@given(st.lists(RECORD.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=80), max_size=8), st.data())
def test_any_transcript_is_read_to_its_end_in_any_pieces(tmp_path_factory: Any, lines: list[bytes], data: Any) -> None:
    """Read at once or in two parts, no record raises, no offset moves back or past the end, every text can be stored."""
    path = tmp_path_factory.getbasetemp() / "fuzz.jsonl"
    whole = b"\n".join(lines) + b"\n"
    path.write_bytes(whole)
    reading = transcript.read(path)
    assert 0 <= reading.resume_offset <= len(whole)
    for turn in reading.turns:
        for text in (
            turn.prompt,
            turn.answer,
            turn.prompt_id,
            *turn.prompts,
            *(part for a in turn.answers for part in (a.question, a.answer)),
        ):
            clean(text).encode()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    first = transcript.read(path)
    assert first.resume_offset <= cut
    path.write_bytes(whole)
    assert transcript.read(path, first.resume_offset).resume_offset >= first.resume_offset


# Redaction -----------------------------------------------------------------------------------------------------------

REDACT = Redactor(
    PrivacyConfig(mask_emails=True, mask_private_ips=True, words=("Nordwind",), patterns=(r"CUST-\d+",))
).redact
AROUND = st.sampled_from(
    ["pass" + "word", ": ", "=", " ", "\n", "'", '"', "token", " is ", "@", "://", "密" + "码", "是", "[redacted:x]", "[redacted:", "]",
     "<private>", "</private>", "<recalld-memory ", "</recalld-memory>", "Nordwind", "CUST-12", "(m-1a2b3c)", "- [fact, 2026-01-01] ",
     "\ud83d", "\x00", "\x1b[31m", "\u200b", "eyJ", "-----BEGIN ", "Bearer "]
)  # fmt: skip
PIECES = st.lists(st.sampled_from([rule.example() for rule in TABLE]) | AROUND | TEXT, max_size=9).map("".join)
ORDINARY = st.lists(AROUND | TEXT, max_size=9).map("".join)


@examples(400)
@given(PIECES)
def test_masking_is_done_once_and_bounded(text: str) -> None:
    """Masking again changes nothing, no text grows beyond a mark for each of its signs, and what is left is valid."""
    once = REDACT(clean(text))
    assert REDACT(once) == once
    assert len(once) <= 24 * (len(text) + 1)
    assert clean(once) == clean(clean(once))
    once.encode()


@examples(200)
@given(ORDINARY, st.sampled_from([rule.name for rule in TABLE]), ORDINARY)
def test_a_secret_on_its_own_line_is_masked_whatever_stands_around(before: str, name: str, after: str) -> None:
    example = next(rule.example() for rule in TABLE if rule.name == name)
    assert example not in REDACT(f"{before}\n\n{example}\n\n{after}")


@examples(25)
@given(PIECES.filter(bool))
def test_masking_100_kb_of_any_pattern_takes_a_moment(unit: str) -> None:
    text = (unit * (100_000 // len(unit) + 1))[:100_000]
    begun = time.process_time()
    REDACT(clean(text))
    assert time.process_time() - begun < 2.0


# Search --------------------------------------------------------------------------------------------------------------


def test_five_thousand_random_texts_are_no_query_syntax(tmp_path: Path) -> None:
    """B34: whatever a prompt holds, looking for it raises nothing."""
    shelf = Shelf(tmp_path)
    shelf.add_all(["use multi-stage build", "it's in lib/a.py", "数据库迁移"])
    chance = luck(34)
    signs = [*map(chr, range(32, 127)), *"\n\t\x00é数据库迁移テスト🦀\u200b“”‘’—"]
    for number in rounds(5_000, "test_five_thousand_random_texts_are_no_query_syntax"):
        text = "".join(chance.choices(signs, k=number % 60))
        search.lexical(shelf.db, "p1", segment.terms(text), 5)
        search.lexical(shelf.db, "p1", text.split(), 5)
        query.build(text, text[::-1])


@examples(150)
@given(WORDS)
def test_fts_operators_are_words(tmp_path_factory: Any, words: list[str]) -> None:
    """B35: the match expression holds quoted strings and OR, and SQLite takes it."""
    text = " ".join(words)
    expression = segment.match(segment.terms(text))
    if expression:
        db = apsw.Connection(":memory:")
        db.execute("create virtual table t using fts5(content)")
        db.execute("select * from t where t match ?", (expression,)).fetchall()
        db.close()


# Settings, imports, config ---------------------------------------------------------------------------------------------

SETTINGS = st.dictionaries(TEXT, JSON, max_size=4).flatmap(
    lambda rest: st.fixed_dictionaries(
        {}, optional={"hooks": st.dictionaries(
            st.sampled_from(["Stop", "SessionStart", "PreToolUse", "Notification"]),
            st.lists(st.fixed_dictionaries(
                {"hooks": st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": TEXT}), min_size=1, max_size=2)},
                optional={"matcher": TEXT}), min_size=1, max_size=2),
            min_size=1, max_size=3)},
    ).map(lambda hooks: {key: value for key, value in rest.items() if key != "hooks"} | hooks)
)  # fmt: skip
WANTED = hook_settings.entries(
    Path("/usr/bin/python3"), Path("/opt/recalld/hooks/hook.py"), Path("/s/recalld.sock"), ["/x/recalld", "run"]
)


@examples(150)
@given(SETTINGS, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans(), st.booleans())
def test_settings_are_the_same_after_in_and_out(
    tmp_path_factory: Any, value: Any, indent: Any, plain: bool, crlf: bool
) -> None:
    """B87, B88: all foreign content is byte-equal after install and uninstall, and ours is there once between them."""
    path = tmp_path_factory.getbasetemp() / "settings.json"
    backups = tmp_path_factory.getbasetemp() / "copies"
    text = json.dumps(value, indent=indent, ensure_ascii=plain)
    if crlf:
        text = text.replace("\n", "\r\n")
    path.write_bytes(text.encode(errors="replace"))
    before = path.read_bytes()
    for _ in range(2):
        hook_settings.add_hooks(path, WANTED, backups)
    with_ours = json.loads(path.read_bytes())
    ours = [
        entry
        for groups in with_ours["hooks"].values()
        for group in groups
        for entry in group["hooks"]
        if hook_settings.is_ours(entry)
    ]
    assert len(ours) == len(WANTED)
    hook_settings.remove_hooks(path, backups)
    assert path.read_bytes() == before


@examples(100)
@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_settings_that_are_none_stay_byte_for_byte(tmp_path_factory: Any, data: bytes) -> None:
    """B87: what cannot be read as settings is refused in one line and never rewritten."""
    path = tmp_path_factory.getbasetemp() / "broken.json"
    path.write_bytes(data)
    try:
        hook_settings.add_hooks(path, WANTED, tmp_path_factory.getbasetemp() / "copies2")
    except ConfigError as error:
        assert "\n" not in str(error)
        assert path.read_bytes() == data
    else:
        assert isinstance(json.loads(data), dict)


HEAD = {"format": "recalld", "version": 1}
IMPORTS = (
    st.binary(max_size=200)
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(st.sampled_from(["memories", "projects", "conflicts", "key", "exported_at"]), JSON).map(
        lambda value: json.dumps(HEAD | value).encode())
    | st.lists(st.dictionaries(st.sampled_from(["memory", "project", "conflict"]), JSON, max_size=1), max_size=3).map(
        lambda items: b"\n".join(json.dumps(item).encode() for item in [HEAD, *items]))
    | st.dictionaries(st.sampled_from(["schema_name", "facts", "observations", "results", "memories"]), JSON
                      | st.just("memtether.memory_exchange") | st.lists(st.dictionaries(TEXT, JSON, max_size=3), max_size=3)).map(
        lambda value: json.dumps(value).encode())
    | st.binary(max_size=60).map(lambda rest: b"SQLite format 3\0" + rest)
)  # fmt: skip


@examples(300)
@given(IMPORTS)
def test_a_file_to_import_is_read_or_refused(tmp_path_factory: Any, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "import.json"
    path.write_bytes(data)
    for read in (export_file.read, foreign_file.read):
        _or_error(lambda read=read: read(path))


KEYS = st.sampled_from(
    ["memory", "privacy", "extract", "projects", "keep", "words", "patterns", "weights", "max_items_per_prompt"]
)
TOML = st.lists(
    st.builds(lambda key: f"[{key}]", KEYS)
    | st.builds(lambda key, value: f"{key} = {json.dumps(value)}", KEYS | TEXT, JSON)
    | TEXT,
    max_size=6,
).map("\n".join)  # fmt: skip


@examples(300)
@given(TOML)
def test_a_config_is_valid_or_refused_with_its_place(text: str) -> None:
    try:
        config.parse(text, "config.toml")
    except ConfigError as error:
        assert str(error).startswith("config.toml:")


@examples(50)
@given(st.text(max_size=300))
def test_a_shortened_text_has_its_ends(text: str) -> None:
    short = shorten(text, 40, 20)
    assert len(short) <= max(len(text), 100)
    assert short.startswith(text[:40]) and short.endswith(text[-20:] if len(text) > 90 else text[-5:])


def _or_error(work: Callable[[], Any]) -> None:
    """What `work` may raise is one line for the user."""
    try:
        work()
    except RecalldError as error:
        assert "\n" not in str(error)
