"""`recalld init`: a project's background in a short talk."""

from __future__ import annotations

import json

import pytest

from conftest import Home, failed
from recalld.cli import init
from test_cli import on_terminal

ANSWERS = (
    "a web shop for tea\n" "\n"  # shown in a frame, taken
    "Python 3.12 and PostgreSQL 16\n" "It runs on Python 3.12.\n"  # better words
    "Tests use pytest. Branches are named feat/x.\n" "y\n" "n\n"  # one of two
    "\n"  # skipped
    "Answer briefly.\n" "y\n"
)  # fmt: skip


@pytest.mark.parametrize("served", [True, False])
def test_each_sentence_is_shown_and_confirmed(home: Home, served: bool) -> None:
    """With a daemon and without one, the same memories of the same types."""
    running = home.start_daemon() if served else None
    done = home.run("init", text=ANSWERS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "shop is a web shop for tea." in done.stdout
    assert "4 memories stored" in done.stdout
    rows = {row["content"]: (row["type"], row["scope"], row["origin"]) for row in home.json("list")}
    assert rows == {
        "shop is a web shop for tea.": ("fact", "project", "user"),
        "It runs on Python 3.12.": ("fact", "project", "user"),
        "Tests use pytest.": ("decision", "project", "user"),
        "Answer briefly.": ("preference", "user", "user"),
    }
    if running:
        running.stop()


def test_answers_alone_will_do_where_one_is_sure(home: Home) -> None:
    """--yes asks nothing back; --json prints what was stored, and the talk goes to stderr."""
    done = home.run("init", "--yes", "--json", text="a web shop for tea\n\n\n\nAnswer briefly.\n")
    assert [row["content"] for row in json.loads(done.stdout)] == ["shop is a web shop for tea.", "Answer briefly."]
    assert "What is this project?" in done.stderr


def test_who_leaves_in_the_middle_keeps_what_was_confirmed(home: Home) -> None:
    done = home.run("init", text="a web shop for tea\ny\nPython 3.12\n")
    assert done.returncode == 0
    assert [row["content"] for row in home.json("list")] == ["shop is a web shop for tea."]


def test_a_folder_that_is_no_project_is_refused(home: Home) -> None:
    assert "is no project" in failed(home.run("init", cwd=home.root / "user", text=ANSWERS))
    home.recalld.mkdir(exist_ok=True)
    (home.recalld / "config.toml").write_text('[projects]\nexclude = ["*/shop"]\n')
    assert "excluded" in failed(home.run("init", text=ANSWERS))


def test_it_is_a_talk_on_a_terminal(home: Home) -> None:
    shown = on_terminal(home, "init", typed="a web shop for tea\ny\n\n\n\n\n")
    assert "keep it? [Y/n, or better words]" in shown
    assert "1 memory stored" in shown


@pytest.mark.parametrize(
    ("number", "answer", "expected"),
    [
        (0, "a tea shop", ["shop is a tea shop."]),
        (0, "It sells tea. It sells cups.", ["It sells tea.", "It sells cups."]),
        (1, "Python 3.12, PostgreSQL 16", ["shop is built with Python 3.12, PostgreSQL 16."]),
        (1, "Go 1.22 语言", ["shop 使用 Go 1.22 语言。"]),
        (2, "提交用中文。分支叫 feat/x。", ["提交用中文。", "分支叫 feat/x。"]),
        (3, "", []),
    ],
)  # fmt: skip
def test_few_words_become_a_sentence_and_sentences_stay(number: int, answer: str, expected: list[str]) -> None:
    assert init.sentences(init.QUESTIONS[number], "shop", answer) == expected


def test_secrets_in_an_answer_are_masked(home: Home) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPL3"
    done = home.run("init", "--yes", text=f"A shop whose key is {key}.\n")
    assert key not in json.dumps(home.json("list"))
    assert done.returncode == 0
