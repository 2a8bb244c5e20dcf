"""Memories as the hub's tests push them."""

from __future__ import annotations

from typing import Any

from recalld.carried import Step
from recalld.hubwire import Body, Item, digest
from recalld.model import Origin, Scope, Status, Type, new_id

NOW = "2026-01-31T08:05:00.000Z"


def body(content: str, scope: str = "user", **fields: Any) -> Body:
    fields = {"status": Status.ACTIVE, "source": "cli", "origin": Origin.USER, "confidence": 1.0} | fields
    times = dict.fromkeys(("first_seen", "last_seen", "created_at", "updated_at"), NOW)
    return Body(scope=Scope(scope), type=Type.FACT, content=content, **times, **fields)


def item(
    stream: str, content: str = "", *, id_: str = "", base_version: int = 0, deleted: bool = False, client: str = "cli",
    steps: tuple[Step, ...] = (), scope: str = "", **fields: Any,
) -> Item:  # fmt: skip
    """A new memory of the stream, unless an id is given."""
    known = (
        stream.split(":", maxsplit=1)[0] if stream.split(":", maxsplit=1)[0] in ("user", "org", "project") else "user"
    )
    text = None if deleted else body(content, scope or known, **fields)
    return Item(
        id=id_ or new_id(), stream=stream, base_version=base_version, deleted=deleted, body=text,
        digest=digest(text) if text else b"\0", client=client, steps=steps,
    )  # fmt: skip


def steps(*contents: str) -> tuple[Step, ...]:
    return tuple(
        Step(version=n, action="update", actor="cli", content=text, type=Type.FACT, status=Status.ACTIVE, at=NOW)
        for n, text in enumerate(contents, 1)
    )
