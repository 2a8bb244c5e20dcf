"""End-to-end encryption of a member's own stream: the hub keeps what only the member's devices can read.

One key a member, 32 random bytes, on the devices alone; as 24 words (BIP 39) it goes from one device to the next by the
member's own hand. From it are derived (HKDF-SHA256) a key for AES-256-GCM, one for the digests (HMAC), and the check,
which the hub keeps so that a wrong phrase is refused. What is sealed is bound to its member, memory and kind, so that
nobody can put one text in another's place. Lengths are rounded up.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from mnemonic import Mnemonic

from recalld import hubwire
from recalld.carried import Step
from recalld.errors import InputError
from recalld.hubwire import Item, Row, user_stream

KEY_BYTES = 32
WORDS = 24
ROUNDED_BYTES = 256
"""Lengths are told in steps of this many."""
FORMAT = b"\x01"
NONCE_BYTES = 12


def new_key() -> bytes:
    """A key of nobody's yet."""
    return secrets.token_bytes(KEY_BYTES)


def phrase(key: bytes) -> str:
    """The key as 24 English words."""
    return str(Mnemonic("english").to_mnemonic(key))


def key_of(typed: str) -> bytes:
    """The key that the words stand for, in any case and spacing. Raises InputError; no word is repeated in it."""
    words, known = typed.lower().split(), Mnemonic("english")
    if len(words) != WORDS:
        raise InputError(f"the recovery phrase has {WORDS} words, these are {len(words)}")
    if wrong := [number for number, word in enumerate(words, 1) if word not in known.wordlist]:
        raise InputError(f"word {wrong[0]} is none that a recovery phrase can have; see how it is spelt")
    try:
        return bytes(known.to_entropy(words))
    except ValueError as error:
        raise InputError("these words are no recovery phrase: one is wrong, or their order is") from error


def check(key: bytes) -> bytes:
    """What the hub keeps to tell a right phrase from a wrong one; nobody gets the key from it."""
    return _derived(key, b"check")


class _Inside(msgspec.Struct, frozen=True):
    """What is sealed of a memory. digest: the devices' own, which the hub is not shown."""

    body: dict[str, Any]
    digest: bytes


class Sealer:
    """Closes what goes up, and opens what comes down, for one member."""

    def __init__(self, member_id: str, key: bytes) -> None:
        self._member_id, self._stream = member_id, user_stream(member_id)
        self._cipher = AESGCM(_derived(key, b"encryption"))
        self._digest_key = _derived(key, b"digest")

    def close(self, item: Item) -> Item:
        """The item as the hub may have it: one of the member's own stream is sealed, any other stays as it is."""
        if item.stream != self._stream or item.body is None:
            return item
        inside = _Inside(msgspec.to_builtins(item.body), item.digest)
        return msgspec.structs.replace(
            item,
            body=None,
            sealed=self._seal(item.id, b"body", msgspec.json.encode(inside)),
            digest=hmac.digest(self._digest_key, item.digest, "sha256"),
            client="",
            steps=(),
            sealed_steps=self._seal(item.id, b"steps", _fitting(item.steps)) if item.steps else None,
        )

    def open(self, row: Row) -> Row:
        """The row as if it had never been sealed. Raises ValueError where it cannot be opened.

        So, too, where it should be sealed and is not: then no device of this member sent it.
        """
        if row.stream != self._stream or row.deleted:
            return row
        inside = msgspec.json.decode(self._open(row.id, b"body", row.sealed), type=_Inside)
        steps = [step for step in row.steps if not step.content]
        for part in row.sealed_steps:
            with contextlib.suppress(ValueError):  # a history with a gap is better than none
                told = msgspec.json.decode(self._open(row.id, b"steps", part.sealed), type=list[Step])
                steps += [msgspec.structs.replace(step, actor=f"{part.who}:{step.actor}") for step in told]
        return msgspec.structs.replace(
            row, body=inside.body, sealed=None, digest=inside.digest, client=str(inside.body.get("source", "")),
            steps=tuple(steps), sealed_steps=(),
        )  # fmt: skip

    def _seal(self, memory_id: str, kind: bytes, text: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        rounded = text.ljust(-(-len(text) // ROUNDED_BYTES) * ROUNDED_BYTES)
        return FORMAT + nonce + self._cipher.encrypt(nonce, rounded, self._bound(memory_id, kind))

    def _open(self, memory_id: str, kind: bytes, sealed: bytes | None) -> bytes:
        """The text. Raises ValueError where there is none that this key sealed for this memory."""
        if sealed is None or not sealed.startswith(FORMAT):
            raise ValueError("it is not encrypted as this member's devices do")
        nonce, text = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
        try:
            return self._cipher.decrypt(nonce, text, self._bound(memory_id, kind))
        except (InvalidTag, ValueError) as error:  # the latter: too short to be anything
            raise ValueError("it was encrypted with another key, or changed since") from error

    def _bound(self, memory_id: str, kind: bytes) -> bytes:
        return b"\0".join((b"recalld", kind, self._member_id.encode(), memory_id.encode()))


def _fitting(steps: Sequence[Step]) -> bytes:
    """The newest steps that there is room for."""
    for first in range(len(steps)):
        if len(text := msgspec.json.encode(steps[first:])) <= hubwire.MAX_SEALED_BYTES - 2 * ROUNDED_BYTES:
            return text
    return b"[]"


def _derived(key: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"recalld hub " + purpose).derive(key)
