"""What is read out of a sentence."""

from __future__ import annotations

import pytest

from recalld.statement import Statement, parse


def texts(statement: Statement, place: str, *, positive: bool = True) -> str:
    """The atoms of one place and sign; Chinese characters of one run together."""
    found = [a for a in statement.atoms if (a.place == place) and a.positive is positive]
    parts: list[str] = []
    last = None
    for atom in found:
        if atom.kind == "han" and last == atom.run:
            parts[-1] += atom.text
        else:
            parts.append(atom.text)
        last = atom.run if atom.kind == "han" else None
    return " ".join(parts)


@pytest.mark.parametrize(
    ("sentence", "head", "said"),
    [
        ("The label printer listens on port 9100.", "label printer", "port 9100"),
        ("Remember that our label printer has two trays", "label printer", "2 tray"),
        ("We decided on Vue for the kiosk.", "", "vue kiosk"),
        ("Use tabs for indentation.", "", "tab indent"),
        ("The nightly import job needs Go 1.22.", "night import job", "go 1.22"),
        ("Kiosk language: French.", "kiosk languag", "french"),
        ("记住：订单号由数据库自增生成。", "订单号", "数据库自增生成"),
        ("报表每天早上 7:30 生成", "报表", "每天早上 7:30 生成"),
        ("消息队列统一改用 RocketMQ 了", "消息队列", "rocketmq"),
    ],
)
def test_subject_and_what_is_said(sentence: str, head: str, said: str) -> None:
    """Leads and filling words are out; the verb parts the two; an order has no subject."""
    statement = parse(sentence)
    assert (texts(statement, "head"), texts(statement, "tail")) == (head, said)


@pytest.mark.parametrize(
    ("sentence", "denied"),
    [
        ("Do not use tabs.", "tab"),
        ("The proxy listens on 8443, not 8080.", "8080"),
        ("Use Valkey instead of Redis for carts.", "redis"),
        ("We raised the limit from 500 to 900.", "500"),
        ("不要用 Lombok", "lombok"),
        ("上限从 20 改成 50 了", "20"),
        ("头像存 OSS，不放本地", "本地"),
    ],
)
def test_what_is_denied(sentence: str, denied: str) -> None:
    """Negation, contrast and the value that was before."""
    assert texts(parse(sentence), "tail", positive=False) == denied


def test_a_denial_at_the_end_of_a_clause_holds_for_the_clause() -> None:
    """ "The Solr plan is gone", "Solr 那套方案不要了"."""
    assert not any(atom.positive for atom in parse("The Solr plan is gone.").atoms)
    statement = parse("Solr 那套方案不要了，检索改用 OpenSearch。")
    assert {atom.text: atom.positive for atom in statement.atoms if atom.kind == "name"} == {
        "solr": False,
        "opensearch": True,
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("60 seconds", "one minute"),
        ("60s", "1 min"),
        ("2 hours", "120 minutes"),
        ("20MB", "20 mb"),
        ("1,500 rows", "1500 rows"),
        ("6 pm", "18:00"),
        ("6 am", "早上 6 点"),
        ("下午 3 点", "15:00"),
        ("三张表", "3 张表"),
        ("周四", "Thursdays"),
        ("two sentences", "2 sentences"),
    ],
)
def test_one_quantity_in_two_writings(one: str, other: str) -> None:
    """Units, number words, hours and days of the week."""
    values = [[a.text for a in parse(text).atoms if a.kind in {"number", "name"}] for text in (one, other)]
    assert values[0] == values[1] != []


def test_environments_and_platforms_stand_apart() -> None:
    """In both languages; "local time" is no environment."""
    assert parse("On staging the cache lives 10 s.").environments == {"staging"}
    assert parse("预发环境的缓存 10 秒过期").environments == {"staging"}
    assert parse("In production on Linux and macOS").platforms == {"linux", "mac"}
    assert not parse("Times are stored in local time.").environments


def test_names_that_are_common_words() -> None:
    """A capital in the middle of a sentence or quotes make a name of a word that else says nothing."""
    for sentence in ("The tool is written in Go.", 'Never write "just".'):
        assert [atom.kind for atom in parse(sentence).atoms][-1] == "name"


@pytest.mark.parametrize(
    ("sentence", "leaves_room"),
    [
        ("We use Redis.", True),
        ("The backend uses Redis.", True),
        ("后端用 Redis", True),
        ("We use Redis for sessions.", False),
        ("The message queue uses Kafka.", False),
        ("消息队列用 Kafka", False),
        ("The backend runs on Node.", False),
    ],
)
def test_whether_there_is_room_for_another(sentence: str, leaves_room: bool) -> None:
    """A backend may use many things, a role or a purpose has one."""
    assert parse(sentence).open is leaves_room
