"""Other programs' memories: through the same line, marked as imported, and never over the person's own word."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from conftest import Home, failed, memory
from recalld.cli import foreign_file


def write(home: Home, data: Any, name: str = "x.json") -> str:
    path = home.root / name
    path.write_text(json.dumps(data))
    return str(path)


MEM0 = {"results": [
    {"id": "1", "memory": "Name is Ada", "created_at": "2025-04-01T10:00:00-07:00", "categories": ["personal"]},
    {"id": "2", "memory": "Lives in Lyon", "created_at": "2025-04-02T10:00:00Z", "metadata": {}},
]}  # fmt: skip
MEMTETHER = {"schema_name": "memtether.memory_exchange", "schema_version": 1, "facts": [
    {"uid": "a", "content": "The user wants dark themes everywhere.", "type": "preference", "scope": "shared",
     "recorded_at": "2026-01-02 10:00:00", "tags": "ui,theme", "confidence": 0.8},
    {"uid": "b", "content": "The API listens on port 8080.", "type": "environment", "scope": "project:shop",
     "recorded_at": "2026-01-02T10:00:00"},
    {"uid": "c", "content": "The API listens on port 7070.", "status": "superseded", "scope": "project:shop"},
    {"uid": "d", "content": "The other one sells coffee.", "scope": "project:nowhere"},
]}  # fmt: skip


def claude_mem(home: Home) -> str:
    path = home.root / "claude-mem.db"
    with sqlite3.connect(path) as db:
        db.execute("create table observations (id integer primary key, memory_session_id text, project text, text text, "
                   "type text, title text, facts text, created_at text, created_at_epoch integer)")  # fmt: skip
        rows = [
            ("shop", "decision", "Chose Redis", json.dumps(["Carts are kept in Redis.", "Carts expire after 3 days."])),
            ("shop", "bugfix", "The importer failed on empty files.", None),
            ("shop", "feature", "Added a button", json.dumps(["A button was added."])),
            ("elsewhere", "discovery", "x", json.dumps(["Logs go to Loki."])),
        ]
        db.executemany("insert into observations (project, type, title, facts, created_at_epoch) "
                       "values (?, ?, ?, ?, 1767348000000)", rows)  # fmt: skip
    db.close()
    return str(path)


def contents(home: Home, *options: str) -> dict[str, Any]:
    return {row["content"]: row for row in home.json("list", *options)}


@pytest.mark.parametrize("served", [True, False])
def test_each_program_is_understood(home: Home, served: bool) -> None:
    """A dry run stores nothing; a second run adds nothing; origin, source and time are kept."""
    running = home.start_daemon() if served else None
    memory(home, "The shop sells tea.")
    mem0, tether, mem = write(home, MEM0), write(home, MEMTETHER, "y.json"), claude_mem(home)
    assert home.json("import", mem0, "--dry-run")["added"] == 2
    assert set(contents(home)) == {"The shop sells tea."}
    assert home.json("import", mem0) == {"dry_run": False, "source": "mem0", "added": 2, "pending": 0, "updated": 0,
                                         "known": 0, "left_out": {}}  # fmt: skip
    done = home.json("import", tether)
    assert (done["added"], done["pending"]) == (2, 1)
    assert done["left_out"] == {"no project nowhere is known here": 1}
    done = home.json("import", mem)
    assert (done["added"], done["left_out"]) == (3, {"no project elsewhere is known here": 1})
    rows = contents(home)
    assert (rows["Lives in Lyon"]["scope"], rows["Lives in Lyon"]["last_seen"]) == ("user", "2025-04-02T10:00:00.000Z")
    assert rows["The API listens on port 8080."]["project"] == "shop"
    assert rows["Carts expire after 3 days."]["type"] == "decision"
    assert {row["origin"] for row in rows.values()} == {"user", "import"}
    assert {row["source"] for row in rows.values()} == {"cli", "mem0", "memtether", "claude-mem"}
    assert [row["content"] for row in home.json("inbox")] == ["The user wants dark themes everywhere."]
    for file in (mem0, tether, mem):
        assert home.json("import", file)["added"] == 0
    if running:
        running.stop()


def test_what_was_deleted_here_stays_deleted(home: Home) -> None:
    file = write(home, MEM0)
    home.json("import", file)
    home.json("delete", contents(home)["Lives in Lyon"]["id"])
    assert home.json("import", file)["left_out"] == {"deleted here": 1}


def test_the_persons_own_word_wins(home: Home) -> None:
    """An import neither replaces nor contradicts a decision of the person's."""
    own = memory(home, "The API listens on port 9090.", "--type", "decision")
    home.json("import", write(home, MEMTETHER))
    assert home.json("show", own)["status"] == "active"
    assert home.json("conflicts") == []


@pytest.mark.parametrize(
    "data", [{"results": [{"id": 1}]}, {"results": ["x"]}, {"schema_name": "memtether.memory_exchange", "facts": [{}]},
             {"schema_name": "memtether.memory_exchange"}]
)  # fmt: skip
def test_a_broken_file_is_refused_whole(home: Home, data: Any) -> None:
    assert "recalld: " in failed(home.run("import", write(home, data)))


def test_a_database_of_something_else_is_refused(home: Home) -> None:
    path = home.root / "x.db"
    with sqlite3.connect(path) as db:
        db.execute("create table t (x)")
    db.close()
    assert "not a database of claude-mem" in failed(home.run("import", str(path)))


def test_our_own_export_is_not_taken_for_anothers(home: Home, tmp_path: Path) -> None:
    memory(home, "The shop sells tea.")
    for form in ("json", "jsonl"):
        file = tmp_path / f"e.{form}"
        home.json("export", "--format", form, "--output", str(file))
        assert foreign_file.read(file) is None
