"""What has moved on: another version of the same thing, the next step of the same work."""

from __future__ import annotations

import itertools
import re

from recalld.consolidate.alignment import Pair, version_of, weight
from recalld.statement import Statement, parse, words

SHARED_WORDS = 1.5
"""So many words (a Chinese character is half a one) make two notes on progress about one thing."""
LEAST = 2.0
"""So many words have to stay of a statement that is shortened."""
_CLAUSE = re.compile(
    r"[,，;；]\s*(?:and |but |以及|而且|并且)?|\s+and\s+(?=[\w ]{2,40}? (?:is|are|uses?|runs?|needs?|has|have)\b)"
)
_JOINT = re.compile(r"^[,，;；\s]*(?:and |but |以及|而且|并且)?")
_ENDS = " .。"


def revised(pair: Pair) -> bool:
    """Whether both name a version of one thing, and not the same: "upgraded Spark to 3.5", "computed with Spark 3.4"."""
    new, old = _versions(pair.new), _versions(pair.old)
    return any(
        old[name] != number and not version_of(number, old[name]) and ("." in number or "." in old[name])
        for name, number in new.items()
        if name in old
    )


def _versions(statement: Statement) -> dict[str, str]:
    """Name -> the plain number that stands right behind it, but for words that say "version"."""
    found: dict[str, str] = {}
    name = ""
    for atom in statement.atoms:
        if not atom.positive:
            continue
        if atom.kind == "number":
            if name and atom.text.replace(".", "").isdigit():
                found.setdefault(name, atom.text)
            name = ""
        elif atom.text not in words.VERSIONS:
            name = atom.text if atom.kind != "han" else ""
    return found


def one_work(pair: Pair) -> bool:
    """Whether two notes on progress share enough words of their own, or names that begin alike (`dwd_orders`, `dwd`)."""
    distinct = {atom.text: atom for atom in pair.shared_new if atom.text not in words.PROGRESS}
    return weight(list(distinct.values())) >= SHARED_WORDS or _of_one_family(pair.new, pair.old)


def _of_one_family(one: Statement, other: Statement) -> bool:
    """Whether a name of two parts in one of them begins like a name in the other."""
    first, second = _beginnings(one), _beginnings(other)
    return any(beginning in second and (parted or second[beginning]) for beginning, parted in first.items())


def _beginnings(statement: Statement) -> dict[str, bool]:
    """How the names begin, and whether something follows: `dwd_orders` -> dwd, True."""
    found: dict[str, bool] = {}
    for atom in statement.atoms:
        beginning, mark, _ = atom.text.partition("_")
        if atom.kind == "name" and len(beginning) > 2 and beginning.isalpha():
            found[beginning] = found.get(beginning, False) or bool(mark)
    return found


def without_version(old: str, new: str) -> str:
    """`old` without the clauses that name another version of something in `new`; "" where too little would stay.

    The first clause is only cut off where the next one has a subject of its own.
    """
    cuts = [0, *(found.start() for found in _CLAUSE.finditer(old)), len(old)]
    clauses = [old[begin:end] for begin, end in itertools.pairwise(cuts)]
    told = parse(new)
    kept = [clause for clause in clauses if not revised(Pair(told, parse(clause.strip(",，;； "))))]
    if len(kept) == len(clauses) or not kept:
        return ""
    rest = "".join(kept).rstrip(_ENDS)
    first = kept[0] is clauses[0]
    if not first:
        rest = _JOINT.sub("", rest)
    said = parse(rest)
    places = {atom.place for atom in said.atoms}
    if weight(said.atoms) < LEAST or not places - {"head"} or not (first or "head" in places):
        return ""
    return rest[0].upper() + rest[1:] + ("。" if old.endswith("。") else ".")
