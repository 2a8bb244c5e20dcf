"""Small facts about the store itself, as keys and values."""

from __future__ import annotations

import secrets

import apsw


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
    """The store's own key of 32 bytes, made on first use inside a write transaction."""
    if (known := get(db, "secret")) is None:
        known = secrets.token_hex(32)
        put(db, "secret", known)
    return bytes.fromhex(known)
