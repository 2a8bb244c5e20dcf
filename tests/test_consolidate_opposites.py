"""What says the opposite is never taken for the same, and what says the same in other words still is."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from consolidate_book import START, Book, memory
from consolidate_opposites import APART, CONTRARY, ROLES, SAME, pairs
from recalld.config import ConflictConfig
from recalld.consolidate import Add, Change, Touch, plan
from recalld.consolidate.compare import compare
from recalld.embed import BUILTIN, Embedder, load
from recalld.model import Candidate, Memory, Neighbour, Status, timestamp

NOW = START + timedelta(hours=1)
BEFORE = memory("m-0", "Tests run before each commit.")
AFTER = "Tests run after each commit."
SOON = timestamp(START + timedelta(days=2))


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return load(BUILTIN, Path(tmp_path_factory.mktemp("models")))


def relation(older: str, newer: str, embedder: Embedder) -> str:
    one, other = embedder.encode([older, newer])
    return compare(newer, older, float(one @ other)).relation


@pytest.mark.parametrize(("older", "newer"), pairs(CONTRARY))
def test_the_opposite_and_another_value_are_contradictions(older: str, newer: str, embedder: Embedder) -> None:
    """A small word or the order of two names is enough."""
    assert relation(older, newer, embedder) in {"opposes", "differs"}


@pytest.mark.parametrize(("older", "newer"), pairs(ROLES))
def test_exchanged_roles_are_another_statement(older: str, newer: str, embedder: Embedder) -> None:
    """A may call B, and B may call A."""
    assert relation(older, newer, embedder) in {"opposes", "differs", "related", "apart"}


@pytest.mark.parametrize(("older", "newer"), pairs(APART))
def test_other_subjects_are_apart(older: str, newer: str, embedder: Embedder) -> None:
    """Module 7 and module 8, the front end and the back end, Mira and Jonas."""
    assert relation(older, newer, embedder) in {"related", "apart"}


@pytest.mark.parametrize(("older", "newer"), pairs(SAME))
def test_other_words_for_the_same_still_merge(older: str, newer: str, embedder: Embedder) -> None:
    """Order and small words that decide nothing do not count, and two denials say what none says."""
    assert relation(older, newer, embedder) in {"same", "covered", "refines"}


def decide(content: str, *stored: Memory, policy: ConflictConfig | None = None, **fields: Any) -> list[Change]:
    candidate = Candidate(content=content, confidence=1.0, **fields)
    near = [Neighbour(found, 0.9, 0.9) for found in stored]
    return plan(candidate, near, policy or ConflictConfig(), NOW, "cli")


def test_the_opposite_said_by_hand_is_stored_and_marked() -> None:
    """Nothing of the new sentence lands on the old one."""
    (change,) = decide(AFTER, BEFORE, explicit=True)
    assert isinstance(change, Add)
    assert (change.candidate.content, change.conflicts, change.supersedes) == (AFTER, ("m-0",), ())


def test_the_opposite_takes_the_place_where_the_last_word_wins() -> None:
    """As `conflict.policy` says."""
    (change,) = decide(AFTER, BEFORE, policy=ConflictConfig(policy="last-write-wins"))
    assert isinstance(change, Add)
    assert change.supersedes == ("m-0",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tests run before each commit.", "We changed our minds, tests run after each commit."),
        ("部署前先跑迁移。", "改成部署后再跑迁移。"),
        ("We use Bun instead of Node.", "We switched back from Bun to Node."),
    ],
)
def test_a_change_that_is_said_leaves_no_conflict(old: str, new: str) -> None:
    """The new one takes the place of the old one."""
    (change,) = decide(new, memory("m-0", old))
    assert isinstance(change, Add)
    assert (change.supersedes, change.conflicts) == (("m-0",), ())


def test_numbered_sentences_are_in_no_conflict() -> None:
    """Twenty modules with as many tests each are twenty facts."""
    book = Book()
    for number in range(1, 21):
        book.remember(f"Module {number} has {number} tests.")
        book.remember(f"Filler number {number} stands here.")
        book.remember(f"模块 {number} 有 {number + 1} 个用例。")
    assert len(book.contents(Status.ACTIVE)) == 60
    assert not any(found.conflicts for found in book.memories.values())


def test_a_sentence_for_good_takes_the_place_of_one_that_ends() -> None:
    """It does not inherit the end of the old one."""
    ending = memory("m-0", "Standup is at nine now.", expires_at=SOON, pinned=True)
    (change,) = decide("Standup is at nine always.", ending, explicit=True)
    assert isinstance(change, Add)
    assert (change.supersedes, change.candidate.expires_at, change.pinned) == (("m-0",), None, True)


def test_a_more_precise_sentence_that_ends_leaves_the_lasting_one() -> None:
    """ "In room 4 this week" says nothing of the weeks after."""
    (change,) = decide(
        "Standup is at nine in room 4.", memory("m-0", "Standup is at nine."), explicit=True, expires_at=SOON
    )
    assert isinstance(change, Add)
    assert (change.supersedes, change.conflicts, change.related) == ((), (), ("m-0",))


def test_said_again_in_passing_changes_no_end() -> None:
    """Only who says by hand until when it holds sets that."""
    (change,) = decide("Standup is at nine.", memory("m-0", "Standup is at nine.", expires_at=SOON))
    assert isinstance(change, Touch)
