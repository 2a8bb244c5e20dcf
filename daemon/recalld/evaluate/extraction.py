"""Extraction cases: the turns of a session go through hooks, queue and learner; what is stored is compared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recalld.config import Config
from recalld.embed import Embedder
from recalld.evaluate import scores
from recalld.evaluate.files import CaseFile, Dialogue, Expected
from recalld.evaluate.house import house
from recalld.evaluate.result import NOT_RUN, TIERS, Result, Tick, by_language, shortened
from recalld.model import Memory, Status

STANDING = (Status.ACTIVE, Status.PENDING)


class _Learnt(NamedTuple):
    """A case and all that is stored after it; error: why not everything was extracted."""

    case: Dialogue
    stored: list[Memory]
    error: str | None


async def judge(
    file: CaseFile, config: Config, embedder: Embedder, environ: Mapping[str, str], folder: Path, tick: Tick
) -> Result:
    """Run every dialogue in a store of its own."""
    learnt = []
    for number, case in enumerate(file.of(Dialogue)):
        learnt.append(await _learn(case, config, embedder, environ, folder / str(number)))
        tick()
    judged = [item for item in learnt if item.case.labelled]
    scored = _scores(judged) if judged else {}
    return Result(
        name=file.name,
        kind="extraction",
        scores=scored,
        details=[{"id": item.case.id, "stored": [_told(memory) for memory in item.stored]} for item in learnt],
        notes=(
            *by_language([(item.case.id, item.case.lang) for item in judged], scored.get("failures", ())),
            *_types(judged),
        ),
    )


async def _learn(
    case: Dialogue, config: Config, embedder: Embedder, environ: Mapping[str, str], folder: Path
) -> _Learnt:
    async with house(folder, config, embedder, environ) as home:
        cwd = home.project("project")
        error = None
        for number, turn in enumerate(case.turns):
            error = await home.turn(cwd, "session", f"turn-{number}", turn.prompt, turn.answer) or error
        return _Learnt(case, await home.stored(), error)


def _told(memory: Memory) -> dict[str, Any]:
    return {
        "type": memory.type.value, "scope": memory.scope.value, "content": memory.content,
        "confidence": memory.confidence, "status": memory.status.value, "origin": memory.origin.value,
    }  # fmt: skip


def _scores(learnt: Sequence[_Learnt]) -> dict[str, Any]:
    found = [(item.case, faults(item)) for item in learnt]
    turns = sum(len(item.case.turns) for item in learnt)
    return {
        "tiers": {tier: _tier([pair for pair in found if pair[0].tier == tier]) for tier in TIERS},
        "forbid_hits": sum(len(_forbidden(item)) for item in learnt),
        "neutral_per_turn": round(scores.share(sum(map(_neutral, learnt)), turns), 4),
        "failures": [{"id": case.id, "why": "; ".join(why)} for case, why in found if why],
    }


def _tier(found: Sequence[tuple[Dialogue, list[str]]]) -> Any:
    """How many cases came out right, of those that expect something and of those that expect nothing."""
    if not found:
        return NOT_RUN
    positive = [not why for case, why in found if case.expect]
    negative = [not why for case, why in found if not case.expect]
    return {"positive": [sum(positive), len(positive)], "negative": [sum(negative), len(negative)]}


def faults(item: _Learnt) -> list[str]:
    """What is wrong with what was stored, in a few words each; nothing where it is right."""
    found = [f"expected {_wish(expected)}{_near(item, expected)}" for expected in _unmet(item)]
    found += [f"forbidden: {shortened(memory.content)}" for memory in _forbidden(item)]
    return found + ([f"extraction failed: {item.error}"] if item.error else [])


def _unmet(item: _Learnt) -> list[Expected]:
    return [
        expected
        for expected in item.case.expect or ()
        if not any(_says(memory, expected) and _fits(memory, expected) for memory in _standing(item))
    ]


def _standing(item: _Learnt) -> list[Memory]:
    return [memory for memory in item.stored if memory.status in STANDING]


def _says(memory: Memory, expected: Expected) -> bool:
    return all(matches(pattern, memory) for pattern in expected.must)


def _fits(memory: Memory, expected: Expected) -> bool:
    scope = expected.scope in (None, memory.scope)
    return scope and memory.confidence >= (expected.min_conf or 0.0)


def _forbidden(item: _Learnt) -> list[Memory]:
    """The stored memories that match what must not be stored, whatever their status."""
    return [memory for memory in item.stored if any(matches(pattern, memory) for pattern in item.case.forbid or ())]


def _neutral(item: _Learnt) -> int:
    """How many stored memories are neither expected nor forbidden."""
    forbidden = {memory.id for memory in _forbidden(item)}
    return sum(
        memory.id not in forbidden and not any(_says(memory, expected) for expected in item.case.expect or ())
        for memory in item.stored
    )


def matches(pattern: str, memory: Memory) -> bool:
    """Whether the content holds the pattern, in upper or lower case."""
    return re.search(pattern, memory.content, re.IGNORECASE) is not None


def _wish(expected: Expected) -> str:
    scope = f" in scope {expected.scope}" if expected.scope else ""
    surely = f" with confidence >= {expected.min_conf}" if expected.min_conf else ""
    return " + ".join(expected.must) + scope + surely


def _near(item: _Learnt, expected: Expected) -> str:
    """What is stored that says it, but not as it should; else all that is stored."""
    said = [memory for memory in _standing(item) if _says(memory, expected)]
    told = [f"[{m.scope}, {m.confidence:.2f}] {shortened(m.content)}" for m in said or item.stored[:3]]
    return f"; stored: {' | '.join(told)}" if told else "; nothing stored"


def _types(learnt: Sequence[_Learnt]) -> tuple[str, ...]:
    """How often the type is right of those expected memories that are there; no score, but worth knowing."""
    right = total = 0
    for item in learnt:
        for expected in item.case.expect or ():
            said = [memory for memory in _standing(item) if _says(memory, expected)]
            if said and expected.type:
                total += 1
                right += any(memory.type in (expected.type, *expected.alt_types) for memory in said)
    return (f"type as expected: {right} of {total}",) if total else ()
