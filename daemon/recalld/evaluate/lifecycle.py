"""Lifecycle cases: a life of a store in steps, with simulated days, and what is left of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recalld import maintain
from recalld.config import Config
from recalld.embed import Embedder
from recalld.errors import InputError
from recalld.evaluate.extraction import matches
from recalld.evaluate.files import CaseFile, Final, Life, Step
from recalld.evaluate.house import House, house
from recalld.evaluate.result import NOT_RUN, TIERS, Result, Tick, by_language, shortened
from recalld.model import Memory, Status, Type

BETWEEN = timedelta(minutes=1)
"""From one step to the next."""


class _Lived(NamedTuple):
    """A case and the memories left after it; error: why not everything was extracted."""

    case: Life
    left: list[Memory]
    error: str | None


async def judge(
    file: CaseFile, config: Config, embedder: Embedder, environ: Mapping[str, str], folder: Path, tick: Tick
) -> Result:
    """Live every case in a store of its own."""
    lived = []
    for number, case in enumerate(file.of(Life)):
        lived.append(await _live(case, config, embedder, environ, folder / str(number)))
        tick()
    judged = [item for item in lived if item.case.labelled]
    scored = _scores(judged) if judged else {}
    return Result(
        name=file.name,
        kind="lifecycle",
        scores=scored,
        details=[{"id": item.case.id, "memories": _told(item.left)} for item in lived],
        notes=by_language([(item.case.id, item.case.lang) for item in judged], scored.get("failures", ())),
    )


async def _live(case: Life, config: Config, embedder: Embedder, environ: Mapping[str, str], folder: Path) -> _Lived:
    async with house(folder, config, embedder, environ) as home:
        error, cwd = None, home.project("project")
        for number in range(len(case.steps)):
            error = await _take(home, cwd, case.steps, number, config) or error
            home.now += BETWEEN
        return _Lived(case, await home.stored(), error)


async def _take(home: House, cwd: str, steps: Sequence[Step], number: int, config: Config) -> str | None:
    """One step; why its extraction failed, where it did."""
    step = steps[number]
    match step:
        case Step(say=said) if said is not None:
            return await home.turn(cwd, "session", f"turn-{number}", said.prompt, said.answer)
        case Step(replay=place) if place is not None:
            return await _replay(home, cwd, place, steps[place])
        case Step(remember=text) if text is not None:
            with contextlib.suppress(InputError):  # nothing was left of it to store
                await home.call("add", text=text, cwd=cwd, type=step.type or Type.FACT)
        case Step(delete=part) if part is not None:
            if doomed := [memory.id for memory in await _holding(home, part)]:
                await home.call("delete", ids=doomed)
        case Step(edit=change) if change is not None:
            for memory in (await _holding(home, change[0]))[:1]:
                await home.call("edit", id=memory.id, text=change[1])
        case Step(days=days) if days is not None:
            return await _pass(home, days, config)
    return None


async def _replay(home: House, cwd: str, place: int, step: Step) -> str | None:
    """The turn is delivered once more, and its job done once more, as after a crash in its middle."""
    assert step.say is not None
    await home.turn(cwd, "session", f"turn-{place}", step.say.prompt, step.say.answer)
    await home.store.write(_again, f"turn-{place}")
    return await home.learn()


def _again(db: apsw.Connection, prompt_id: str) -> None:
    db.execute(
        "update jobs set state = 'ready', payload = '{}', finished_at = null where kind = 'extract' and key = ?",
        (prompt_id,),
    )


async def _holding(home: House, part: str) -> list[Memory]:
    """The active memories that hold `part`."""
    return [
        memory
        for memory in await home.stored()
        if memory.status is Status.ACTIVE and part.lower() in memory.content.lower()
    ]


async def _pass(home: House, days: int, config: Config) -> str | None:
    """Days pass; the upkeep is done on each."""
    error = None
    for _ in range(days):
        home.now += timedelta(days=1)
        error = await home.learn() or error
        await home.store.act("maintain", None, False, maintain.tidy, home.now, config.keep)
    return error


def _told(left: Sequence[Memory]) -> list[dict[str, Any]]:
    contents = {memory.id: memory.content for memory in left}
    return [
        {
            "content": memory.content, "type": memory.type.value, "status": memory.status.value,
            "conflicts": [contents[other] for other in memory.conflicts if other in contents],
        }
        for memory in left
    ]  # fmt: skip


def _scores(lived: Sequence[_Lived]) -> dict[str, Any]:
    found = [(item.case, faults(item)) for item in lived]
    tiers: dict[str, Any] = {}
    for tier in TIERS:
        right = [not why for case, why in found if case.tier == tier]
        tiers[tier] = [sum(right), len(right)] if right else NOT_RUN
    return {"tiers": tiers, "failures": [{"id": case.id, "why": "; ".join(why)} for case, why in found if why]}


def faults(item: _Lived) -> list[str]:
    """What is not as the case says it should be, in a few words each."""
    final = item.case.final or Final()
    active = [memory for memory in item.left if memory.status is Status.ACTIVE]
    superseded = [memory for memory in item.left if memory.status is Status.SUPERSEDED]
    found = [f"not active: {' + '.join(wanted)}" for wanted in final.active or () if not _holds(active, wanted)]
    found += [f"not superseded: {' + '.join(w)}" for w in final.superseded or () if not _holds(superseded, w)]
    found += _conflict_faults(active, final)
    found += [
        f"not absent: {pattern} in {shortened(memory.content)}"
        for pattern in final.absent or ()
        for memory in active
        if matches(pattern, memory)
    ]
    if final.count_max is not None and len(active) > final.count_max:
        told = " | ".join(shortened(memory.content) for memory in active)
        found.append(f"{len(active)} active, at most {final.count_max}: {told}")
    if found and not any(fault.startswith(f"{len(active)} active") for fault in found):
        found.append("active: " + (" | ".join(shortened(memory.content) for memory in active) or "nothing"))
    return found + ([f"extraction failed: {item.error}"] if item.error else [])


def _conflict_faults(active: Sequence[Memory], final: Final) -> list[str]:
    """Flagged pairs that are missing, or any where there should be none."""
    if final.conflict is None:
        return []
    by_id = {memory.id: memory for memory in active}
    pairs = [(memory, by_id[other]) for memory in active for other in memory.conflicts if other in by_id]
    if not final.conflict:
        return [f"in conflict: {shortened(a.content)} | {shortened(b.content)}" for a, b in pairs if a.id < b.id]
    return [
        f"no conflict: {one} | {other}"
        for one, other in final.conflict
        if not any(matches(one, a) and matches(other, b) for a, b in pairs)
    ]


def _holds(memories: Iterable[Memory], patterns: Sequence[str]) -> bool:
    """Whether one memory matches all of `patterns`."""
    return any(all(matches(pattern, memory) for pattern in patterns) for memory in memories)
