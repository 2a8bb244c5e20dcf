"""Results as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recalld.evaluate.result import NOT_RUN, Result

UNLABELLED = "no labels, so no scores; --details shows what came out"
SHOWN = 60
"""So many cases that came out otherwise are listed."""
_KINDS = {"retrieval": "retrieval", "recall": "recall set", "extraction": "extraction", "lifecycle": "lifecycle"}
_NOTES = {"recall": "not as labelled", "extraction": "and", "retrieval": "and", "lifecycle": "and"}


def as_json(results: Sequence[Result], *, details: bool) -> list[dict[str, Any]]:
    """One object a file, as `--json` prints them."""
    return [
        {"kind": result.kind, **result.scores, **({"details": result.details} if details else {})} for result in results
    ]


def as_text(results: Sequence[Result], *, details: bool) -> str:
    """A block a file: the scores, then each case that did not come out as labelled."""
    return "\n\n".join("\n".join(_block(result, details=details)) for result in results)


def _block(result: Result, *, details: bool) -> Iterator[str]:
    yield f"{Path(result.name).name}: {_KINDS[result.kind]}, {len(result.details):,} {_noun(result)}"
    if not result.scores:
        yield f"  {UNLABELLED}"
    elif result.kind == "retrieval":
        yield from _retrieval(result)
    elif result.kind == "recall":
        yield "  " + "   ".join(f"{name} {result.scores[name]:.3f}" for name in ("precision", "recall", "f1", "silent"))
        yield "  of the items scored   n, their mean similarity, and the share that is relevant"
        for row in result.scores["reliability"]:
            scored = f"{row['low']:.1f} to {row['high']:.1f}"
            yield f"    {scored:<16}{row['n']:>5}{row['similarity']:>8.2f}{row['relevant']:>8.2f}"
    else:
        yield from _tiers(result.scores)
    yield from _failures(result)
    if details:
        yield from _details(result)


def _noun(result: Result) -> str:
    return {"retrieval": "queries", "recall": "prompts"}.get(result.kind, "cases")


def _retrieval(result: Result) -> Iterator[str]:
    scores = result.scores
    rows = {"all": scores}
    if result.baseline:
        rows["plain FTS5, to compare"] = result.baseline
    rows |= {} if len(scores["by_cat"]) < 2 else scores["by_cat"]
    width = max(map(len, rows))
    yield f"  {'':<{width}}    R@5   R@10  NDCG@10    MRR"
    for name, row in rows.items():
        number = f"  ({row['n']})" if "n" in row else ""
        yield f"  {name:<{width}}  {row['r5']:.3f}  {row['r10']:.3f}    {row['ndcg10']:.3f}  {row['mrr']:.3f}{number}"
    yield f"  a query took {scores['query_ms']['p50']:.1f} ms (p50), {scores['query_ms']['p95']:.1f} ms (p95)"


def _tiers(scores: Mapping[str, Any]) -> Iterator[str]:
    for tier, counts in scores["tiers"].items():
        if counts == NOT_RUN:
            yield f"  {tier:<6} not run"
        elif isinstance(counts, Mapping):
            told = ", ".join(f"{name} {right} of {total}" for name, (right, total) in counts.items())
            yield f"  {tier:<6} {told}"
        else:
            yield f"  {tier:<6} {counts[0]} of {counts[1]}"
    if "forbid_hits" in scores:
        yield f"  forbidden memories {scores['forbid_hits']}, neutral ones a turn {scores['neutral_per_turn']:.2f}"


def _failures(result: Result) -> Iterator[str]:
    failures = [f"{failure['id']}: {failure['why']}" for failure in result.scores.get("failures", ())]
    for title, lines in (("failed", failures), (_NOTES[result.kind], list(result.notes))):
        if lines:
            yield f"  {title}:"
            yield from (f"    {line}" for line in lines[:SHOWN])
        if len(lines) > SHOWN:
            yield f"    and {len(lines) - SHOWN} more"


def _details(result: Result) -> Iterator[str]:
    yield "  details:"
    for detail in result.details:
        name = detail.get("id", f"{detail.get('corpus')}: {detail.get('q')}")
        found = next(detail[key] for key in ("ranked", "injected", "stored", "memories") if key in detail)
        yield f"    {name}: {_told(found)}"


def _told(found: Sequence[Any]) -> str:
    if found and isinstance(found[0], Mapping):
        return " | ".join(f"[{item['type']}, {item['status']}] {item['content']}" for item in found)
    return ", ".join(map(str, found)) or "nothing"
