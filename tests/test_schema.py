"""Databases of earlier versions, half-made ones, and of later ones: what an up- and a downgrade meet."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import PACKAGE, Home, command, failed
from make_schema_fixture import FOLDER, SENTENCES, make, rows, tables
from recalld.store import migrate as migration
from recalld.store.connection import open_writer
from recalld.store.migrate import migrate, scripts

FIXTURES = sorted(FOLDER.glob("*.db.gz"))
UNIT = PACKAGE.parent / "systemd" / "recalld.service"
BROKEN = "create table extra (x); insert into nowhere values (1);"
# A daemon whose newest migration fails: what a release that was tested too little would be.
WITH_BROKEN = f"""
import sys
from recalld.store import migrate
known = migrate.scripts()
migrate.scripts = lambda: (*known, {BROKEN!r})
from recalld.cli.main import main
sys.exit(main(sys.argv[sys.argv.index("recalld") + 1:]))
"""


def unpack(fixture: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.decompress(fixture.read_bytes()))
    return target


def schema(path: Path) -> dict[str, tuple[Any, ...]]:
    """Of the database, without the tables of partitions: what each part was made by, in one spelling; and the version."""
    with sqlite3.connect(path) as db:
        found = db.execute("select type, name, tbl_name, sql from sqlite_schema where sql is not null").fetchall()
        version = db.execute("pragma user_version").fetchall()
    db.close()
    own = [part for part in found if not re.match(r"(fts|df|vec|sig)_|sqlite_", part[2])]
    return {name: (kind, table, " ".join(sql.split())) for kind, name, table, sql in own} | {"version": tuple(version)}


def brought_up(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows after today's program has opened the database."""
    db = open_writer(path)
    assert migrate(db, path.parent) == len(scripts())
    held = rows(db)
    db.close()
    return held


def held(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    db = apsw.Connection(str(path))
    found = rows(db)
    db.close()
    return found


@pytest.fixture
def fresh(tmp_path: Path) -> dict[str, tuple[Any, ...]]:
    """The schema that today's program makes in an empty file."""
    path = tmp_path / "fresh.db"
    db = open_writer(path)
    migrate(db, tmp_path)
    db.close()
    return schema(path)


def test_there_is_a_fixture_of_every_released_version(tmp_path: Path) -> None:
    """The first ones; whoever releases a version adds its own. It can still be made, with rows in every table."""
    assert [int(path.name[:4]) for path in FIXTURES] == list(range(1, len(FIXTURES) + 1))
    assert 1 <= len(FIXTURES) <= len(scripts())
    make(tmp_path / "now.db.gz")
    assert all(held(unpack(tmp_path / "now.db.gz", tmp_path / "now.db")).values())


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.name[:4])
def test_an_older_database_is_brought_up_and_keeps_its_rows(fixture: Path, tmp_path: Path, fresh: Any) -> None:
    """B91: the schema is that of a fresh one, each table holds what it held, and a copy from before is kept."""
    path = unpack(fixture, tmp_path / "memories.db")
    before = held(path)
    after = brought_up(path)
    assert schema(path) == fresh
    for table, old in before.items():
        # A column that was added stands behind those there were.
        assert [row[: len(old[0])] for row in after[table]] == old, table
    number = int(fixture.name[:4])
    copies = list(tmp_path.glob(f"before-schema-*-from-{number}.db"))
    assert len(copies) == (number < len(scripts()))
    assert all(held(copy) == before for copy in copies)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.name[:4])
def test_a_daemon_works_on_an_older_database(fixture: Path, home: Home) -> None:
    """It is ready, finds what was stored by words and by meaning, follows what waited, and stores more."""
    unpack(fixture, home.paths.database)
    home.recalld.chmod(0o700)
    running = home.start_daemon()
    known = {row["content"]: row for row in home.client.call("list", project="all", status="all")}
    assert {*SENTENCES[1:], "The orders service listens on port 8081."} <= known.keys()
    assert known[SENTENCES[3]]["type"] == "lesson"
    found = home.client.call("search", query="which database has the orders 订单", project="shop")
    assert found[0]["memory"]["content"] == SENTENCES[2]
    home.json("add", "The shop sells tea.")
    assert home.client.call("status")["healthy"]
    running.stop()
    assert home.run("doctor").returncode in (0, 1)


@pytest.mark.parametrize("fixture", [path for path in FIXTURES if int(path.name[:4]) < len(scripts())])
def test_a_half_applied_migration_is_finished(fixture: Path, tmp_path: Path, fresh: Any) -> None:
    """B91: whatever tool ran a part of the next script, the version still being the old one."""
    path = unpack(fixture, tmp_path / "memories.db")
    before = held(path)
    db = apsw.Connection(str(path))
    statement = re.sub(r"--[^\n]*", "", scripts()[int(fixture.name[:4])]).split(";")[0]
    db.execute(statement)
    db.close()
    after = brought_up(path)
    assert schema(path) == fresh
    del before["meta"], after["meta"]  # where the owner is told of it
    assert {table: len(after[table]) for table in before} == {table: len(found) for table, found in before.items()}


def test_a_migration_that_fails_leaves_the_database_as_it_was(home: Home) -> None:
    """B91: neither daemon nor command does half of it; a line names the file, a copy is kept, and yesterday's program works."""
    unpack(FIXTURES[-1], home.paths.database)
    home.recalld.chmod(0o700)
    home.json("list", "--project", "all")  # today's schema, whatever the fixture's
    before, made = held(home.paths.database), schema(home.paths.database)
    for words in (["run"], ["list"]):
        done = subprocess.run(
            [sys.executable, "-c", WITH_BROKEN, "recalld", *words], env=home.environ, cwd=home.project,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == (78 if words == ["run"] else 1)
        assert (done.stdout, done.stderr.count("\n")) == ("", 1), done.stderr
        assert f"{home.paths.database}: cannot be brought from schema" in done.stderr
        assert len(list(home.paths.backups.glob("before-schema-*.db"))) >= 1
        assert "Traceback" not in done.stderr
    assert schema(home.paths.database) == made
    assert held(home.paths.database) == before
    running = home.start_daemon()
    assert home.client.call("status")["healthy"]
    running.stop()


def test_hooks_say_nothing_of_a_newer_database_and_change_nothing(home: Home) -> None:
    """The daemon that they start ends with the code that no service manager starts again; its line is in the log."""
    home.json("add", "The shop sells tea.")
    with sqlite3.connect(home.paths.database) as db:
        db.execute(f"pragma user_version = {len(scripts()) + 1}")
    db.close()
    before = home.paths.database.read_bytes()
    for event, name in (("session-start", "SessionStart"), ("prompt", "UserPromptSubmit"), ("stop", "Stop")):
        payload = {"session_id": "s1", "cwd": str(home.project), "hook_event_name": name, "source": "startup"}
        done = subprocess.run(
            [sys.executable, "-I", "-S", PACKAGE.parent / "hooks" / "hook.py", event, home.paths.socket, *command("run")],
            input=json.dumps(payload | {"prompt": "Hi", "prompt_id": "p1"}).encode(), env=home.environ,
            cwd=home.project, capture_output=True, timeout=30, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    line = failed(home.run("run"), 78)
    assert line.count("\n") == 1
    assert f"schema {len(scripts()) + 1}" in line
    assert "RestartPreventExitStatus=78" in UNIT.read_text()
    assert home.paths.database.read_bytes() == before
    with sqlite3.connect(home.paths.database) as db:
        db.execute(f"pragma user_version = {len(scripts())}")
    db.close()


def test_what_is_kept_of_the_fixture_names_every_table() -> None:
    """`rows` leaves out what belongs to a partition only."""
    db = apsw.Connection(":memory:")
    for script in scripts():
        db.execute(script)
    assert {"memories", "turns", "jobs", "history", "tombstones", "vectors", "usage", "meta"} <= set(tables(db))
    db.close()
    assert migration.scripts() == scripts()
