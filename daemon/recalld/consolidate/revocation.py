"""Which stored memory is meant by what someone gives up ("scrap the polling")."""

from __future__ import annotations

from collections.abc import Sequence

from recalld.consolidate.alignment import Pair, has, weight
from recalld.model import Memory, Type
from recalld.statement import HARD, Atom, Statement, parse, words

REVOKED_SHARE = 0.6
"""How much of what is given up a memory has to name to be meant."""
LESSON_SHARE = 0.6
NEAR = 0.01


def gives_up(revoked: str, instead: str, memories: Sequence[Memory]) -> list[Memory]:
    """Which of `memories` the words `revoked` mean; `instead` (may be empty) is what holds from now on.

    A memory fits if it asserts nearly all of the revoked words. Where several do, those that share most with what
    takes their place are meant; without anything to tell them apart, all of them are. A lesson is only meant where
    most of it is named: that a tool is no longer used does not make what was learnt from it untrue.
    """
    wanted = parse(revoked)
    atoms = [atom for atom in wanted.atoms if atom.text not in words.PLAIN]
    if not atoms:
        return []
    denied = wanted.negative or bool(words.BAN.search(revoked))
    fits = [(memory, _fit(wanted, atoms, denied, memory)) for memory in memories]
    best = max((fit for _, fit in fits), default=0.0)
    if best < REVOKED_SHARE:
        return []
    chosen = [memory for memory, fit in fits if fit >= best - NEAR]
    return _most_like(instead, chosen) if instead and len(chosen) > 1 else chosen


def only_gives_up(revoked: str, content: str) -> bool:
    """Whether `content` asserts nothing beside the words it gives up ("the rule about X no longer applies")."""
    wanted, said = parse(revoked), parse(content)
    return bool(said.atoms) and all(
        has(said.atoms, index, wanted) for index, atom in enumerate(said.atoms) if atom.positive
    )


def _fit(wanted: Statement, atoms: Sequence[Atom], denied: bool, memory: Memory) -> float:
    """How much of the revoked words `memory` asserts (or denies, if a denial is given up), 0..1."""
    content = parse(memory.content)
    have = {atom.text for atom in atoms if has(wanted.atoms, wanted.atoms.index(atom), content)}
    if wanted.environments - content.environments or any(a.kind in HARD and a.text not in have for a in atoms):
        return 0.0
    found = [atom for atom in content.atoms if atom.text in have]
    if found and not any(atom.positive is not denied or atom.place == "head" for atom in found):
        return 0.0
    if memory.type is Type.LESSON and weight(found) < LESSON_SHARE * weight(content.atoms):
        return 0.0
    return weight([atom for atom in atoms if atom.text in have]) / weight(atoms)


def _most_like(instead: str, chosen: Sequence[Memory]) -> list[Memory]:
    shares = [Pair(parse(instead), parse(memory.content)).share for memory in chosen]
    return [memory for memory, share in zip(chosen, shares, strict=True) if share >= max(shares) - NEAR]
