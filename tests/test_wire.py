"""What the hooks send becomes the few events recalld cares about; nothing else does, and nothing breaks on it."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_data import hook_payloads
from recalld import spoken, wire
from recalld.errors import InputError

EVENTS = {"SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop", "SessionEnd": "session-end"}
CLI = {"entrypoint": "cli", "project": "/home/dev/shop"}


def parsed(event: str, env: Mapping[str, str] = CLI, **fields: Any) -> wire.HookEvent | None:
    payload = {"session_id": "s-1", "cwd": "/home/dev/shop", **fields}
    return wire.parse_hook(event, json.dumps(payload).encode(), env)


def submitted(prompt: object, **fields: Any) -> wire.PromptSubmitted:
    event = parsed("prompt", prompt=prompt, **fields)
    assert isinstance(event, wire.PromptSubmitted)
    return event


def test_every_recorded_input_of_our_four_events_is_understood() -> None:
    """52 recorded inputs: ours become their event with every field, the others become nothing."""
    kinds: Counter[str] = Counter()
    for given_input in hook_payloads():
        name = given_input["hook_event_name"]
        event = wire.parse_hook(EVENTS.get(name, "stop"), json.dumps(given_input).encode(), CLI)
        kinds[f"{name} {type(event).__name__}"] += 1
        if event is None:
            continue
        assert event.session_id == given_input["session_id"]
        assert event.transcript_path == given_input["transcript_path"]
        assert event.cwd == given_input["cwd"]
        if isinstance(event, wire.PromptSubmitted):
            assert (event.prompt, event.prompt_id) == (given_input["prompt"], given_input["prompt_id"])
            assert event.spoken
        if isinstance(event, wire.TurnEnded):
            assert event.prompt_id == given_input["prompt_id"]
            assert event.last_assistant_message == given_input["last_assistant_message"]
    assert kinds == {
        "SessionStart SessionStarted": 8,
        "UserPromptSubmit PromptSubmitted": 16,
        "Stop TurnEnded": 15,
        "SessionEnd SessionEnded": 7,
        "SubagentStop NoneType": 3,
        "PreCompact NoneType": 1,
        "PostCompact NoneType": 1,
        "PostToolUse NoneType": 1,
    }


def test_a_request_is_a_header_and_the_payload_untouched() -> None:
    """Values are percent-decoded UTF-8; the payload keeps every byte, also line ends and NUL."""
    request = wire.parse_request(
        b"hook prompt entrypoint=cli project=/home/dev/my%20shop%E5%95%86 pid=12\n{\n\x00\xff\n"
    )
    assert (request.door, request.name, request.payload) == ("hook", "prompt", b"{\n\x00\xff\n")
    assert request.values == {"entrypoint": "cli", "project": "/home/dev/my shop商", "pid": "12"}
    assert wire.parse_request(b'call list\n{"limit": 3}').name == "list"


@pytest.mark.parametrize(
    "data", [b"", b"hook", b"hook prompt", b"\n{}", b"push x\n{}", b"hook\n{}", b"x" * 100_000 + b"\n"]
)
def test_a_request_without_a_proper_header_is_an_input_error(data: bytes) -> None:
    with pytest.raises(InputError):
        wire.parse_request(data)


def test_a_calls_arguments_are_one_object() -> None:
    assert wire.call_arguments(b"") == {}
    assert wire.call_arguments(b'{"a": [1]}') == {"a": [1]}
    for wrong in (b"[1]", b"{", b"null"):
        with pytest.raises(InputError):
            wire.call_arguments(wrong)


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b'"x"', b"\xff\xfe{", b"[" * 100_000, b'{"prompt": "secret words"}']
)
def test_broken_input_is_an_error_that_quotes_nothing_of_it(payload: bytes) -> None:
    with pytest.raises(InputError) as caught:
        wire.parse_hook("prompt", payload, CLI)
    assert "secret" not in str(caught.value)
    assert len(str(caught.value)) < 100


def test_a_sub_agents_event_is_not_ours() -> None:
    """B68: whatever hook it arrives by: its prompt is Claude's, not a person's."""
    assert parsed("stop", hook_event_name="SubagentStop", last_assistant_message="x") is None
    assert parsed("stop", hook_event_name="Stop", agent_id="a1", last_assistant_message="x") is None
    assert parsed("prompt", hook_event_name="UserPromptSubmit", agent_type="", prompt="x") is None
    assert parsed("prompt", isSidechain=True, prompt="x") is None


def test_an_event_of_a_later_client_is_not_ours_and_no_error() -> None:
    assert parsed("prompt", hook_event_name="PromptImagined", prompt="x") is None
    assert parsed("someday", hook_event_name="Stop") is None


def test_fields_of_unknown_types_and_unknown_fields_do_no_harm() -> None:
    event = parsed("stop", prompt_id=7, last_assistant_message=["x"], cwd=None, transcript_path=3, new={"a": 1})
    assert isinstance(event, wire.TurnEnded)
    assert (event.prompt_id, event.last_assistant_message, event.transcript_path) == (None, "", None)
    assert event.cwd == "/home/dev/shop"


def test_a_path_that_is_not_absolute_is_none() -> None:
    event = parsed("session-start", transcript_path="../x.jsonl", source="startup")
    assert isinstance(event, wire.SessionStarted)
    assert event.transcript_path is None


def test_bytes_that_are_no_utf8_are_replaced_and_the_rest_is_exact() -> None:
    """A stray byte costs one character, not the prompt; emoji and Japanese arrive as sent."""
    payload = b'{"session_id": "s", "prompt_id": "p", "prompt": "\xff \xf0\x9f\x98\x80 \xe6\x97\xa5\xe6\x9c\xac"}'
    event = wire.parse_hook("prompt", payload, CLI)
    assert isinstance(event, wire.PromptSubmitted)
    assert event.prompt == "\ufffd 😀 日本"


def test_lone_surrogates_and_nul_are_dropped() -> None:
    r"""B66, B67: `\ud83d` alone and `\u0000` are legal JSON, and refused by SQLite, UTF-8 and the API."""
    payload = rb'{"session_id": "s", "prompt": "a\ud83db\u0000c \ud83d\ude00"}'
    event = wire.parse_hook("prompt", payload, CLI)
    assert isinstance(event, wire.PromptSubmitted)
    assert event.prompt == "abc 😀"
    event.prompt.encode("utf-8")


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert wire.parse_hook("session-end", b'\xef\xbb\xbf{"session_id": "s"}', CLI) is not None


def test_a_prompt_of_10_mb_keeps_its_beginning_and_its_end() -> None:
    prompt = "begin " + "x" * 10_000_000 + " end"
    kept = submitted(prompt).prompt
    assert kept.startswith("begin x") and kept.endswith("x end")
    assert len(kept) == spoken.HEAD_CHARS + spoken.TAIL_CHARS + len(spoken.CUT_MARK)


def test_an_old_clients_prompt_gets_a_stable_id() -> None:
    """The same words in the same session have the same id; Stop without one means the open turn."""
    one, again, other = submitted("use uv"), submitted(" use uv\n"), submitted("use pip")
    assert one.prompt_id.startswith("d-") and one.prompt_id == again.prompt_id != other.prompt_id
    ended = parsed("stop", last_assistant_message="ok")
    assert isinstance(ended, wire.TurnEnded) and ended.prompt_id is None


@pytest.mark.parametrize(
    ("entrypoint", "headless"),
    [("cli", False), ("claude-vscode", False), ("claude-desktop", False), ("", False), ("later", False)]
    + [(name, True) for name in ("sdk-cli", "sdk-py", "sdk-ts", "claude-code-github-action", "mcp")],
)
def test_a_run_that_no_person_types_is_known_by_its_entrypoint(entrypoint: str, headless: bool) -> None:
    event = parsed("prompt", env={"entrypoint": entrypoint}, prompt="x")
    assert event is not None and event.headless is headless


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("use uv here", True),
        ("/home/dev is the root", True),
        ("a < b holds", True),
        ("/hello world", False),
        ("/recalld:remember x", False),
        ("/clear", False),
        ("<task-notification>\n<task-id>b1</task-id>", False),
        ("<bash-input>ls</bash-input>", False),
        ("  ", False),
    ],
)
def test_commands_and_the_clients_notices_are_not_spoken(prompt: str, said: bool) -> None:
    assert submitted(prompt).spoken is said


def test_the_reply_is_one_ascii_object_in_the_clients_envelope() -> None:
    """B52: else context in an envelope that the client does not know is ignored."""
    reply = wire.reply_context("UserPromptSubmit", "商店 😀\nline", "2 memories")
    assert reply.isascii() and b"\n" not in reply
    assert json.loads(reply) == {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "商店 😀\nline"},
        "systemMessage": "2 memories",
    }
    assert wire.reply_context("Stop", "") == wire.NO_REPLY == b"{}"


@given(st.binary(max_size=200), st.sampled_from(sorted(EVENTS.values())))
def test_no_bytes_at_all_raise_anything_but_an_input_error(data: bytes, event: str) -> None:
    for attempt in (lambda: wire.parse_request(data), lambda: wire.parse_hook(event, data, CLI)):
        with contextlib.suppress(InputError):
            attempt()


@given(
    st.dictionaries(
        st.sampled_from(["session_id", "cwd", "prompt", "prompt_id", "source", "hook_event_name", "agent_id"]),
        st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers(), max_size=2),
    ),
    st.sampled_from(sorted(EVENTS.values())),
)
def test_fields_of_any_value_give_an_event_nothing_or_an_input_error(fields: dict[str, object], event: str) -> None:
    try:
        result = wire.parse_hook(event, json.dumps(fields).encode(), {})
    except InputError:
        return
    assert result is None or result.session_id
