"""Small facts about the store itself, as keys and values."""

from __future__ import annotations

import contextlib
import json
import secrets

import apsw

KEY_BYTES = 32

PAUSED = "paused"
"""Since when nothing is given or learnt, as a timestamp; there is no such key while recalld works."""

PAUSES = "pauses"
"""Earlier pauses as JSON, [[from, to], ...]: what was said in one is not learnt later either, from a transcript."""

KEPT_PAUSES = 200

RESCUED = "rescued"
"""What happened to a damaged database, in a sentence; the owner has not been told yet at the start of a session."""


def get(db: apsw.Connection, key: str) -> str | None:
    """The value of `key`, None where it was never set."""
    value: str | None = db.execute("select value from meta where key = ?", (key,)).get
    return value


def put(db: apsw.Connection, key: str, value: str) -> None:
    """Set `key` to `value`."""
    db.execute("insert into meta values (?, ?) on conflict do update set value = excluded.value", (key, value))


def remove(db: apsw.Connection, key: str) -> None:
    """Forget `key`."""
    db.execute("delete from meta where key = ?", (key,))


def pause(db: apsw.Connection, at: str) -> None:
    """Give and learn nothing from `at` on; a pause that lasts already goes on."""
    if get(db, PAUSED) is None:
        put(db, PAUSED, at)


def resume(db: apsw.Connection, at: str) -> None:
    """End the pause; what was said in it stays unknown."""
    if (since := get(db, PAUSED)) is not None:
        put(db, PAUSES, json.dumps([*_pauses(db), (since, at)][-KEPT_PAUSES:]))
        remove(db, PAUSED)


def paused(db: apsw.Connection, at: str) -> bool:
    """Whether nothing was to be given or learnt at `at` (a timestamp)."""
    since = get(db, PAUSED)
    return (since is not None and at >= since) or any(begun <= at < ended for begun, ended in _pauses(db))


def _pauses(db: apsw.Connection) -> list[tuple[str, str]]:
    return [(str(begun), str(ended)) for begun, ended in json.loads(get(db, PAUSES) or "[]")]


def secret(db: apsw.Connection) -> bytes:
    """The store's own key of 32 bytes, made inside a write transaction where there is none that can be used."""
    with contextlib.suppress(ValueError):
        if len(key := bytes.fromhex(get(db, "secret") or "")) == KEY_BYTES:
            return key
    key = secrets.token_bytes(KEY_BYTES)
    put(db, "secret", key.hex())
    return key
