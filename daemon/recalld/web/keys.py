"""Who may come in: the owner's token, and the sessions of the viewer that it has opened."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

CODE_S = 60.0
"""So long does a login code hold."""
SESSION_S = 12 * 3600.0
MOST = 100
"""Codes and sessions kept; the oldest goes for a new one."""
_LENGTH = 43
"""Of what `secrets.token_urlsafe(32)` makes: 256 bits."""


class Keys:
    """The token, the codes and the sessions, as hashes. clock: monotonic, in seconds."""

    def __init__(self, token: str, clock: Callable[[], float]) -> None:
        self._token = _hash(token)
        self._clock = clock
        self._codes: dict[bytes, float] = {}
        self._sessions: dict[bytes, float] = {}

    def knows(self, authorization: str) -> bool:
        """Whether the header's value is a token that holds."""
        scheme, _, shown = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return False
        # Compared as hashes: how long that takes tells nothing of the secret.
        found = _hash(shown.strip())
        until = self._sessions.get(found)
        return hmac.compare_digest(found, self._token) or (until is not None and self._clock() < until)

    def code(self) -> str:
        """A new login code, for one use."""
        return self._new(self._codes, CODE_S)

    def login(self, code: str) -> str | None:
        """A new session's token for a code that holds; the code does so no more."""
        until = self._codes.pop(_hash(code), None)
        return None if until is None or self._clock() >= until else self._new(self._sessions, SESSION_S)

    def _new(self, kept: dict[bytes, float], seconds: float) -> str:
        now = self._clock()
        for old in [key for key, until in kept.items() if until <= now]:
            del kept[old]
        if len(kept) >= MOST:
            del kept[next(iter(kept))]
        made = secrets.token_urlsafe(32)
        kept[_hash(made)] = now + seconds
        return made


def token(path: Path) -> str:
    """The owner's token in the file; made where there is none, and anew where others could have read it. Raises OSError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return _make(path)
    with os.fdopen(handle) as file:
        status, text = os.fstat(handle), file.read(1000).strip()
    alone = status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077
    if alone and len(text) >= _LENGTH:
        return text
    path.unlink()
    return _make(path)


def _make(path: Path) -> str:
    made = secrets.token_urlsafe(32)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(made + "\n")
    return made


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
