"""Deleted stays deleted, without keeping a word of it."""

from __future__ import annotations

import pytest

from recalld.fingerprint import Tombstone, blocks, fingerprint, matches
from recalld.model import Candidate

KEY = bytes(range(32))
LOCKER = "My locker is number 31 in corridor B."


def blob(*texts: str) -> bytes:
    return fingerprint(texts, KEY)[0]


@pytest.mark.parametrize(
    ("deleted", "again"),
    [
        (LOCKER, LOCKER),
        (LOCKER, "my locker in corridor B has number 31"),
        (LOCKER, "Remember that my locker is number 31, corridor B"),
        ("The metrics exporter runs on port 9100.", "metrics exporter: port 9100"),
        ("The cache expires after 60 seconds.", "the cache expires after one minute"),
        ("仓库在三号楼二层。", "仓库在三号楼的二层"),
        ("测试库的端口是 3307。", "测试库端口为 3307"),
    ],
)
def test_the_same_in_other_words_is_recognised(deleted: str, again: str) -> None:
    """Order, filling words, endings and units do not matter."""
    assert matches(again, blob(deleted), KEY)


@pytest.mark.parametrize(
    ("deleted", "other"),
    [
        (LOCKER, "My locker is number 32 in corridor B."),
        (LOCKER, "My bike is in the cellar."),
        ("The metrics exporter runs on port 9100.", "The trace collector runs on port 9411."),
        ("The metrics exporter runs on port 9100.", "The metrics exporter runs on port 9200."),
        ("Answers are in German.", "The exporter is written in Go."),
        ("On staging the cache lives 10 s.", "In production the cache lives 10 s."),
        ("测试库的端口是 3307。", "订单库的端口是 3308"),
        ("Use tabs.", "..."),
    ],
)
def test_another_statement_is_let_through(deleted: str, other: str) -> None:
    """A number or name that the deleted one did not have makes it another one."""
    assert not matches(other, blob(deleted), KEY)


def test_earlier_texts_count() -> None:
    """A memory edited and then deleted does not come back in its first words."""
    known = blob("The board is called checkout-golden.", "The board is called checkout-signals.")
    assert matches("The board is called checkout-golden.", known, KEY)
    assert matches("The board is called checkout-signals.", known, KEY)
    assert not matches("The board is called checkout-errors.", known, KEY)


def test_nothing_readable_is_kept() -> None:
    """Six bytes a term, and nothing is recognised without the key."""
    known, terms = fingerprint([LOCKER], KEY)
    assert len(known) == 1 + 6 * terms
    assert b"locker" not in known
    assert not matches(LOCKER, known, b"another key")


def test_a_person_brings_it_back_but_not_the_turn_it_came_from() -> None:
    """`remember` in a new turn or by hand counts; the old turn extracted again does not, whatever its words."""
    stone = Tombstone(blob(LOCKER), frozenset({"p1"}))
    assert blocks(Candidate(content=LOCKER, prompt_id="p2"), [stone], KEY)
    assert not blocks(Candidate(content=LOCKER, prompt_id="p2", explicit=True), [stone], KEY)
    assert not blocks(Candidate(content=LOCKER, explicit=True), [stone], KEY)
    assert blocks(Candidate(content=LOCKER, prompt_id="p1", explicit=True), [stone], KEY)
    assert blocks(Candidate(content="The locker in corridor B belongs to them", prompt_id="p1"), [stone], KEY)
    assert not blocks(Candidate(content="The bike stands in the cellar", prompt_id="p1"), [stone], KEY)


def test_an_empty_or_endless_text_is_no_trouble() -> None:
    """Neither to keep nor to compare."""
    assert fingerprint(["", "..."], KEY) == (b"", 0)
    assert not matches("", blob(LOCKER), KEY)
    long = " ".join(f"word{number}" for number in range(2000))
    assert len(blob(long)) == 1 + 6 * 255
