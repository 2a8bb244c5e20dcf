"""Two statements side by side: what both have, and what only one of them has."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from recalld.statement import HARD, Atom, Statement, words

TOPIC_SHARE = 0.5
"""How much of one subject the other has to name for both to speak of the same thing."""
OPPOSITE_SHARE = 0.6
"""How much they share where one denies the other."""
RELATED_SHARE = 0.3
"""From this shared part on two statements belong together."""


_Y = {"i": "y", "y": "i"}  # copied, copy


class Chunk(msgspec.Struct, frozen=True):
    """Neighbouring atoms of one statement that the other one does not have.

    opposite: the other one has something else there; then a single character counts, too (front end, back end).
    """

    atoms: tuple[Atom, ...]
    opposite: bool = False

    @property
    def lone(self) -> bool:
        """Whether it is a single Chinese character that can make a difference."""
        return len(self.atoms) == 1 and self.atoms[0].kind == "han" and self.atoms[0].text not in words.HAN_LOOSE

    @property
    def weight(self) -> float:
        """How many words it counts for."""
        if self.atoms[0].kind != "han":
            return float(len(self.atoms))
        if len(self.atoms) > 1:
            return 1.0
        return 1.0 if self.opposite else 0.4

    @property
    def hard(self) -> bool:
        """Whether a number or a name is in it."""
        return any(atom.kind in HARD for atom in self.atoms)

    @property
    def head(self) -> bool:
        """Whether it belongs to the subject."""
        return any(atom.place == "head" for atom in self.atoms)


class Pair:
    """Two statements side by side."""

    def __init__(self, new: Statement, old: Statement) -> None:
        self.new, self.old = new, old
        self.only_new, self.only_old = _weighed(chunks(new, old), chunks(old, new), new.singles, old.singles)
        missing_new = {id(atom) for chunk in self.only_new for atom in chunk.atoms}
        missing_old = {id(atom) for chunk in self.only_old for atom in chunk.atoms}
        self.shared_new = [atom for atom in new.atoms if id(atom) not in missing_new]
        self.shared_old = [atom for atom in old.atoms if id(atom) not in missing_old]

    @property
    def share(self) -> float:
        """The shared part of the smaller statement, 0..1."""
        shared = min(weight(self.shared_new), weight(self.shared_old))
        least = min(weight(self.new.atoms), weight(self.old.atoms))
        return min(1.0, shared / least) if least else 0.0

    @property
    def total_share(self) -> float:
        """The shared part of the larger statement, 0..1."""
        shared = min(weight(self.shared_new), weight(self.shared_old))
        most = max(weight(self.new.atoms), weight(self.old.atoms))
        return min(1.0, shared / most) if most else 0.0

    @property
    def topic(self) -> float:
        """How far both are about one thing, 0..1: subject in the other statement, else all that is said."""
        known = [share for share in self._subjects() if share is not None]
        return max(known) if known else self.share

    @property
    def subjects_meet(self) -> bool:
        """Whether each names most of the other's subject, where it has one."""
        return all(share is None or share >= TOPIC_SHARE for share in self._subjects())

    @property
    def hard_mismatch(self) -> bool:
        """Whether each has a number or name of its own."""
        return any(chunk.hard for chunk in self.only_new) and any(chunk.hard for chunk in self.only_old)

    def _subjects(self) -> tuple[float | None, float | None]:
        return covered_share(self.new, self.old, "head"), covered_share(self.old, self.new, "head")


def weight(atoms: Sequence[Atom]) -> float:
    """Words count one, Chinese characters half (a word has about two), marks nothing."""
    return sum(0.5 if atom.kind == "han" else 1.0 for atom in atoms if not atom.marked)


def chunks(one: Statement, other: Statement) -> list[Chunk]:
    """The atoms of `one` that `other` does not have, neighbours together."""
    chunks: list[list[Atom]] = []
    last = -2
    for index, atom in enumerate(one.atoms):
        if atom.marked or has(one.atoms, index, other):
            continue
        together = index == last + 1 and chunks[-1][-1].joint == atom.joint and chunks[-1][-1].place == atom.place
        if together and (atom.kind == "han") == (chunks[-1][-1].kind == "han"):
            chunks[-1].append(atom)
        else:
            chunks.append([atom])
        last = index
    return [Chunk(tuple(chunk)) for chunk in chunks]


def _weighed(
    new: list[Chunk], old: list[Chunk], singles_new: frozenset[str], singles_old: frozenset[str]
) -> tuple[list[Chunk], list[Chunk]]:
    """Both with the single characters marked that stand against one of the other side, and without those it has too."""
    new = [chunk for chunk in new if not (chunk.lone and chunk.atoms[0].text in singles_old)]
    old = [chunk for chunk in old if not (chunk.lone and chunk.atoms[0].text in singles_new)]
    if not any(chunk.lone for chunk in new) or not any(chunk.lone for chunk in old):
        return new, old
    return [replace(c, opposite=c.lone) for c in new], [replace(c, opposite=c.lone) for c in old]


def has(atoms: Sequence[Atom], index: int, other: Statement) -> bool:
    """Whether `other` has the atom at `index`; a Chinese character counts with a neighbour only."""
    atom = atoms[index]
    if atom.kind != "han":
        if atom.kind == "number" and not _counted(atoms, index, other.atoms):
            return False
        forms = {atom.text, atom.text[:-1] + _Y.get(atom.text[-1:], "?")}
        return bool(forms & other.texts) or any(version_of(atom.text, text) for text in other.texts)
    before = atoms[index - 1] if index and atoms[index - 1].run == atom.run else None
    after = atoms[index + 1] if index + 1 < len(atoms) and atoms[index + 1].run == atom.run else None
    if before is None and after is None:
        return atom.text in other.singles
    return (before is not None and before.text + atom.text in other.bigrams) or (
        after is not None and atom.text + after.text in other.bigrams
    )


def _counted(atoms: Sequence[Atom], index: int, other: Sequence[Atom]) -> bool:
    """Whether the number at `index`, where both have it, stands in `other` as often: in "module 7 has 7 tests" it is two.

    Where both name numbers in the subject, those are compared with those only.
    """
    heads = [any(one.kind == "number" and one.place == "head" for one in side) for side in (atoms, other)]
    here = atoms[index]

    def alike(one: Atom) -> bool:
        return one.text == here.text and (not all(heads) or (one.place == "head") is (here.place == "head"))

    found, earlier = sum(map(alike, other)), sum(map(alike, atoms[:index]))
    return found > earlier or not any(one.text == here.text for one in other)


def version_of(short: str, long: str) -> bool:
    """Whether `long` is a more precise version number than `short`: 3 and 3.12."""
    return short[:1].isdigit() and long.startswith(short + ".") and long[len(short) + 1 :].replace(".", "").isdigit()


def covered_share(one: Statement, other: Statement, place: str) -> float | None:
    """The part of the atoms of `one` at `place` that `other` has anywhere, 0..1; None where there are none."""
    part = [atom for atom in one.atoms if atom.place == place and not atom.marked]
    if not part:
        return None
    missing = {id(atom) for chunk in chunks(one, other) for atom in chunk.atoms}
    return weight([atom for atom in part if id(atom) not in missing]) / weight(part)
