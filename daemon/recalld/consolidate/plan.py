"""Candidate x stored memories -> changes. Pure: who the neighbours are and how changes are written is the caller's.

Order of judgement: what the candidate's own turn led to before, what it gives up, what it replaces, what it repeats,
refines or contradicts; only what is left over is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from recalld.config import ConflictConfig
from recalld.consolidate.changes import Add, Change, Drop, Past, Supersede, Touch, Update
from recalld.consolidate.compare import Relation, compare
from recalld.consolidate.judge import CERTAIN, REPEATS, Judgement, newer
from recalld.consolidate.revocation import gives_up, only_gives_up
from recalld.consolidate.trust import Confirm, may_change
from recalld.model import Candidate, Memory, Neighbour, Scope, Status


def plan(
    candidate: Candidate,
    neighbours: Sequence[Neighbour],
    policy: ConflictConfig,
    now: datetime,
    source: str,
    *,
    past: Sequence[Past] = (),
    blocked: bool = False,
    confirm: Confirm = "off",
) -> list[Change]:
    """What becomes of `candidate` beside the memories it resembles.

    neighbours: active and pending memories near its content, and near `candidate.revokes`; any order.
    now: when it was said (a late extraction of an old turn does not overrule what was seen after it).
    source: where the candidate comes from, for `policy.source_priority`.
    past: memories of any status that its own turn has led to before. blocked: a deleted memory said again
    (fingerprint.blocks). confirm: the configured `memory.confirm`.
    """
    known = {n.memory.id: n for n in neighbours}
    changes: list[Change] = []
    if candidate.revokes:
        changes += _revoke(candidate, [n for n in known.values() if not newer(n.memory, now)])
    if not candidate.content or (changes and only_gives_up(candidate.revokes, candidate.content)):
        return changes or [Drop(reason="nothing stored is meant by what is given up", content=candidate.revokes)]
    if blocked:
        return [*changes, Drop(reason="deleted before", content=candidate.content)]
    if (known_before := again(candidate, past)) is not None:
        return [*changes, known_before]
    given_up = tuple(change.id for change in changes if isinstance(change, Supersede))
    rest = [n for n in known.values() if n.memory.id not in given_up]
    judgement = Judgement(candidate, rest, policy, now, source, confirm)
    outcome = judgement.outcome()
    return [*judgement.left_over(outcome), *_joined(changes, outcome, known)]


def _joined(changes: list[Change], outcome: list[Change], known: dict[str, Neighbour]) -> list[Change]:
    """What was given up, with the new memory in its place where there is one that counts at once."""
    stored, *rest = outcome
    given_up = [change for change in changes if isinstance(change, Supersede)]
    ids = tuple(change.id for change in given_up)
    if isinstance(stored, Add) and stored.status is Status.ACTIVE and stored.superseded_by is None:
        pinned = stored.pinned or any(known[i].memory.pinned for i in ids)
        return [replace(stored, supersedes=(*ids, *stored.supersedes), pinned=pinned), *rest]
    if isinstance(stored, Touch | Update):
        return [*(replace(change, by=stored.id) for change in given_up), stored, *rest]
    return [*changes, stored, *rest]


def again(candidate: Candidate, past: Sequence[Past]) -> Change | None:
    """The answer to a statement that this very turn has led to before: said again at most, never brought back."""
    for earlier in past:
        texts = [text for text in earlier.texts if text != earlier.memory.content]
        now_is = compare(candidate.content, earlier.memory.content).relation
        finer = now_is is Relation.REFINES and earlier.memory.status in {Status.ACTIVE, Status.PENDING}
        if (now_is in REPEATS and not finer) or any(
            compare(candidate.content, text).relation in REPEATS for text in texts
        ):
            return Drop(reason=f"this turn led to {earlier.memory.id} before", content=candidate.content)
    return None


def _revoke(candidate: Candidate, neighbours: Sequence[Neighbour]) -> list[Change]:
    """The memories that `candidate.revokes` means, given up."""
    allowed = [
        n.memory
        for n in neighbours
        if _reaches(candidate, n.memory)
        and may_change(candidate, n.memory)
        and compare(candidate.content, n.memory.content).relation is not Relation.SAME
    ]
    if candidate.confidence < CERTAIN:
        return []
    return [
        Supersede(id=memory.id, version=memory.version, prompt_id=candidate.prompt_id)
        for memory in gives_up(candidate.revokes, candidate.content, allowed)
    ]


def _reaches(candidate: Candidate, memory: Memory) -> bool:
    """Whether giving something up may reach `memory`: a rule of one project does not end what holds everywhere."""
    return memory.scope is candidate.scope or candidate.scope is Scope.USER or not candidate.content
