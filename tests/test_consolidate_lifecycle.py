"""What is left of many statements over time."""

from __future__ import annotations

from pathlib import Path

import pytest

from consolidate_book import Book
from consolidate_cases import CASES, Case
from recalld.embed import BUILTIN, Embedder, load
from recalld.model import Status


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return load(BUILTIN, Path(tmp_path_factory.mktemp("models")))


def live(case: Case, embedder: Embedder) -> Book:
    book = Book(embedder.encode)
    for number, (kind, what) in enumerate(case.steps):
        if kind == "say":
            book.say(f"t{number}", what)
        elif kind == "replay":
            book.replay(f"t{what}")
        elif kind == "edit":
            book.edit(*what)
        else:
            getattr(book, kind)(what)
    return book


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_end_of_each_life(case: Case, embedder: Embedder) -> None:
    """Each case leaves exactly what it says: in force, superseded, in conflict, gone."""
    book = live(case, embedder)
    active, superseded = book.contents(Status.ACTIVE), book.contents(Status.SUPERSEDED)
    assert all(any(part in content for content in active) for part in case.active), active
    assert all(any(part in content for content in superseded) for part in case.superseded), superseded
    assert not any(part in content for part in case.absent for content in active), active
    assert len(active) <= case.most, active
    memories = book.memories
    pairs = {(memories[o].content, m.content) for m in memories.values() for o in m.conflicts}
    assert all(any(a in x and b in y for x, y in pairs) for a, b in case.conflict), pairs
    assert len(pairs) == 2 * len(case.conflict), pairs
