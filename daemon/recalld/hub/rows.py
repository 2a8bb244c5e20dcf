"""Memories as they stand in PostgreSQL's answers and requests, in our types. What others wrote spoils nothing but itself."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from recalld.carried import Step
from recalld.hubwire import (
    MAX_BODY_BYTES,
    MAX_SEALED_BYTES,
    MAX_STEPS,
    MAX_STEPS_BYTES,
    Item,
    Result,
    Row,
    SealedSteps,
    checked,
)

_MAX_ITEM_BYTES = MAX_BODY_BYTES + 2 * MAX_SEALED_BYTES + 2 * MAX_STEPS_BYTES
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_MAX_ACTOR_CHARS = 300


def text(item: Item) -> str | None:
    """The item as the hub takes it; None where it could spoil the batch, as NUL would, which PostgreSQL cannot store."""
    try:
        encoded = msgspec.json.encode(item)
    except UnicodeEncodeError:
        return None
    return None if len(encoded) > _MAX_ITEM_BYTES or _NUL.search(encoded) else encoded.decode()


def result(memory_id: str, outcome: Any, version: int, reason: str) -> Result:
    """What became of one memory."""
    return Result(id=memory_id, outcome=outcome, version=version, reason=reason)


def row(stream: str, found: tuple[Any, ...]) -> Row:
    """A row of a page."""
    memory_id, seq, version, deleted, body, sealed, digest, member, device, client, pushes, _ = found
    return Row(
        id=memory_id, stream=stream, seq=seq, version=version, deleted=deleted, body=_body(body), sealed=sealed,
        digest=digest, member=member or "", device=device or "", client=client,
        steps=tuple(step for push in pushes or () for step in _steps(push))[-MAX_STEPS:],
        sealed_steps=tuple(
            SealedSteps(push["who"], base64.b64decode(push["sealed"])) for push in pushes or () if push["sealed"]
        ),
    )  # fmt: skip


def _body(given: dict[str, Any] | None) -> dict[str, Any] | None:
    """The body in the types that it must have; empty where it has others, so that it spoils nothing but itself."""
    if given is None:
        return None
    try:
        body: dict[str, Any] = msgspec.to_builtins(checked(given))
    except msgspec.ValidationError:
        return {}
    return body


def _steps(push: Mapping[str, Any]) -> Iterator[Step]:
    """The steps of one push that this program understands."""
    for given in push["steps"] or ():
        with contextlib.suppress(msgspec.ValidationError):
            step = msgspec.convert(given, Step)
            if 0 <= step.version < 1 << 31:
                yield msgspec.structs.replace(step, actor=f"{push['who']}:{step.actor}"[:_MAX_ACTOR_CHARS])


def loads(given: bytes | str) -> Any:
    """What another member wrote; `{}` where it is too deep or too large to be anything."""
    try:
        return msgspec.json.decode(given)
    except (msgspec.DecodeError, RecursionError):
        return {}
