"""What a prompt asks for: the person's words, without the noise; nothing where they only go on."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from recalld import query, segment

NOW = datetime(2026, 5, 6, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "prompt",
    ["continue", "yes do it", "k", "ok thanks!", "go on", "nice, commit it", "lgtm 👍", "proceed", "", "   \n", "...",
     "继续", "好的", "谢谢！", "嗯", "好的，就这样", "weiter", "はい、続けて", "はい", "y"],
)  # fmt: skip
def test_prompts_that_only_go_on_ask_for_nothing(prompt: str) -> None:
    assert query.build(prompt).silent


@pytest.mark.parametrize(
    "prompt", ["deploy it", "fix the login", "部署一下", "commit the migration", "why", "1.0", "C++"]
)
def test_short_prompts_with_a_subject_do_ask(prompt: str) -> None:
    assert not query.build(prompt).silent or prompt == "why"


def test_where_a_prompt_says_nothing_the_last_turn_speaks() -> None:
    asked = query.build("continue", "add a retry to the payment webhook\nDone: it retries three times.")
    assert {"retry", "payment", "webhook"} <= asked.words.keys()
    assert query.build("fix the login", "add a retry to the payment webhook").words.keys() == {"fix", "login"}


def test_the_words_of_a_question_about_the_state_of_work_are_not_looked_for() -> None:
    asked = query.build("where did we stop with the fx import?")
    assert asked.status
    assert asked.words.keys() == {"fx", "import"}
    assert query.build("上次做到哪了").status
    assert not query.build("where did we stop?").silent


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("the build fails with a missing key", "trouble"),
        ("支付回调报错了", "trouble"),
        ("add a column to orders", "change"),
        ("please write tests for the parser", "change"),
        ("给设置页加一个开关", "change"),
        ("what's the difference between map and flatMap", "general"),
        ("explain mutexes", "general"),
        ("这个正则什么意思", "general"),
    ],
)
def test_kinds_of_prompts(prompt: str, kind: str) -> None:
    asked = query.build(prompt)
    assert [name for name in ("status", "trouble", "change", "general") if getattr(asked, name)] == [kind]


def test_frames_of_other_peoples_code_and_what_is_of_one_run_are_left_out() -> None:
    trace = """cron died tonight
Traceback (most recent call last):
  File "/app/.venv/lib/python3.12/site-packages/django/core/base.py", line 413, in run_from_argv
  File "/app/ledger/import_statements.py", line 57, in handle
UnicodeDecodeError: invalid start byte, request 9f8c2b7e1a34, id 550e8400-e29b-41d4-a716-446655440000
2026-05-01T03:15:00Z job finished"""
    words = query.build(trace).words
    assert words["cron"] == words["died"] == 1.0
    assert words["ledger"] == query.PASTED
    assert "unicodedecodeerror" in words
    assert not {"django", "run", "argv", "9f8c2b7e1a34", "550e8400", "2026"} & words.keys()


def test_words_count_by_where_they_stand() -> None:
    asked = query.inside(query.build("kiln: rename --size in src/core/tile.rs of kilnctl"), ["kiln-fw"])
    assert asked.words["kiln"] == asked.words["kilnctl"] == query.NAME
    assert asked.words["rename"] == 1.0
    assert asked.words["core"] == asked.words["flag"] == query.IN_PATH
    assert query.build("订单的金额").words["单的"] == query.SLIGHT
    assert query.build("订单的金额").words["订单"] == 1.0


def test_the_time_of_a_question() -> None:
    """Days are those of the zone that one lives in, wherever that is."""
    yesterday = query.build("what did we do yesterday", "", NOW)
    today = NOW.astimezone().date()
    assert (yesterday.since, yesterday.until) == tuple(
        datetime.combine(day, datetime.min.time()).astimezone(UTC) for day in (today - timedelta(days=1), today)
    )
    monday = datetime.combine(today - timedelta(days=today.weekday() + 7), datetime.min.time())
    assert query.build("上周做到哪了", "", NOW).since == monday.astimezone(UTC)
    assert query.build("deploy it", "", NOW).since is None


@pytest.mark.parametrize(
    "prompt",
    ["word " * 20_000, "x" * 100_000, "a  b" * 25_000, "((((" * 25_000, "/a" * 50_000, "部署" * 50_000, "a-" * 50_000,
     "\x1b[0m" * 20_000, "at " + "(" * 100_000, "0" * 100_000, "\u0000" * 100_000, "ﷺ" * 30_000, "🦀" * 50_000],
)  # fmt: skip
def test_a_prompt_of_any_size_costs_little(prompt: str) -> None:
    """100 KB of anything take a few milliseconds, and ask for a bounded number of words."""
    begun = time.thread_time()
    asked = query.build(prompt)
    assert time.thread_time() - begun < 0.25
    assert len(asked.words) <= query.MAX_WORDS
    assert len(asked.text) <= query.MAX_VECTOR_CHARS + 1


def test_the_wish_before_and_after_a_long_paste_counts() -> None:
    paste = "\n".join(f"row {i}  value  {i * 7}" for i in range(5_000))
    asked = query.build(f"why is the export slow\n{paste}\nuse the warehouse")
    assert {"export", "warehouse"} <= asked.words.keys()
    assert asked.words["export"] == 1.0


def test_any_prompt_can_be_asked() -> None:
    for prompt in ('C++ "foo" AND -bar: *', "\ud800", "NEAR(a b)", "{}[]", "'; --"):
        assert segment.match(list(query.build(prompt).words)).count('"') % 2 == 0
