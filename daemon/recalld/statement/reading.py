"""Where the reading of a sentence stands, and the statement it ends in."""

from __future__ import annotations

import itertools
import re

from msgspec.structs import replace

from recalld.statement import words
from recalld.statement.atoms import HAN, Atom, Kind, Place, Statement, stem
from recalld.statement.marks import read_marks

_FROM_TO = re.compile(
    r"\bfrom (?P<old>[^,;.]{1,40}?) (?:to|into) |从\s?(?P<alt>[^，。；]{1,20}?)\s?(?=改|换|升|降|调|迁|变|切)"
)
# Here "from" says where something comes from, not what it was before.
_CARRIED = re.compile(
    r"\b(?:cop(?:y|ies|ied|ying)|sync|mirror|sen[dt]|forward|replicat|stream|rout|import|export|transfer|push|flow)",
    re.IGNORECASE,
)
_WHICH = re.compile(r"\d+(?!\d|\s*[个名位条次台份人])")
_WHOSE = re.compile(r"\d+\s*[的号]")
_NOT_THIS = re.compile(r"\b(?:instead of|rather than|as opposed to|replacing)\b|而不是|而非|代替|取代")
_END_OF_OLD = re.compile(r"[,;.，。；]|\bfor\b|\bbecause\b|$")
_CONTAINER_STEMS = frozenset(stem(word) for word in words.CONTAINERS)


class Reading:
    """One pass over a sentence.

    text: without what leads in to the statement. led: it goes on in the middle of a sentence ("we decided on ...").
    place, positive, joint: what the next atom will get. previous: the word read last.
    subject: how many of the atoms are the subject if no verb is found.
    """

    def __init__(self, text: str) -> None:
        self.text, self.led = _without_lead(text)
        self.changes = bool(words.CHANGE_CUE.search(text))
        self.chinese = bool(re.search(f"[{HAN}]", text))
        self.marks = read_marks(self.text)
        self.atoms: list[Atom] = []
        self.environments: set[str] = set()
        self.platforms: set[str] = set()
        self.place: Place = "head"
        self.positive = True
        self.joint = ""
        self.verb: str | None = None
        self.open_verb = False
        self.purpose = False
        self.run = 0
        self.previous = ""
        self.subject = 0
        self._clause = 0
        self._denied_at = -1
        self._old = _old_values(self.text)

    def add(self, text: str, kind: Kind, start: int, place: Place | None = None) -> None:
        """One more atom; `start` is its place in the text."""
        old = any(begin <= start < end for begin, end in self._old)
        label = kind == "number" and self.place == "head" and self._labels(text, start)
        if label:
            self.subject = len(self.atoms) + 1
        elif self.place == "head" and self.atoms and (old or (kind == "number" and self.atoms[-1].kind == "han")):
            self.place = "tail"
        run = self.run if kind == "han" else -1
        marked = any(begin <= start < end for begin, end in self.marks.spans)
        self.atoms.append(Atom(text, kind, place or self.place, self.positive and not old, run, self.joint, marked))
        if kind != "han":
            self.run += 1

    def _labels(self, number: str, start: int) -> bool:
        """Whether `number` tells which one is meant ("module 7", "第 3 章"), not how much."""
        if not self.atoms or not number.isdigit():
            return False
        if self.atoms[-1].kind == "han":
            named = "".join(atom.text for atom in self.atoms[-2:]).endswith(words.HAN_LABELS)
            return bool((_WHICH if named else _WHOSE).match(self.text, start))
        return self.atoms[-1].text in words.LABELS

    def deny(self) -> None:
        """What follows is denied; if nothing follows in this clause, what stands before ("that plan is gone")."""
        self.positive = False
        self._denied_at = len(self.atoms)

    def begin_clause(self, mark: str) -> None:
        """After a comma, stop or colon."""
        self._end_clause()
        if mark in ":：" and self.place == "head" and self.atoms:
            self.place = "tail"
        self.positive = True
        self.joint = ""
        if self.place == "head" and mark in ".。;；!！":
            self.place = "tail"

    def _end_clause(self) -> None:
        if self._denied_at == len(self.atoms):
            clause = self.atoms[self._clause :]
            self.atoms[self._clause :] = [replace(atom, positive=False) for atom in clause]
        self._clause, self._denied_at = len(self.atoms), -1

    def statement(self) -> Statement:
        """What was read."""
        self._end_clause()
        atoms = self._placed()
        han = [(a.run, a.text) for a in atoms if a.kind == "han"]
        return Statement(
            atoms=atoms,
            environments=frozenset(self.environments),
            platforms=frozenset(self.platforms),
            verb=self.verb or "",
            open=self.open_verb and not self.purpose and not self._functional(),
            changes=self.changes,
            bigrams=frozenset(x + y for (r, x), (s, y) in itertools.pairwise(han) if r == s),
            singles=frozenset(text for _, text in han),
            texts=frozenset(atom.text for atom in atoms if atom.kind != "han"),
            marks=self.marks,
        )

    def _placed(self) -> tuple[Atom, ...]:
        """The atoms; where no verb was found, the subject is as far as it is known."""
        if any(atom.place != "head" for atom in self.atoms):
            return tuple(self.atoms)
        return tuple(self.atoms[: self.subject]) + tuple(
            replace(atom, place="tail") for atom in self.atoms[self.subject :]
        )

    def _functional(self) -> bool:
        """Whether the subject is a role that one thing fills ("the message queue"), not a thing that uses many."""
        head = [atom for atom in self.atoms if atom.place == "head"]
        if not head:
            return False
        if head[-1].kind == "han":
            return not "".join(atom.text for atom in head).endswith(words.HAN_CONTAINERS)
        return head[-1].kind == "word" and head[-1].text not in _CONTAINER_STEMS


def _without_lead(text: str) -> tuple[str, bool]:
    text, led = text.strip(), False
    while (lead := words.LEAD.match(text)) and lead.end():
        led = lead.group().strip()[-1:].isalpha()
        text = text[lead.end() :].lstrip()
    return text, led


def _old_values(text: str) -> list[tuple[int, int]]:
    """Where the text names what no longer holds: `from X to`, `instead of X`."""
    moves = [] if _CARRIED.search(text) else list(_FROM_TO.finditer(text))
    spans = [found.span("old" if found["old"] else "alt") for found in moves]
    for found in _NOT_THIS.finditer(text):
        end = _END_OF_OLD.search(text, found.end())
        spans.append((found.end(), end.start() if end else len(text)))
    return spans
