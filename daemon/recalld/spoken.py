"""What of the client's text a person said, and that text made safe to keep: words shared by hooks and transcripts."""

from __future__ import annotations

import hashlib
import json
import re

from recalld.errors import InputError

# A prompt may be a pasted file of many megabytes. What a person states stands at its beginning or its end.
HEAD_CHARS = 64 * 1024
TAIL_CHARS = 16 * 1024
CUT_MARK = "\n[... cut ...]\n"

# The programs that run the client without a person at a keyboard (seen in 2.1.197: `claude -p` is sdk-cli, the
# SDKs are sdk-ts and sdk-py). Editors and desktop programs name themselves otherwise: there a person types.
_HEADLESS_ENTRYPOINTS = frozenset({"claude-code-github-action", "mcp", "remote_trigger"})

# `/hello world`, `/plugin:skill`; a path (`/home/dev is the root`) is the user's text, as it is to the client.
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?=\s|$)")

# What the client itself puts in the place of a prompt: local commands and their output, notices of background work.
MACHINE_TAG = re.compile(
    r"<(?:command-(?:name|message|args)|local-command-[a-z]+|bash-(?:input|stdout|stderr)|task-notification"
    r"|user-memory-input|system-reminder|user-prompt-submit-hook|teammate-message|tick)\b"
)


def is_headless(entrypoint: str) -> bool:
    """Whether CLAUDE_CODE_ENTRYPOINT (or a transcript's `entrypoint`) names a run that no person types."""
    return entrypoint.startswith("sdk-") or entrypoint in _HEADLESS_ENTRYPOINTS


def is_spoken(prompt: str) -> bool:
    """Whether `prompt` is what a person said, not a slash command and not a text the client made itself."""
    start = prompt.lstrip()
    return bool(start) and not _COMMAND.match(start) and not MACHINE_TAG.match(start)


def derived_prompt_id(session_id: str, prompt: str) -> str:
    """A stable id for a prompt whose client gives none.

    Saying the same words twice in one session gives one id: a repeated "continue" is no new turn.
    """
    return "d-" + hashlib.sha256(f"{session_id}\0{prompt.strip()}".encode()).hexdigest()[:32]


def decode(data: bytes) -> object:
    """The JSON value in `data`: bytes that are no UTF-8 are replaced, lone surrogates and NUL dropped.

    Raises InputError where it is no JSON.
    """
    try:
        return _cleaned(json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff")))
    except (ValueError, RecursionError):
        raise InputError("the input is no valid JSON") from None


def clean(value: str) -> str:
    """`value` without NUL and lone surrogates, which SQLite, UTF-8 and the API each refuse."""
    if "\0" in value:
        value = value.replace("\0", "")
    return value if value.isascii() else value.encode("utf-8", "ignore").decode()


def text(value: object) -> str:
    """`value` cleaned if it is a string, else the empty string."""
    return clean(value) if isinstance(value, str) else ""


def shorten(value: str, head: int = HEAD_CHARS, tail: int = TAIL_CHARS) -> str:
    """`value`, or its first `head` and last `tail` characters with CUT_MARK between."""
    if len(value) <= head + tail + len(CUT_MARK):
        return value
    return value[:head] + CUT_MARK + value[-tail:]


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value
