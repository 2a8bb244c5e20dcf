"""What a model proposes about stored memories, held against them, as the same changes that the rules lead to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recalld.config import ConflictConfig
from recalld.consolidate.changes import Change, Conflict, Drop, Past, Supersede, Touch
from recalld.consolidate.compare import Relation, compare
from recalld.consolidate.judge import CERTAIN, Judgement, newer
from recalld.consolidate.plan import again, plan
from recalld.consolidate.trust import Confirm, may_change
from recalld.llm.protocol import Action, Operation
from recalld.model import Candidate, Memory, Neighbour, Status

GUESS_CONFIDENCE = 0.5
"""What a hedged statement gets at most."""


def candidate(operation: Operation) -> Candidate:
    """The statement that `operation` wants to store, as a candidate."""
    confidence = min(operation.confidence, GUESS_CONFIDENCE) if operation.hedged else operation.confidence
    return Candidate(
        content=operation.content.strip(),
        type=operation.type,
        scope=operation.scope,
        confidence=max(0.0, min(1.0, confidence)),
        origin=operation.origin,
        tags=operation.tags,
        aliases=operation.aliases,
        prompt_id=operation.prompt_id or None,
    )


def check(
    operation: Operation,
    neighbours: Sequence[Neighbour],
    policy: ConflictConfig,
    now: datetime,
    source: str,
    *,
    past: Sequence[Past] = (),
    blocked: bool = False,
    confirm: Confirm = "off",
) -> list[Change]:
    """The changes that `operation` leads to; the parameters are those of `plan`.

    neighbours: with the memory that the operation names among them, else the id counts as invented and is refused.
    The model says which memory is meant and how; who may change it, what is hedged, deleted, overtaken or has to be
    confirmed is decided here as for the rules. An update that has nothing to do with the memory is stored beside it.
    """
    proposed = candidate(operation)
    if operation.op is Action.ADD:
        return plan(proposed, neighbours, policy, now, source, past=past, blocked=blocked, confirm=confirm)
    memory = next((n.memory for n in neighbours if n.memory.id == operation.id), None)
    if memory is None:
        return [Drop(reason="an id that was not given", content=proposed.content)]
    if operation.op is Action.TOUCH:
        return [Touch(id=memory.id, confidence=memory.confidence, prompt_id=proposed.prompt_id)]
    if (refused := _refused(operation, proposed, memory, now)) is not None:
        return [Drop(reason=refused, content=proposed.content)]
    if not proposed.content:
        return [Supersede(id=memory.id, version=memory.version, prompt_id=proposed.prompt_id)]
    if blocked:
        return [Drop(reason="deleted before", content=proposed.content)]
    if (known := again(proposed, past)) is not None:
        return [known]
    judgement = Judgement(proposed, neighbours, policy, now, source, confirm)
    unrelated = operation.op is Action.UPDATE and compare(proposed.content, memory.content).relation is Relation.APART
    if judgement.pending() or unrelated:
        return plan(proposed, neighbours, policy, now, source, confirm=confirm)
    return _apply(operation, judgement, memory)


def _refused(operation: Operation, proposed: Candidate, memory: Memory, now: datetime) -> str | None:
    """Why `operation` may not change `memory`, or None."""
    if not proposed.content and operation.op is not Action.SUPERSEDE:
        return "a change without a text"
    if proposed.confidence < CERTAIN:
        return "a guess changes nothing"
    if memory.status not in {Status.ACTIVE, Status.PENDING}:
        return "the memory is no longer in force"
    if newer(memory, now):
        return "overtaken by what was said later"
    if not may_change(proposed, memory):
        return "only the person changes what the person said"
    return None


def _apply(operation: Operation, judgement: Judgement, memory: Memory) -> list[Change]:
    if operation.op is Action.UPDATE:
        return [judgement.update(memory)]
    known = judgement.repeats(memory)
    if operation.op is Action.SUPERSEDE:
        if known is None:
            return [judgement.settled([memory], [])]
        prompt_id = judgement.candidate.prompt_id
        return [Supersede(id=memory.id, version=memory.version, by=known.id, prompt_id=prompt_id), known]
    return [judgement.settled([], [memory])] if known is None else [Conflict(older=memory.id, newer=known.id), known]
