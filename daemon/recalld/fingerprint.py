"""What blocks a deleted memory from being learnt again: keyed hashes of its terms, no text.

Layout of a fingerprint: for each text that the memory ever had, one byte with the number of its terms and then 6
bytes a term: HMAC-SHA256 of the normalised term, cut off, the lowest bit set where the term is a number or a name.
Without the store's key the terms cannot be tested one by one; with 47 bits none is hit by chance. How a sentence is
read (recalld.statement) is part of the format: a change of it weakens, word by word, what older tombstones recognise.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence

import msgspec

from recalld.model import Candidate
from recalld.statement import parse

TERM_BYTES = 6
MOST_TERMS = 255
WHOLE_SHARE = 0.5
"""Said again: one has all the terms of the other, and the other at least this part of its."""
SHARE = 0.85
"""Said again in other words: each has this part of the other's terms."""
SAME_TURN_SHARE = 0.5
"""Enough of the candidate's terms where it comes from a turn that the deleted memory was learnt from."""


class Tombstone(msgspec.Struct, frozen=True):
    """A deleted memory: its fingerprint and the turns it was learnt from or said again in."""

    fingerprint: bytes
    prompt_ids: frozenset[str] = frozenset()


def fingerprint(texts: Sequence[str], key: bytes) -> tuple[bytes, int]:
    """The fingerprint of a memory that had these texts (the present and the earlier ones), and its number of terms."""
    groups = list(dict.fromkeys(b"".join(sorted(_hashes(text, key))[:MOST_TERMS]) for text in texts))
    blob = b"".join(bytes([len(group) // TERM_BYTES]) + group for group in groups if group)
    return blob, sum(len(group) // TERM_BYTES for group in groups)


def matches(content: str, blob: bytes, key: bytes, *, same_turn: bool = False) -> bool:
    """Whether `content` says again what the deleted memory said, in the same or other words.

    A number or name that the deleted memory did not have makes it another statement.
    """
    return _matches(_hashes(content, key), blob, same_turn=same_turn)


def _matches(terms: set[bytes], blob: bytes, *, same_turn: bool) -> bool:
    return bool(terms) and any(_again(terms, group, same_turn=same_turn) for group in _groups(blob))


def _again(terms: set[bytes], group: set[bytes], *, same_turn: bool) -> bool:
    if any(term[-1] & 1 for term in terms - group):
        return False
    shared = len(terms & group)
    if same_turn:
        return shared >= SAME_TURN_SHARE * len(terms)
    least, most = sorted((shared / len(terms), shared / len(group)))
    return least >= SHARE or (most == 1 and least >= WHOLE_SHARE)


def blocks(candidate: Candidate, tombstones: Iterable[Tombstone], key: bytes) -> bool:
    """Whether one of `tombstones` keeps `candidate` from being stored.

    What a person asks for by hand comes back; only the very turn it was deleted from stays blocked.
    """
    terms = _hashes(candidate.content, key)
    for tombstone in tombstones:
        same_turn = candidate.prompt_id is not None and candidate.prompt_id in tombstone.prompt_ids
        if (same_turn or not candidate.explicit) and _matches(terms, tombstone.fingerprint, same_turn=same_turn):
            return True
    return False


def _hashes(text: str, key: bytes) -> set[bytes]:
    statement = parse(text)
    hard = {atom.text for atom in statement.atoms if atom.kind in {"number", "name"}} | statement.environments
    terms = hard | statement.texts | statement.bigrams
    signed = {("!" + term if statement.negative and term not in hard else term): term in hard for term in terms}
    return {_hash(term, key, is_hard) for term, is_hard in signed.items()}


def _hash(term: str, key: bytes, hard: bool) -> bytes:
    digest = hmac.new(key, term.encode(), hashlib.sha256).digest()[:TERM_BYTES]
    return digest[:-1] + bytes([digest[-1] & 0xFE | hard])


def _groups(blob: bytes) -> Iterable[set[bytes]]:
    at = 0
    while at < len(blob):
        end = at + 1 + blob[at] * TERM_BYTES
        yield {blob[i : i + TERM_BYTES] for i in range(at + 1, end, TERM_BYTES)}
        at = end
