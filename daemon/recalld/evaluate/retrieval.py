"""Retrieval corpora: each a project of its own, its documents ranked for each of its queries."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recalld.config import Config
from recalld.embed import Embedder
from recalld.evaluate import documents, plain, scores, sweep
from recalld.evaluate.files import CaseFile, Corpus, Id, Question
from recalld.evaluate.house import House, house
from recalld.evaluate.ranking import Ranked, rank
from recalld.evaluate.result import Result, Tick
from recalld.giving import partitions
from recalld.percentile import percentile
from recalld.store.store import utc_now
from recalld.store.turns import Where

TOP = 10
WARM_UP = "Which one was it, and why?"
"""Asked first and not counted: a daemon's first question of all loads what the later ones find loaded."""


class _Answered(NamedTuple):
    """A query, what was ranked for it, and the ids of the documents that count as found, best first.

    plain: those that plain full text finds, to compare with.
    """

    corpus: str
    question: Question
    ranked: Ranked
    found: list[Id]
    plain: list[Id]
    labelled: sweep.Labelled


async def judge(
    file: CaseFile,
    config: Config,
    embedder: Embedder,
    environ: Mapping[str, str],
    folder: Path,
    tick: Tick,
    *,
    as_injected: bool = False,
    swept: bool = False,
) -> Result:
    """Rank every query of every corpus. as_injected: only what threshold and budget let through counts as found."""
    answered: list[_Answered] = []
    async with house(folder, config, embedder, environ, utc_now()) as home:
        for corpus in file.of(Corpus):
            answered += await _ask(home, corpus, config, embedder, as_injected=as_injected)
            tick()
    judged = [item for item in answered if item.question.rel is not None]
    curve = sweep.curve([item.labelled for item in judged], config.memory) if swept and judged else None
    return Result(
        name=file.name,
        kind="retrieval",
        scores=_scores(judged) if judged else {},
        details=[
            {"corpus": item.corpus, "q": item.question.q, "ranked": item.found, "ms": round(item.ranked.ms, 3)}
            for item in answered
        ],
        curve=curve,
        baseline=_measures([item for item in judged if item.question.rel], plainly=True) if judged else None,
    )


async def _ask(
    home: House, corpus: Corpus, config: Config, embedder: Embedder, *, as_injected: bool
) -> list[_Answered]:
    cwd = home.project(corpus.corpus)
    project_id = await home.project_id(cwd)
    held = documents.as_memories(corpus.docs, home.service.redactor().redact, home.now)
    await home.keep([(memory, project_id) for memory, _ in held])
    ids = {memory.id: document for memory, document in held}
    places = partitions(Where(cwd=cwd, project_id=project_id))
    answered = []
    with contextlib.closing(plain.table(document.text for document in corpus.docs)) as texts:
        await home.store.read(rank, places, WARM_UP, embedder, home.now, config.memory)
        for question in corpus.queries:
            ranked = await home.store.read(rank, places, question.q, embedder, home.now, config.memory)
            chosen = ranked.chosen(config.memory) if as_injected else [item.id for item in ranked.items]
            wanted = set(question.rel or ())
            relevant = {memory_id for memory_id, document in ids.items() if document in wanted}
            labelled = sweep.Labelled(ranked, relevant, ())
            other = [corpus.docs[place].id for place in plain.best(texts, question.q, TOP)]
            answered.append(_Answered(corpus.corpus, question, ranked, [ids[i] for i in chosen], other, labelled))
    return answered


def _scores(answered: Sequence[_Answered]) -> dict[str, Any]:
    """Means over all queries; a query that nothing answers says nothing about retrieval and is left out of them."""
    asked = [item for item in answered if item.question.rel]
    by_cat: dict[str, list[_Answered]] = defaultdict(list)
    for item in asked:
        by_cat[item.question.cat or "-"].append(item)
    times = [item.ranked.ms for item in answered]
    return {
        **_measures(asked),
        "query_ms": {"p50": round(percentile(times, 0.5), 3), "p95": round(percentile(times, 0.95), 3)},
        "by_cat": {cat: {"n": len(items), **_measures(items)} for cat, items in sorted(by_cat.items())},
    }


def _measures(answered: Sequence[_Answered], *, plainly: bool = False) -> dict[str, float]:
    pairs = [(item.plain if plainly else item.found, item.question.rel or ()) for item in answered]
    return {
        "r5": round(scores.mean([scores.recall_at(found, rel, 5) for found, rel in pairs]), 4),
        "r10": round(scores.mean([scores.recall_at(found, rel, TOP) for found, rel in pairs]), 4),
        "ndcg10": round(scores.mean([scores.ndcg_at(found, rel, TOP) for found, rel in pairs]), 4),
        "mrr": round(scores.mean([scores.reciprocal_rank(found, rel) for found, rel in pairs]), 4),
    }
