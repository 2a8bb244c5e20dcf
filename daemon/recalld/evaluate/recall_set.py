"""Recall sets: what would really be injected for each prompt, each a session of its own."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recalld.config import Config
from recalld.embed import Embedder
from recalld.evaluate import reliability, sweep
from recalld.evaluate.files import CaseFile, Id, Prompt, Remembered
from recalld.evaluate.house import House, house
from recalld.evaluate.ranking import rank
from recalld.evaluate.result import Result, Tick
from recalld.giving import partitions
from recalld.model import Memory, new_id, timestamp
from recalld.store import receipts
from recalld.store.turns import Where


class _Given(NamedTuple):
    """A prompt, the case's ids of the memories injected for it, and which memories count neither way."""

    prompt: Prompt
    injected: list[Id]
    neutral: set[Id]
    ms: float
    labelled: sweep.Labelled


async def judge(
    file: CaseFile,
    config: Config,
    embedder: Embedder,
    environ: Mapping[str, str],
    folder: Path,
    tick: Tick,
    *,
    swept: bool = False,
) -> Result:
    """Submit every prompt to a store that holds its project's memories and no others."""
    by_project: dict[str, list[Remembered]] = defaultdict(list)
    for memory in file.of(Remembered):
        by_project[memory.project].append(memory)
    given: dict[int, _Given] = {}
    prompts = list(enumerate(file.of(Prompt)))
    for number, project in enumerate(dict.fromkeys(prompt.project for _, prompt in prompts)):
        # A store for each: memories of user scope would be seen by every project's prompts.
        async with house(folder / str(number), config, embedder, environ) as home:
            asked = [(place, prompt) for place, prompt in prompts if prompt.project == project]
            given |= await _submit(home, project, by_project[project], asked, config, embedder, tick, swept=swept)
    answers = [given[place] for place, _ in prompts]
    judged = [item for item in answers if item.prompt.relevant is not None]
    labelled = [item.labelled for item in judged]
    return Result(
        name=file.name,
        kind="recall",
        scores=_scores(judged) if judged else {},
        details=[{"id": item.prompt.id, "injected": item.injected, "ms": round(item.ms, 3)} for item in answers],
        notes=_wrong(judged),
        curve=sweep.curve(labelled, config.memory) if swept and labelled else None,
    )


async def _submit(
    home: House,
    project: str,
    remembered: Sequence[Remembered],
    prompts: Sequence[tuple[int, Prompt]],
    config: Config,
    embedder: Embedder,
    tick: Tick,
    *,
    swept: bool,
) -> dict[int, _Given]:
    cwd = home.project(project)
    project_id = await home.project_id(cwd)
    ids: dict[str, Id] = {}
    items = []
    for case in remembered:
        memory = _memory(case, timestamp(home.now))
        ids[memory.id] = case.id
        items.append((memory, project_id))
    await home.keep(items)
    broad = {case.id for case in remembered if case.broad}
    places = partitions(Where(cwd=cwd, project_id=project_id))
    given = {}
    for place, prompt in prompts:
        neutral = (broad | set(prompt.ok or ())) - set(prompt.relevant or ())
        ranked = await home.store.read(
            rank, places, prompt.text, embedder, home.now, config.memory, with_vectors=swept, context=False
        )
        labelled = sweep.Labelled(ranked, _named(ids, prompt.relevant or ()), _named(ids, neutral))
        begun = time.perf_counter()
        session = f"{place:06}"
        await home.hook("prompt", session_id=session, prompt_id=f"p{session}", prompt=prompt.text, cwd=cwd)
        ms = (time.perf_counter() - begun) * 1000
        receipt = await home.store.read(receipts.latest, session, None)
        injected = [ids[item.memory] for item in receipt.items if item.given] if receipt else []
        given[place] = _Given(prompt, injected, neutral, ms, labelled)
        tick()
    return given


def _memory(case: Remembered, now: str) -> Memory:
    return Memory(
        id=new_id(), scope=case.scope, type=case.type, content=case.content, source="import", first_seen=now,
        last_seen=now, created_at=now, updated_at=now,
    )  # fmt: skip


def _named(ids: Mapping[str, Id], wanted: Sequence[Id] | set[Id]) -> set[str]:
    return {memory_id for memory_id, case_id in ids.items() if case_id in set(wanted)}


def _scores(given: Sequence[_Given]) -> dict[str, Any]:
    rows = reliability.table([item.labelled for item in given])
    counted = [(item.injected, item.prompt.relevant or (), item.neutral) for item in given]
    precision, recall, f1, silent = sweep.injected(counted)
    return {
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(f1, 4),
        "silent": round(silent, 4),
        "reliability": [row._asdict() for row in rows],
    }


def _wrong(given: Sequence[_Given]) -> tuple[str, ...]:
    """A line for each prompt that did not get exactly what it should."""
    lines = []
    for item in given:
        relevant, got = list(item.prompt.relevant or ()), set(item.injected)
        parts = [f"missing {case}" for case in relevant if case not in got]
        parts += [f"needless {case}" for case in item.injected if case not in relevant and case not in item.neutral]
        if parts:
            lines.append(f"{item.prompt.id}: {', '.join(parts)}")
    return tuple(lines)
