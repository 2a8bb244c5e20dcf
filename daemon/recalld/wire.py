"""The bytes as Claude Code's hooks send them, and the few events recalld cares about.

What is well-formed but foreign (a sub-agent's event, an event of a later client) is `None`; only broken input is an
InputError, and its text never quotes the input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from recalld.errors import InputError
from recalld.spoken import clean, decode, derived_prompt_id, is_headless, is_spoken, shorten, text

MAX_HEADER_BYTES = 64 * 1024
MAX_ID_CHARS = 200
MAX_PATH_CHARS = 8 * 1024

NO_REPLY = b"{}"

SELF_CHECK = "self-check"
"""The `source` of a session that nobody holds: an installation proves itself, and is counted as nobody's."""

_HOOK_EVENTS = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "stop": "Stop",
    "session-end": "SessionEnd",
}


class Request(msgspec.Struct, frozen=True):
    """One request to the daemon. door: what `name` is, a hook event or a verb. values: the header's keys, decoded."""

    door: Literal["hook", "call"]
    name: str
    values: Mapping[str, str]
    payload: bytes


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    """What every event says.

    transcript_path: absolute, or None. headless: no person types in this session. project_dir: where the client
    was started; `cwd` may be deeper.
    """

    session_id: str
    transcript_path: str | None
    cwd: str
    project_dir: str
    headless: bool


class SessionStarted(_Event, frozen=True, kw_only=True):
    """source: startup, resume, clear, compact, or what a later client says. A fork carries the old session's id."""

    source: str
    model: str


class PromptSubmitted(_Event, frozen=True, kw_only=True):
    """prompt_id is the client's, or `derived_prompt_id` where it gave none."""

    prompt_id: str
    prompt: str

    @property
    def spoken(self) -> bool:
        """Whether a person said it; not so for slash commands and the client's own notices."""
        return is_spoken(self.prompt)


class TurnEnded(_Event, frozen=True, kw_only=True):
    """prompt_id None: the client gave none; the session's open turn is meant.

    A shell line (`!ls`) makes a second Stop under the id of the turn before it, with another answer.
    """

    prompt_id: str | None
    last_assistant_message: str


class SessionEnded(_Event, frozen=True, kw_only=True):
    """Not sent reliably."""


HookEvent = SessionStarted | PromptSubmitted | TurnEnded | SessionEnded


class _Payload(msgspec.Struct, frozen=True):
    """The fields read, of any type: a later client may change them, and each is judged where it is used."""

    session_id: object = None
    transcript_path: object = None
    cwd: object = None
    hook_event_name: object = None
    source: object = None
    model: object = None
    prompt: object = None
    prompt_id: object = None
    last_assistant_message: object = None
    agent_id: object = None
    agent_type: object = None
    isSidechain: object = None


_decoder = msgspec.json.Decoder(_Payload)


def parse_request(data: bytes) -> Request:
    """The request in `data`: `hook EVENT key=value...` or `call VERB`, a newline, the payload. Raises InputError."""
    header, newline, payload = data.partition(b"\n")
    if not newline or len(header) > MAX_HEADER_BYTES:
        raise InputError("the request has no header line")
    door, *words = [word for word in header.decode("utf-8", "replace").strip("\r").split(" ") if word] or [""]
    if door not in ("hook", "call") or not words:
        raise InputError("the request's header is not understood")
    values = dict(_pair(word) for word in words[1:])
    return Request("hook" if door == "hook" else "call", words[0], values, payload)


def call_arguments(payload: bytes) -> dict[str, object]:
    """The JSON object that a call's payload is; nothing stands for `{}`. Raises InputError."""
    if not payload.strip():
        return {}
    arguments = decode(payload)
    if not isinstance(arguments, dict):
        raise InputError("the arguments are no JSON object")
    return arguments


def parse_hook(event: str, payload: bytes, env: Mapping[str, str]) -> HookEvent | None:
    """The event in `payload`, as registered for `event`; None for what is not ours to handle. Raises InputError.

    env: the header's values `entrypoint` and `project`.
    """
    name = _HOOK_EVENTS.get(event)
    fields = _read(payload)
    if name is None or text(fields.hook_event_name) not in ("", name):
        return None
    if fields.agent_id is not None or fields.agent_type is not None or fields.isSidechain is True:
        return None
    session_id = _identifier(fields.session_id)
    if not session_id:
        raise InputError("the hook's input names no session")
    project_dir = clean(env.get("project", ""))
    common = {
        "session_id": session_id,
        "transcript_path": _path(fields.transcript_path) or None,
        "cwd": _path(fields.cwd) or project_dir,
        "project_dir": project_dir,
        "headless": is_headless(env.get("entrypoint", "")),
    }
    return _BUILDERS[name](fields, common)


def reply_context(event_name: str, context: str, system_message: str = "") -> bytes:
    """The hook's answer that gives Claude `context` and shows the user `system_message`; `{}` without both.

    ASCII only, so that no locale on the way can spoil it.
    """
    reply: dict[str, object] = {}
    if context:
        reply["hookSpecificOutput"] = {"hookEventName": event_name, "additionalContext": clean(context)}
    if system_message:
        reply["systemMessage"] = clean(system_message)
    return json.dumps(reply, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _started(fields: _Payload, common: dict[str, Any]) -> HookEvent:
    return SessionStarted(**common, source=text(fields.source)[:MAX_ID_CHARS], model=text(fields.model)[:MAX_ID_CHARS])


def _submitted(fields: _Payload, common: dict[str, Any]) -> HookEvent:
    if not isinstance(fields.prompt, str):
        raise InputError("the hook's input has no prompt")
    prompt = shorten(clean(fields.prompt))
    prompt_id = _identifier(fields.prompt_id) or derived_prompt_id(common["session_id"], prompt)
    return PromptSubmitted(**common, prompt_id=prompt_id, prompt=prompt)


def _ended(fields: _Payload, common: dict[str, Any]) -> HookEvent:
    return TurnEnded(
        **common,
        prompt_id=_identifier(fields.prompt_id) or None,
        last_assistant_message=shorten(text(fields.last_assistant_message)),
    )


def _session_ended(_: _Payload, common: dict[str, Any]) -> HookEvent:
    return SessionEnded(**common)


_BUILDERS = {
    "SessionStart": _started,
    "UserPromptSubmit": _submitted,
    "Stop": _ended,
    "SessionEnd": _session_ended,
}


def _read(payload: bytes) -> _Payload:
    try:
        return _decoder.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # The strict reader refuses a lone surrogate or a stray byte; the patient one below repairs them.
    fields = decode(payload)
    if not isinstance(fields, dict):
        raise InputError("the hook's input is no JSON object")
    return msgspec.convert(fields, _Payload)


def _pair(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key, _percent_decoded(value)


def _percent_decoded(value: str) -> str:
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), value.encode("utf-8"))
    return clean(raw.decode("utf-8", "replace"))


def _identifier(value: object) -> str:
    return text(value).strip()[:MAX_ID_CHARS]


def _path(value: object) -> str:
    """`value` if it is an absolute path of a sane length, else the empty string."""
    path = text(value)
    return path if path.startswith("/") and len(path) <= MAX_PATH_CHARS else ""
