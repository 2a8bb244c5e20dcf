"""The owner's commands, by the daemon and without it: the same answers, the same rows."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from conftest import Daemon, Home, failed, memory
from test_cli import served

__all__ = ["served"]

IDS = re.compile(r"m-[0-9a-f]{20}")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def life(home: Home) -> list[Any]:
    """Every command of the owner's, once and with its JSON answer; and the rows at the end."""
    other = home.project.parent / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    home.json("add", "Coffee is sold there.", cwd=other)
    older = memory(home, "The API listens on port 8080.")
    newer = memory(home, "The API listens on port 9090.")
    waiting = [memory(home, text) for text in ("Logs go to Loki.", "Invoices are PDF files.")]
    with sqlite3.connect(home.paths.database) as db:
        db.execute("insert or ignore into conflicts (older, newer, opened_at) values (?, ?, '2026-01-01T00:00:00.000Z')",
                   (older, newer))  # fmt: skip
        db.execute("update memories set status = 'pending' where id in (?, ?)", waiting)
    db.close()
    answers = [
        home.json("conflicts"),
        home.json("resolve", "1", "--keep", "B"),
        home.json("conflicts"),
        home.json("inbox"),
        home.json("confirm", waiting[0]),
        home.json("reject", waiting[1]),
        home.json("inbox", "--project", "all"),
        home.json("tag", newer, "area:api", "+env:dev"),
        home.json("tag", newer, "--remove", "env:dev"),
        home.json("tags"),
        home.json("tags", "rename", "area:api", "area:http"),
        home.json("archive", newer),
        home.json("restore", older),
        home.json("move", older, "--project", "other"),
        home.json("move", older, "--scope", "user"),
        home.json("history", older),
        home.json("stats", "--days", "7")["memories"],
        home.json("list", "--status", "all", "--project", "all"),
        home.json("export", "--project", "all"),
    ]
    with sqlite3.connect(home.paths.database) as db:
        tables = ("memories", "history", "conflicts", "related", "tombstones", "changes")
        rows = [db.execute(f"select * from {table}").fetchall() for table in tables]
        content = "memory, version, action, actor, content, type, status"
        rows[1] = db.execute(f"select {content} from history order by history_id").fetchall()
        rows[4] = [(row[0], row[2]) for row in rows[4]]  # the fingerprint is keyed anew in each store
    db.close()
    return [*answers, rows]


def told(home: Home, answers: list[Any]) -> str:
    """The answers without what no two stores share: ids, times, keys, folders."""
    text = json.dumps(answers, sort_keys=True).replace(str(home.root), "ROOT")
    names = {found: f"m{number}" for number, found in enumerate(dict.fromkeys(IDS.findall(text)))}
    text = IDS.sub(lambda match: names[match[0]], TIMES.sub("TIME", text))
    return re.sub(r'"(key|fingerprint|inode|first_commit)": ("[0-9a-f]*"|\d+|null)', "", text)


def test_socket_and_database_give_the_same_answers_and_leave_the_same_rows(home: Home, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = Home(tmp_path / "second")
    running = second.start_daemon()
    by_daemon = told(second, life(second))
    running.stop()
    assert told(home, life(home)) == by_daemon


def test_the_owner_is_told_what_happened_and_what_next(served: Home) -> None:
    """In words; with how to take it back."""
    older = memory(served, "The API listens on port 8080.")
    newer = memory(served, "The API listens on port 9090.", "--tag", "area:api")
    with sqlite3.connect(served.paths.database) as db:
        db.execute("insert or ignore into conflicts (older, newer, opened_at) values (?, ?, '2026-01-01T00:00:00.000Z')",
                   (older, newer))  # fmt: skip
    db.close()
    shown = served.run("conflicts").stdout
    assert re.search(r"A  The API listens on port 8080\. +B  The API listens on port 9090\.", shown)
    assert "recalld resolve NUMBER --keep A|B|both" in shown
    assert f"recalld restore {older[:8]}" in served.run("resolve", "#1", "--keep", "B").stdout
    assert "nothing contradicts" in served.run("conflicts").stdout
    assert "contradicts what took its place" in served.run("restore", older).stdout
    assert f"recalld restore {older[:8]}" in served.run("archive", older).stdout
    assert "nothing waits" in served.run("inbox").stdout
    assert "       1  area:api" in served.run("tags").stdout
    assert "area:api is area:http now, in 1 memory" in served.run("tags", "rename", "area:api", "area:http").stdout
    assert "tagged area:http, x" in served.run("tag", newer, "x").stdout
    assert "moved: The API listens on port 9090." in served.run("move", newer, "--scope", "user").stdout
    stats = served.run("stats").stdout
    assert "1 in force (1 fact)" in stats
    assert "not judged yet" in stats


def test_what_waits_is_answered_by_id(served: Home) -> None:
    ids = [memory(served, text) for text in ("Logs go to Loki.", "Invoices are PDF files.")]
    with sqlite3.connect(served.paths.database) as db:
        db.execute("update memories set status = 'pending'")
    db.close()
    shown = served.run("inbox").stdout
    assert "Logs go to Loki." in shown
    assert "recalld confirm ID... or recalld reject ID..." in shown
    assert "holds now: Logs go to Loki." in served.run("confirm", ids[0]).stdout
    assert "will not be proposed again: Invoices are PDF files." in served.run("reject", ids[1][:10]).stdout
    assert "does not wait" in failed(served.run("confirm", ids[0]))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["resolve", "7", "--keep", "A"], "no open conflict 7"),
        (["resolve", "9" * 23, "--keep", "A"], "is larger than any number here"),
        (["restore", "abcdef"], "no memory m-abcdef"),
        (["tag", "abcdef", "x"], "no memory m-abcdef"),
        (["tags", "rename", "a", "b"], "no memory here has the tag a"),
        (["move", "abcdef"], "say where to"),
        (["stats", "--project", "nowhere"], "no project 'nowhere'"),
        (["import", "a", "b"], "only goes with"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(home: Home, words: list[str], sentence: str) -> None:
    assert sentence in failed(home.run(*words))


@pytest.mark.parametrize(
    "words", [["resolve", "x", "--keep", "A"], ["resolve", "1"], ["resolve", "1", "--keep", "C"], ["confirm"], ["stats", "--days", "0"],
              ["export", "--format", "xml"], ["import"]]
)  # fmt: skip
def test_wrong_use_is_2(home: Home, words: list[str]) -> None:
    done = home.run(*words)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_dry_run_of_the_upkeep_shows_summaries(home: Home, daemon: Daemon) -> None:
    for number in range(12):
        memory(home, f"The queue number {number}{number} holds {100 + 7 * number} entries.", "--tag", "area:queues")
    with sqlite3.connect(home.paths.database) as db:
        old = "2026-01-01T00:00:00.000Z"
        db.execute("update memories set last_seen = ?, updated_at = ?", (old, old))
    db.close()
    shown = home.run("maintain", "--dry-run").stdout
    assert "12 memories about area:queues would be put into one summary" in shown
    assert len(home.json("list")) == 12
    assert len(home.json("maintain")["summaries"]) == 1
    assert len(home.json("list")) == 1
