"""One candidate against its neighbours: said before, more precise, another value, or new."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recalld.config import ConflictConfig
from recalld.consolidate.alignment import RELATED_SHARE
from recalld.consolidate.changes import Add, Change, Drop, Relate, Supersede, Touch, Update
from recalld.consolidate.compare import Comparison, Relation, compare
from recalld.consolidate.revision import without_version
from recalld.consolidate.trust import Confirm, confirmation, may_change
from recalld.model import Candidate, Memory, Neighbour, Origin, Scope, Status, Type, timestamp
from recalld.statement import parse

CERTAIN = 0.6
"""Below this a statement is hedged."""
REPLACED_TOPIC = 0.5
"""How far the subject of what a statement with a cue replaces has to be shared."""
GUESS_COSINE = 0.3
"""A guess this near to something known is a guess about it."""
REPEATS = frozenset({Relation.SAME, Relation.COVERED, Relation.REFINES})
SAME_KIND_COSINE = 0.7
SAME_WORDS_COSINE = 0.9
WIDENING = 0.8
"""A statement has to be this certain to stand for all projects beside the same one of one project."""
CONTRARY = frozenset({Relation.DIFFERS, Relation.OPPOSES})
MOST_RELATED = 3


def newer(memory: Memory, now: datetime) -> bool:
    """Whether `memory` was said after `now`."""
    return memory.last_seen > timestamp(now)


class Judgement:
    """One candidate against its neighbours."""

    def __init__(
        self,
        candidate: Candidate,
        neighbours: Sequence[Neighbour],
        policy: ConflictConfig,
        now: datetime,
        source: str,
        confirm: Confirm,
    ) -> None:
        self.candidate = candidate
        self.policy = policy
        self.now = now
        self.source = source
        self.confirm: Confirm = confirm
        self.hedged = candidate.confidence < CERTAIN
        found = [(n.memory, n.cosine, compare(candidate.content, n.memory.content, n.cosine)) for n in neighbours]
        self.found = sorted(found, key=lambda item: (-_STRENGTH[item[2].relation], -item[2].topic, -item[1]))

    def outcome(self) -> list[Change]:
        """What the content leads to; the change that holds or repeats it comes first."""
        for memory, cosine, comparison in self.found:
            if (change := self._repeated(memory, comparison, cosine)) is not None:
                return [change, *self._left_behind(change), *self._links(change)]
        if self.hedged and any(c.relation is not Relation.APART or s >= GUESS_COSINE for _, s, c in self.found):
            return [Drop(reason="a guess about something known", content=self.candidate.content)]
        return [self._new()]

    def _repeated(self, memory: Memory, comparison: Comparison, cosine: float) -> Touch | Update | Drop | None:
        """A touch or update of `memory` if the candidate says it again; a guess about what is certain does nothing."""
        relation = comparison.relation
        if relation not in REPEATS or not self._comparable(memory, relation, cosine):
            return None
        if (self._says_change() and memory.type is Type.PROGRESS) or self._confirms(memory):
            return None
        if self._ends_otherwise(memory):
            return None
        if self.hedged and memory.confidence >= CERTAIN:
            return Drop(reason="a guess about something known", content=self.candidate.content)
        firmer = memory.confidence < CERTAIN <= self.candidate.confidence
        may = may_change(self.candidate, memory) and not self.hedged and not newer(memory, self.now)
        if may and (relation is Relation.REFINES or (firmer and relation is Relation.SAME)):
            return None if self.pending() and memory.status is Status.ACTIVE else self.update(memory)
        if relation is Relation.COVERED and firmer:
            return None
        return Touch(id=memory.id, confidence=self._touched(memory), prompt_id=self.candidate.prompt_id)

    def _confirms(self, memory: Memory) -> bool:
        """Whether a person asks by hand for what waits to be confirmed."""
        return memory.status is Status.PENDING and self.candidate.explicit and self.candidate.origin is Origin.USER

    def _ends_otherwise(self, memory: Memory) -> bool:
        """Whether a person says by hand that what `memory` says holds for another time."""
        return self.candidate.explicit and self.candidate.expires_at != memory.expires_at

    def _left_behind(self, change: Touch | Update | Drop) -> list[Change]:
        """What the memory said again ("we are back on A") takes the place of."""
        if isinstance(change, Drop) or not self._says_change() or self.hedged:
            return []
        prompt_id = self.candidate.prompt_id
        return [
            Supersede(id=m.id, version=m.version, by=change.id, prompt_id=prompt_id)
            for m in self._replaced()
            if m.id != change.id and may_change(self.candidate, m)
        ]

    def _links(self, change: Touch | Update | Drop) -> list[Change]:
        """What a memory said more precisely turns out to be related to."""
        if not isinstance(change, Update):
            return []
        others = [m.id for m, _, c in self.found if c.relation is Relation.RELATED and m.scope is self.candidate.scope]
        return [Relate(id=change.id, other=other) for other in others[:MOST_RELATED] if other != change.id]

    def _touched(self, memory: Memory) -> float:
        """The confidence after being said again: only a person's word raises it."""
        if self.candidate.origin is Origin.USER:
            return max(memory.confidence, self.candidate.confidence)
        return memory.confidence

    def _comparable(self, memory: Memory, relation: Relation, cosine: float) -> bool:
        """Whether a repetition may be merged.

        Of another scope: what holds everywhere need not be said of a project; and an unsure statement does not make
        a project's rule hold everywhere. A lesson takes the place of what is no lesson only if alike.
        """
        if relation is Relation.SAME and memory.scope is not self.candidate.scope:
            everywhere = memory.scope is Scope.USER and cosine >= SAME_WORDS_COSINE
            return everywhere or (self.candidate.scope is Scope.USER and self.candidate.confidence < WIDENING)
        one_lesson = Type.LESSON in {memory.type, self.candidate.type} and memory.type is not self.candidate.type
        apart = one_lesson and relation is Relation.REFINES and cosine < SAME_KIND_COSINE
        return memory.scope is self.candidate.scope and not apart

    def repeats(self, apart_from: Memory) -> Touch | Update | None:
        """The touch or update of another memory than `apart_from` that already says the candidate."""
        others = (item for item in self.found if item[0].id != apart_from.id)
        found = (self._repeated(memory, comparison, cosine) for memory, cosine, comparison in others)
        return next((change for change in found if isinstance(change, Touch | Update)), None)

    def update(self, memory: Memory) -> Update:
        """`memory` in the candidate's words."""
        candidate = self.candidate
        return Update(
            id=memory.id,
            version=memory.version,
            content=candidate.content,
            confidence=max(memory.confidence, candidate.confidence),
            tags=tuple(dict.fromkeys((*memory.tags, *candidate.tags))),
            aliases=tuple(dict.fromkeys((*memory.aliases, *candidate.aliases))),
            prompt_id=candidate.prompt_id,
        )

    def pending(self) -> bool:
        """Whether a person has to confirm the candidate first."""
        return confirmation(self.candidate, self.confirm)

    def _new(self) -> Change:
        candidate = self.candidate
        status = Status.PENDING if self.pending() else Status.ACTIVE
        related = [m.id for m, _, c in self.found if c.relation is not Relation.APART and m.scope is candidate.scope]
        if status is Status.PENDING or self.hedged:
            return Add(candidate=candidate, status=status, related=tuple(related[:MOST_RELATED]))
        replaced = self._replaced()
        against = [m for m, _, c in self.found if self._contradicts(m, c) and m not in replaced]
        if any(newer(m, self.now) for m in against):
            return Drop(reason="overtaken by what was said later", content=candidate.content)
        if any(not may_change(candidate, m) for m in (*replaced, *against)):
            return Drop(reason="only the person changes what the person said", content=candidate.content)
        return self.settled(replaced, against, related)

    def settled(self, replaced: list[Memory], against: list[Memory], related: list[str] | None = None) -> Add:
        """The new memory with what it replaces, and what it contradicts dealt with by the policy."""
        guesses = [m for m in against if m.confidence < CERTAIN]
        serious = [m for m in against if m.confidence >= CERTAIN]
        losers = [*replaced, *guesses, *(m for m in serious if self._rank(m) > 0)]
        winner = next((m for m in serious if self._rank(m) < 0), None)
        open_ones = [m for m in serious if self._rank(m) == 0]
        settled = {m.id for m in (*losers, *open_ones)}
        return Add(
            candidate=self.candidate,
            related=tuple(i for i in related or () if i not in settled)[:MOST_RELATED],
            conflicts=() if winner else tuple(m.id for m in open_ones),
            supersedes=() if winner else tuple(dict.fromkeys(m.id for m in losers)),
            superseded_by=winner.id if winner else None,
            pinned=not winner and any(m.pinned for m in losers),
        )

    def _rank(self, memory: Memory) -> int:
        """Above 0: the candidate wins against `memory`; below: it loses; 0: both stay and are marked."""
        if self.policy.policy == "last-write-wins":
            return 1
        if self.policy.policy == "source-priority":
            order = {name: place for place, name in enumerate(self.policy.source_priority)}
            return order.get(memory.source, len(order)) - order.get(self.source, len(order))
        return 0

    def _contradicts(self, memory: Memory, comparison: Comparison) -> bool:
        return (
            comparison.relation in CONTRARY
            and memory.scope is self.candidate.scope
            and memory.status is Status.ACTIVE
            and Type.PROGRESS not in {memory.type, self.candidate.type}
        )

    def _replaced(self) -> list[Memory]:
        """What the candidate takes the place of: the waiting one that it confirms, and what it says has changed."""
        reach = [(m, s, c) for m, s, c in self.found if m.scope is self.candidate.scope and not newer(m, self.now)]
        confirmed = [m for m, _, c in reach if c.relation in REPEATS and (self._confirms(m) or self._prolongs(m, c))]
        here = [(m, s, c) for m, s, c in reach if m.status is Status.ACTIVE]
        if self.candidate.type is Type.PROGRESS:
            return [
                *confirmed,
                *(m for m, s, c in here if m.type is Type.PROGRESS and _same_work(c)),
            ]
        changed = [
            m for m, _, c in here if c.cue or (self._says_change() and (_revised(m, c) or c.relation in CONTRARY))
        ]
        if not changed and self._says_change():
            loose = [(c.topic + s, m) for m, s, c in here if c.replaceable and c.topic >= REPLACED_TOPIC]
            loose = [(fit, m) for fit, m in loose if m.type not in {Type.LESSON, Type.PROGRESS}]
            changed = [max(loose, key=lambda item: item[0])[1]] if loose else []
        return [*confirmed, *changed]

    def _prolongs(self, memory: Memory, comparison: Comparison) -> bool:
        """Whether the candidate is `memory` with another end, or more precise and without one."""
        whole = comparison.relation is Relation.SAME
        lasting = comparison.relation is Relation.REFINES and self.candidate.expires_at is None
        return self._ends_otherwise(memory) and (whole or lasting)

    def left_over(self, changes: Sequence[Change]) -> list[Change]:
        """What stays true of memories that `changes` supersede, where only one clause of them names what has changed."""
        gone = {one for change in changes if isinstance(change, Add) for one in change.supersedes}
        return [
            Add(
                candidate=Candidate(
                    content=rest,
                    type=memory.type,
                    scope=memory.scope,
                    confidence=memory.confidence,
                    origin=memory.origin,
                    tags=memory.tags,
                    aliases=memory.aliases,
                    prompt_id=self.candidate.prompt_id,
                ),
                pinned=memory.pinned,
            )
            for memory, _, comparison in self.found
            if memory.id in gone
            and _revised(memory, comparison)
            and (rest := without_version(memory.content, self.candidate.content))
        ]

    def _says_change(self) -> bool:
        return self.candidate.replaces or bool(self.candidate.revokes) or parse(self.candidate.content).changes


def _revised(memory: Memory, comparison: Comparison) -> bool:
    """Whether another version of what `memory` names is told; what was learnt with the old one stays true."""
    return comparison.revised and memory.type is not Type.LESSON


def _same_work(comparison: Comparison) -> bool:
    """Whether two notes on progress are about one piece of work."""
    return comparison.one_work or (comparison.relation is not Relation.APART and comparison.topic >= RELATED_SHARE)


_STRENGTH = {
    Relation.SAME: 6,
    Relation.REFINES: 5,
    Relation.COVERED: 4,
    Relation.OPPOSES: 3,
    Relation.DIFFERS: 2,
    Relation.RELATED: 1,
    Relation.APART: 0,
}
