"""Whether two statements of the same words mean the opposite: another small word, or the same in another order."""

from __future__ import annotations

from collections.abc import Iterable

from recalld.statement import Mark, Statement


def turned(new: Statement, old: Statement) -> bool:
    """Whether a mark of one stands against one of the other ("before" and "after" the same thing, A to B and B to A)."""
    return _against(new, old) or _exchanged(new, old)


def _against(new: Statement, old: Statement) -> bool:
    """Whether both have a side of one pair, not the same, and say it of the same."""
    mine, theirs = new.marks.found, old.marks.found
    return any(
        one.pair == other.pair and one.side != other.side and _of_the_same(one, other)
        for one in _without(mine, theirs)
        for other in _without(theirs, mine)
    )


def _without(marks: Iterable[Mark], others: Iterable[Mark]) -> list[Mark]:
    """The marks that the other statement does not have, too."""
    known = list(others)
    return [m for m in marks if not any(m.pair == o.pair and m.side == o.side and _of_the_same(m, o) for o in known)]


def _of_the_same(one: Mark, other: Mark) -> bool:
    """Whether both are said of the same; numbers decide where both have some."""
    if not one.of or not other.of:
        return one.trait
    numbers = [{text for text in mark.of if text[0].isdigit()} for mark in (one, other)]
    return bool(numbers[0] & numbers[1]) if all(numbers) else bool(one.of & other.of)


def _exchanged(new: Statement, old: Statement) -> bool:
    """Whether what one says a mark of, the other says it not of, but has it elsewhere; and the other way round."""
    sides = {(mark.pair, mark.side) for mark in new.marks.found} & {(mark.pair, mark.side) for mark in old.marks.found}
    for side in sides:
        here, there = _of(new, side), _of(old, side)
        mine, theirs = here - there, there - here
        if mine and theirs and mine & old.marks.mentioned and theirs & new.marks.mentioned and not here & there:
            return True
    return False


def _of(statement: Statement, side: tuple[str, str]) -> frozenset[str]:
    of = [mark.of for mark in statement.marks.found if (mark.pair, mark.side) == side]
    return frozenset[str]().union(*of)
