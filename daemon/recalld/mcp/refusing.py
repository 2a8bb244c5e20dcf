"""Lines that are no message of the protocol: the SDK passes them over, and who sent one would wait for ever."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

NO_JSON = -32700
NO_MESSAGE = -32600


class _Message(msgspec.Struct, frozen=True):
    """A request, a notification, or an answer to us (https://www.jsonrpc.org/specification)."""

    jsonrpc: Literal["2.0"]
    method: str | UnsetType = UNSET
    id: int | str | UnsetType = UNSET
    params: dict[str, Any] | None = None
    result: dict[str, Any] | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class _Named(msgspec.Struct, frozen=True):
    id: Any = None


# Before any bracket, it is the message's own.
_FIRST_ID = re.compile(rb'\s*\{[^{}\[\]]*?"id"\s*:\s*(-?\d{1,18}|"[\w-]{1,200}")\s*[,}]')


def refusal(line: str) -> str | None:
    """What to answer where `line` is no message; None where it is one, or an answer, which gets none."""
    try:
        message = msgspec.json.decode(line, type=_Message)
    except msgspec.ValidationError as error:
        return _error(_id(line), NO_MESSAGE, f"no message of JSON-RPC 2.0: {error}")
    except (msgspec.DecodeError, RecursionError) as error:
        return _error(None, NO_JSON, f"no JSON: {error}")
    answers = message.id is not UNSET and (message.result is not UNSET or message.error is not UNSET)
    if message.method is UNSET and not answers:
        return _error(_id(line), NO_MESSAGE, "no message of JSON-RPC 2.0: it has no method")
    return None


def too_long(start: bytes, most: int) -> str:
    """What to answer to a line of more than `most` bytes, whose `start` may tell its id."""
    found = _FIRST_ID.match(start[:4096])
    return _error(json.loads(found[1]) if found else None, NO_MESSAGE, f"a message has at most {most} bytes")


def _id(line: str) -> int | str | None:
    """The id of what is JSON, as far as it has one that can be answered."""
    try:
        said = msgspec.json.decode(line, type=_Named).id
    except (msgspec.DecodeError, RecursionError):
        return None
    return said if isinstance(said, int | str) and not isinstance(said, bool) else None


def _error(number: int | str | None, code: int, text: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}) + "\n"
