"""Small facts about the store itself, as keys and values."""

from __future__ import annotations

import contextlib
import secrets

import apsw

KEY_BYTES = 32

PAUSED = "paused"
"""Since when nothing is given or learnt, as a timestamp; there is no such key while recalld works."""


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


def secret(db: apsw.Connection) -> bytes:
    """The store's own key of 32 bytes, made inside a write transaction where there is none that can be used."""
    with contextlib.suppress(ValueError):
        if len(key := bytes.fromhex(get(db, "secret") or "")) == KEY_BYTES:
            return key
    key = secrets.token_bytes(KEY_BYTES)
    put(db, "secret", key.hex())
    return key
