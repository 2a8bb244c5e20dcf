"""Whether two statements fill the same place with different values."""

from __future__ import annotations

from collections.abc import Sequence

from recalld.consolidate.alignment import RELATED_SHARE, TOPIC_SHARE, Chunk, Pair, covered_share
from recalld.statement import words

REPLACED_COSINE = 0.25
"""Below this nothing is replaced, whatever words are shared."""


def other_value(pair: Pair) -> bool:
    """Whether both give one subject a different value: same subject, and one slot filled in two ways."""
    if _turned(pair):
        return True
    new = [chunk for chunk in pair.only_new if chunk.weight >= 1]
    old = [chunk for chunk in pair.only_old if chunk.weight >= 1]
    if not new or not old or (any(chunk.head for chunk in old) and any(chunk.head for chunk in new)):
        return False
    if pair.total_share < RELATED_SHARE:
        return False
    if not _same_subject(pair, new, old) or (_acts(new) and _acts(old)):
        return False
    if _acts(new) or _acts(old):
        new, old = _without_verbs(new), _without_verbs(old)
        if not (any(chunk.hard for chunk in new) and any(chunk.hard for chunk in old)):
            return False
    if _numbers(new) and _numbers(old):
        return _dimension(new) == _dimension(old) and _soft(new) <= 1 and _soft(old) <= 1 and _same_predicate(pair)
    if len(new) != 1 or len(old) != 1 or pair.new.open or pair.old.open:
        return False
    return _same_slot(pair, new[0], old[0])


def replaceable(pair: Pair, cosine: float) -> bool:
    """Whether each has something of its own to say of one thing, and of one kind: two numbers, two names, two ways."""
    if _turned(pair):
        return True
    if not pair.subjects_meet or pair.share < TOPIC_SHARE or pair.total_share < RELATED_SHARE:
        return False
    if 0 < cosine < REPLACED_COSINE:
        return False
    new = [chunk for chunk in pair.only_new if chunk.weight >= 1 and not chunk.head]
    old = [chunk for chunk in pair.only_old if chunk.weight >= 1 and not chunk.head]
    if not new or not old:
        return False
    held = [Chunk(kept) for chunk in new if (kept := tuple(atom for atom in chunk.atoms if atom.positive))]
    if _numbers(held) and _numbers(old):
        return _dimension(held) == _dimension(old)
    if any(chunk.hard for chunk in new) and any(chunk.hard for chunk in old):
        return not (pair.new.open and pair.old.open) and _one_kind(new, old) and _same_predicate(pair)
    said = [*pair.shared_new, *pair.shared_old]
    return any(atom.place != "head" for atom in said) and len(new) <= 2 and len(old) <= 2


def _same_subject(pair: Pair, new: Sequence[Chunk], old: Sequence[Chunk]) -> bool:
    head_new = [atom for atom in pair.new.atoms if atom.place == "head"]
    head_old = [atom for atom in pair.old.atoms if atom.place == "head"]
    extra = [chunk for chunk in (*new, *old) if chunk.head]
    if any(chunk.hard for chunk in extra) or sum(chunk.weight for chunk in extra) > 1:
        return False
    if head_new and head_old:
        return max(covered_share(pair.new, pair.old, "head") or 0, covered_share(pair.old, pair.new, "head") or 0) > 0.5
    if head_new or head_old:
        return pair.topic > 0.5
    return pair.share >= TOPIC_SHARE


def _same_slot(pair: Pair, new: Chunk, old: Chunk) -> bool:
    if new.head or old.head or (_time(new) != _time(old) and new.atoms[0].joint != old.atoms[0].joint):
        return False
    if not _same_predicate(pair) or not _one_kind([new], [old]):
        return False
    if new.hard and old.hard:
        return True
    frame = [atom for atom in pair.shared_new if atom.place != "head"]
    if not frame and pair.topic == 1.0:
        return not any(atom.text in words.STATES for atom in (*new.atoms, *old.atoms))
    if new.hard or old.hard:
        return bool(frame) or (bool(new.atoms[0].joint) and new.atoms[0].joint == old.atoms[0].joint)
    return bool(frame) and (new.atoms[0].joint == old.atoms[0].joint or (len(frame) == 1 and frame[0].place == "verb"))


def _turned(pair: Pair) -> bool:
    """Whether one names the holder of a role first and the other last: "Olaf is the lead", "the lead is Marta"."""
    if pair.new.verb or pair.old.verb or len(pair.only_new) != 1 or len(pair.only_old) != 1:
        return False
    new, old = pair.only_new[0], pair.only_old[0]
    role = [atom for atom in pair.shared_new if atom.kind != "number"]
    return new.head is not old.head and len(new.atoms) == 1 == len(old.atoms) and (new.hard or old.hard) and bool(role)


def _same_predicate(pair: Pair) -> bool:
    """Whether both say the same kind of thing: something else said in both, or no verb that says another."""
    if any(atom.place != "head" for atom in pair.shared_new):
        return True
    kinds = {pair.new.verb, pair.old.verb}
    return len(kinds) == 1 or not kinds & words.MEASURES


def _one_kind(new: Sequence[Chunk], old: Sequence[Chunk]) -> bool:
    """Not a number on one side and only names on the other."""
    if not (any(chunk.hard for chunk in new) and any(chunk.hard for chunk in old)):
        return True
    return _named(new) == _named(old) or bool(_numbers(new)) == bool(_numbers(old))


def _named(chunks: Sequence[Chunk]) -> bool:
    """Whether a name is in them; with it a number is its version."""
    return any(atom.kind == "name" for chunk in chunks for atom in chunk.atoms)


def _numbers(chunks: Sequence[Chunk]) -> list[str]:
    return [atom.text for chunk in chunks for atom in chunk.atoms if atom.kind == "number"]


def _acts(chunks: Sequence[Chunk]) -> bool:
    return any(atom.place == "verb" for chunk in chunks for atom in chunk.atoms)


def _without_verbs(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Without the verb that only one side has: "is written in Rust", "is in Go"."""
    return [chunk for chunk in chunks if any(atom.place != "verb" for atom in chunk.atoms)]


def _dimension(chunks: Sequence[Chunk]) -> set[str]:
    return {"clock" if ":" in number else number.lstrip("0123456789.,e+-") for number in _numbers(chunks)}


def _soft(chunks: Sequence[Chunk]) -> float:
    return sum(Chunk((atom,)).weight for chunk in chunks for atom in chunk.atoms if atom.kind != "number")


def _time(chunk: Chunk) -> bool:
    return any(atom.text in words.TIMES or atom.text in words.WEEKDAYS for atom in chunk.atoms)
