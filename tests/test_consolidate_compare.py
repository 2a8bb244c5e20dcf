"""What two statements are to each other, and which memory a revocation means."""

from __future__ import annotations

from pathlib import Path

import pytest

from consolidate_book import memory
from recalld.consolidate.compare import compare
from recalld.consolidate.revocation import gives_up
from recalld.embed import BUILTIN, Embedder, load
from recalld.model import Memory, Type

TABLE = Path(__file__).parent / "data" / "statement_pairs.txt"
PAIRS = [tuple(part.strip() for part in line.split("|")) for line in TABLE.read_text("utf-8").splitlines()[1:]]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return load(BUILTIN, Path(tmp_path_factory.mktemp("models")))


@pytest.mark.parametrize(("expected", "older", "newer"), PAIRS)
def test_relation_of_two_statements(expected: str, older: str, newer: str, embedder: Embedder) -> None:
    """Numbers, names, signs and subjects decide; the table says how."""
    one, other = embedder.encode([older, newer])
    assert compare(newer, older, float(one @ other)).relation in expected.split("/")


@pytest.mark.parametrize(("_", "older", "__"), PAIRS)
def test_a_statement_is_the_same_as_itself(_: str, older: str, __: str) -> None:
    """Also with other capitals and marks."""
    assert compare(older.upper() + "!", older.upper()).relation == "same"
    assert compare(older, older).relation == "same"


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("The proxy listens on 8443, not 8080.", "The proxy listens on 8080."),
        ("Use Valkey instead of Redis for sessions.", "Use Redis for sessions."),
        ("We raised the row limit from 500 to 900.", "The row limit is 500."),
        ("订单上限从 20 改成 50 了", "订单上限是 20"),
    ],
)
def test_a_named_old_value_is_a_cue(newer: str, older: str) -> None:
    """Whoever names the old value and gives a new one says that the old one no longer holds."""
    assert compare(newer, older).cue


def test_environment_of_a_cue_must_be_the_same() -> None:
    """A change in production says nothing of staging."""
    newer = "In production we raised the row limit from 500 to 900."
    assert not compare(newer, "On staging the row limit is 500.").cue


STORED = [
    memory("m-0", "Sessions are kept in Redis."),
    memory("m-1", "Rate limits are counted in Redis."),
    memory("m-2", "Job states are polled every 10 seconds."),
    memory("m-3", "Lines have at most 100 characters."),
    memory("m-4", "Do not use inheritance in the models."),
    memory("m-5", "Redis loses its data on restart unless AOF is on, we lost a day of carts.", type=Type.LESSON),
    memory("m-6", "用户列表不做分页。"),
    memory("m-7", "消息推送用极光。"),
    memory("m-8", "The search index moved from Solr to Typesense."),
]


@pytest.mark.parametrize(
    ("revoked", "instead", "meant"),
    [
        ("the polling", "", ["m-2"]),
        ("polling", "Job states are pushed.", ["m-2"]),
        ("Redis for sessions", "", ["m-0"]),
        ("Redis", "Sessions are kept in signed cookies.", ["m-0"]),
        ("Redis", "", ["m-0", "m-1"]),
        ("the rule about 100 characters", "", ["m-3"]),
        ("the ban on inheritance", "", ["m-4"]),
        ("the 80 character rule", "", []),
        ("Kafka", "", []),
        ("极光推送", "消息推送走个推", ["m-7"]),
        ("不做分页那条", "", ["m-6"]),
        ("Solr", "", []),
        ("the rule", "", []),
    ],
)
def test_what_a_revocation_means(revoked: str, instead: str, meant: list[str]) -> None:
    """Only memories that assert nearly all of what is given up; lessons stay; what is unknown means nothing."""
    assert [found.id for found in gives_up(revoked, instead, STORED)] == meant


def test_every_statement_can_be_read() -> None:
    """Odd texts lead to no error and to no likeness."""
    odd: list[Memory] = [
        memory("m-0", text) for text in ("x", "???", "的", "3", "1.2.3.4", "'", "a" * 3000, "。。", "n't")
    ]
    assert [compare("The proxy listens on 8080.", m.content).relation for m in odd] == ["apart"] * len(odd)
    assert gives_up("n't", "", odd) == []
