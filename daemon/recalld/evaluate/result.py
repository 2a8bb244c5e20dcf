"""What judging one file came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from recalld.evaluate.files import Id, Kind
from recalld.evaluate.sweep import Curve

Tick = Callable[[], None]
"""Called after each case, for whoever shows progress."""

NOT_RUN = "not run"
TIERS = ("rules", "llm")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """scores: the fields of the kind, as `--json` prints them; none where the file has no labels.

    details: for each case, in file order, what was ranked, injected or stored. notes: what else a reader should know,
    in lines. curve: precision and recall by threshold, where that was asked for. baseline: the same measures of plain
    full text (FTS5, unicode61, bm25) on the same cases, where that is comparable.
    """

    name: str
    kind: Kind
    scores: dict[str, Any]
    details: list[dict[str, Any]]
    notes: tuple[str, ...] = ()
    curve: Curve | None = None
    baseline: dict[str, float] | None = None


def shortened(text: str, limit: int = 120) -> str:
    """`text` on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def by_language(cases: Iterable[tuple[Id, str]], failures: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """A line that tells of each language how many of its cases came out right; none where there is but one."""
    failed = {failure["id"] for failure in failures}
    total, right = Counter[str](), Counter[str]()
    for case, language in cases:
        total[language or "-"] += 1
        right[language or "-"] += case not in failed
    parts = [f"{language} {right[language]} of {number}" for language, number in total.most_common()]
    return (f"by language: {', '.join(parts)}",) if len(parts) > 1 else ()
