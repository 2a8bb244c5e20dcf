"""How two statements stand to each other: the same, more precise, another value, the opposite, or apart.

Measured on atoms (recalld.statement), where numbers, names, environments and signs decide; the cosine of the embeddings
only speaks where wording differs and nothing hard does. The thresholds below were set on dialogues written for the
purpose (tests/data/statement_pairs.txt) and checked on others.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import msgspec

from recalld.consolidate.alignment import OPPOSITE_SHARE, RELATED_SHARE, TOPIC_SHARE, Chunk, Pair, version_of, weight
from recalld.consolidate.opposites import (
    against,
    denied_twice,
    ends_of_range,
    narrows,
    nothing_else,
    only_turned,
    roles_exchanged,
)
from recalld.consolidate.revision import one_work, revised
from recalld.consolidate.values import other_value, replaceable
from recalld.statement import HARD, Statement, parse

PARAPHRASE_COSINE = 0.8
"""From here on the same statement in other words, if half of the words are shared and nothing hard differs."""
NAMED_WORDS = 2
"""So many plain words of the older one, denied by the newer, name it."""
AGREED_SHARE = 0.75
AGREED_COSINE = 0.5
TRANSLATED_COSINE = 0.55
COVERED_SHARE = 0.45
"""A statement that says less than this part of another one is not the same said again."""
RELATED_COSINE = 0.6


class Relation(enum.StrEnum):
    """What the newer of two statements is to the older."""

    SAME = "same"
    COVERED = "covered"  # says less than the older one
    REFINES = "refines"  # says the same and more
    DIFFERS = "differs"  # another value for the same subject
    OPPOSES = "opposes"  # denies what the older one says, or the other way round
    RELATED = "related"
    APART = "apart"


class Comparison(msgspec.Struct, frozen=True):
    """relation, and for a statement that says it changes something: how well the older one fits as what is changed.

    topic: 0..1, the shared part of what they are about. cue: the newer one names the older value as given up.
    replaceable: each has a value of its own, in the same environment. revised: both name a version of one thing.
    one_work: as notes on progress they are about one piece of work.
    """

    relation: Relation
    topic: float
    cue: bool = False
    replaceable: bool = False
    revised: bool = False
    one_work: bool = False


def compare(content: str, older: str, cosine: float = 0.0) -> Comparison:
    """What the statement `content` is to the stored `older`; `cosine` of their embeddings, 0 where there is none."""
    new, old = parse(content), parse(older)
    pair = Pair(new, old)
    here = new.environments == old.environments
    if content.casefold().strip(" .。!！") == older.casefold().strip(" .。!！"):
        return Comparison(Relation.SAME, 1.0)
    cue = here and _names_old_value(pair)
    relation = Relation.DIFFERS if cue else _relation(pair, cosine)
    return Comparison(
        relation, pair.topic, cue, here and replaceable(pair, cosine), here and revised(pair), one_work(pair)
    )


def _relation(pair: Pair, cosine: float) -> Relation:
    new, old = pair.new, pair.old
    if not new.atoms or not old.atoms:
        return Relation.APART
    related = Relation.RELATED if pair.total_share >= RELATED_SHARE or cosine >= RELATED_COSINE else Relation.APART
    if _elsewhere(new.environments, old.environments) or _elsewhere(new.platforms, old.platforms):
        return related
    here = new.environments == old.environments
    if marks := against(new, old):
        value = all(mark.kind == "trait" for mark in marks)
        contrary = Relation.DIFFERS if value else Relation.OPPOSES
        return contrary if here and only_turned(pair, marks) else related
    if marks := denied_twice(new, old):
        return Relation.SAME if here and nothing_else(pair, marks) else related
    if roles_exchanged(new, old) or ends_of_range(new, old):
        return related
    if _opposed(pair):
        meant = pair.share >= OPPOSITE_SHARE and pair.total_share >= RELATED_SHARE and pair.subjects_meet
        return Relation.OPPOSES if meant and not pair.hard_mismatch else related
    if _corrects(pair):
        return Relation.DIFFERS if here and pair.share >= OPPOSITE_SHARE and pair.subjects_meet else related
    if here and _translated(pair, cosine):
        return Relation.SAME
    same = _same(pair, cosine)
    if same is not None:
        return same if here or same is Relation.COVERED else related
    return Relation.DIFFERS if here and other_value(pair) else related


def _elsewhere(new: frozenset[str], old: frozenset[str]) -> bool:
    """Whether both name environments (or platforms), and not the same."""
    return bool(new and old) and not new & old


def _same(pair: Pair, cosine: float) -> Relation | None:
    """SAME, COVERED or REFINES, else None."""
    extra_new = [chunk for chunk in pair.only_new if chunk.weight >= 1]
    extra_old = [chunk for chunk in pair.only_old if chunk.weight >= 1]
    if not extra_new and not extra_old:
        return None if _swapped(pair) else _bounded(pair)
    if not extra_old:
        return _refines(pair, extra_new)
    if all(atom.kind == "number" and not atom.positive for chunk in extra_new for atom in chunk.atoms):
        enough = weight(pair.new.atoms) >= COVERED_SHARE * weight(pair.old.atoms)
        return Relation.COVERED if enough and _same_role(pair) else None
    reworded = pair.total_share >= 0.5 and cosine >= PARAPHRASE_COSINE and not _single_slot(pair)
    if (reworded or _both_agree(pair, cosine)) and not any(chunk.hard for chunk in extra_new + extra_old):
        return Relation.SAME
    return None


def _bounded(pair: Pair) -> Relation:
    """What the same words are where only one side sets a bound: "only", "at least"."""
    if narrows(pair.new, pair.old):
        return Relation.REFINES
    return Relation.COVERED if narrows(pair.old, pair.new) else Relation.SAME


def _both_agree(pair: Pair, cosine: float) -> bool:
    """Whether both deny the same and assert the same instead: "never deleted, only cancelled"."""
    old = {atom.text: atom.positive for atom in pair.shared_old if atom.kind != "han"}
    shared = [atom.positive for atom in pair.shared_new if old.get(atom.text) is atom.positive]
    near = pair.share >= AGREED_SHARE and pair.total_share >= TOPIC_SHARE and cosine >= AGREED_COSINE
    return near and any(shared) and not all(shared)


def _translated(pair: Pair, cosine: float) -> bool:
    """Whether one says in Chinese what the other says in a Latin script: the same numbers and names, and near."""
    han = [any(atom.kind == "han" for atom in statement.atoms) for statement in (pair.new, pair.old)]
    hard = [{atom.text for atom in statement.atoms if atom.kind == "number"} for statement in (pair.new, pair.old)]
    signs = pair.new.negative is pair.old.negative
    return han[0] is not han[1] and bool(hard[0]) and hard[0] == hard[1] and signs and cosine >= TRANSLATED_COSINE


def _refines(pair: Pair, extra: Sequence[Chunk]) -> Relation | None:
    if not _same_role(pair) or pair.total_share < 0.25:
        return None
    if any(chunk.head and chunk.hard for chunk in extra) or sum(c.weight for c in extra if c.head) > 1:
        return None
    if sum(chunk.weight for chunk in extra) < 2 and not any(
        chunk.hard or chunk.atoms[0].kind == "han" for chunk in extra
    ):
        return Relation.SAME
    return Relation.REFINES


def _same_role(pair: Pair) -> bool:
    """Whether something that both say is said, not only spoken of, in both."""
    tail_old = {atom.text for atom in pair.shared_old if atom.place != "head"}
    tail_new = {atom.text for atom in pair.shared_new if atom.place != "head"}
    return bool(tail_old & tail_new) or any(version_of(a, b) or version_of(b, a) for a in tail_new for b in tail_old)


def _opposed(pair: Pair) -> bool:
    """Whether what both say of their subject mostly carries opposite signs."""
    signs_old = {atom.text: atom.positive for atom in pair.shared_old if atom.place != "head"}
    shared = [atom for atom in pair.shared_new if atom.place != "head" and atom.text in signs_old]
    against = sum(atom.positive != signs_old[atom.text] for atom in shared)
    return bool(shared) and against * 2 > len(shared)


def _corrects(pair: Pair) -> bool:
    """Whether one denies a number or name that the other one asserts: "7020, not 7010"."""
    old = {atom.text: atom.positive for atom in pair.shared_old if atom.kind in HARD and atom.place != "head"}
    new = [atom for atom in pair.shared_new if atom.place != "head"]
    return any(old.get(atom.text, atom.positive) is not atom.positive for atom in new)


def _names_old_value(pair: Pair) -> bool:
    """Whether the newer one denies a value of the older one and puts another in its place."""
    if not any(atom.positive and atom.place != "head" for atom in pair.new.atoms):
        return False
    old = {atom.text for atom in pair.shared_old if atom.positive and atom.place != "head"}
    denied = [atom for atom in pair.shared_new if not atom.positive and atom.text in old]
    if pair.share < TOPIC_SHARE or pair.topic < TOPIC_SHARE:
        return False
    return any(atom.kind in HARD for atom in denied) or (weight(denied) >= NAMED_WORDS and pair.subjects_meet)


def _swapped(pair: Pair) -> bool:
    """Whether what is subject here is said of the other there: "A calls B", "B calls A"."""
    for passive, active in ((pair.new, pair.old), (pair.old, pair.new)):
        doers = _doers(passive) - _doers(active)
        if doers & _names(active, head=True):
            return False
        if doers & _names(active, head=False) and _names(active, head=True) & _names(passive, head=True):
            return True
    head_new, tail_new = _names(pair.new, head=True), _names(pair.new, head=False)
    head_old, tail_old = _names(pair.old, head=True), _names(pair.old, head=False)
    return bool(head_new & tail_old and head_old & tail_new) and not head_new & head_old


def _doers(statement: Statement) -> frozenset[str]:
    """By or from whom it is: "called by the scheduler"."""
    return frozenset(text for mark in statement.marks.found if mark.text in {"by", "from"} for text in mark.of)


def _names(statement: Statement, *, head: bool) -> set[str]:
    return {atom.text for atom in statement.atoms if (atom.place == "head") is head and atom.kind != "number"}


def _single_slot(pair: Pair) -> bool:
    return len([c for c in pair.only_new if c.weight >= 1]) == 1 == len([c for c in pair.only_old if c.weight >= 1])
