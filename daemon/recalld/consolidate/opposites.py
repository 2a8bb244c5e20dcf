"""Whether two statements of the same words mean something else: another small word, or the same in another order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recalld.consolidate.alignment import OPPOSITE_SHARE, Chunk, Pair
from recalld.statement import COMPLEMENTS, Mark, Statement

Side = tuple[str, str]


def against(new: Statement, old: Statement) -> list[Mark]:
    """The marks of both that stand against one of the other: "before" and "after" one thing, "from A" and "from B".

    Empty where nothing does.
    """
    mine, theirs = _alone(new, old), _alone(old, new)
    met = [pair for one in mine for other in theirs if _opposite(one, other) for pair in (one, other)]
    sides = {(m.pair, m.side) for m in new.marks.found if m.kind in {"frame", "bound"}}
    return met or [
        m for side in sides if _exchanged(new, old, side) for m in new.marks.found if side == (m.pair, m.side)
    ]


def roles_exchanged(new: Statement, old: Statement) -> bool:
    """Whether who does it and whom it is done to have changed places: "A calls B", "B calls A"."""
    return any(_exchanged(new, old, (m.pair, m.side)) for m in new.marks.found if m.kind == "verb")


def denied_twice(new: Statement, old: Statement) -> list[Mark]:
    """The marks of both where one denies the opposite of what the other one says: "never without", "always with"."""
    met = [(one, other) for one in _alone(new, old) for other in _alone(old, new) if _contrasted(one, other)]
    return [
        mark for pair in met for mark in pair if pair[0].denied is not pair[1].denied and pair[0].pair in COMPLEMENTS
    ]


def ends_of_range(new: Statement, old: Statement) -> bool:
    """Whether one says the least and the other one the most: "at least 2", "at most 5"."""
    return any(
        one.kind == "bound" and one.pair == other.pair and one.side != other.side
        for one in _alone(new, old)
        for other in _alone(old, new)
    )


def narrows(one: Statement, other: Statement) -> bool:
    """Whether `one` sets a bound ("only", "at most") where `other` says the same without."""
    return any(mark.kind == "bound" for mark in _alone(one, other))


def only_turned(pair: Pair, marks: Sequence[Mark]) -> bool:
    """Whether both are about one thing, and little but the marks that stand against each other tells them apart."""
    if any(
        mark.kind == "trait" and _of_subject(statement, mark) for mark in marks for statement in (pair.new, pair.old)
    ):
        return False
    if nothing_else(pair, marks):
        return True
    return pair.total_share >= OPPOSITE_SHARE and pair.subjects_meet and not pair.hard_mismatch


def nothing_else(pair: Pair, marks: Sequence[Mark]) -> bool:
    """Whether only `marks` tell both apart."""
    texts = frozenset(mark.text for mark in marks)
    return all(_within(chunk, texts) or chunk.weight < 1 for chunk in (*pair.only_new, *pair.only_old))


def _of_subject(statement: Statement, mark: Mark) -> bool:
    """Whether the word of `mark` stands in the subject."""
    head = [atom.text for atom in statement.atoms if atom.place == "head"]
    return mark.text in head or mark.text in "".join(head if not mark.text.isascii() else ())


def _within(chunk: Chunk, texts: frozenset[str]) -> bool:
    """Whether `chunk` is nothing but one of `texts`."""
    return all(
        atom.text in texts or (atom.kind == "han" and any(atom.text in t for t in texts)) for atom in chunk.atoms
    )


def _opposite(one: Mark, other: Mark) -> bool:
    return _contrasted(one, other) and (one.denied is other.denied or one.pair not in COMPLEMENTS)


def _contrasted(one: Mark, other: Mark) -> bool:
    return one.kind != "verb" and one.pair == other.pair and one.side != other.side and _of_the_same(one, other)


def _alone(one: Statement, other: Statement) -> list[Mark]:
    """The marks that the other statement does not have, too."""
    return [
        mark
        for mark in one.marks.found
        if not any((mark.pair, mark.side) == (m.pair, m.side) and _of_the_same(mark, m) for m in other.marks.found)
    ]


def _of_the_same(one: Mark, other: Mark) -> bool:
    """Whether both are said of the same; numbers decide where both have some."""
    if not one.of or not other.of:
        return True
    numbers = [{text for text in mark.of if text[0].isdigit()} for mark in (one, other)]
    return bool(numbers[0] & numbers[1]) if all(numbers) else bool(one.of & other.of)


def _exchanged(new: Statement, old: Statement, side: Side) -> bool:
    """Whether each says it of what the other one has elsewhere."""
    here, there = _of(new.marks.found, side), _of(old.marks.found, side)
    return bool((here - there) & old.marks.mentioned and (there - here) & new.marks.mentioned)


def _of(marks: Iterable[Mark], side: Side) -> frozenset[str]:
    return frozenset(text for mark in marks if (mark.pair, mark.side) == side for text in mark.of)
