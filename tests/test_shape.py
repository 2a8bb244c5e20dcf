"""A database of any schema, whole or not, becomes one of the present schema, with all its rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from conftest import Home, memory
from recalld.store.migrate import scripts
from test_faults_b import sql


def shape_of(path: Path) -> dict[str, list[str]]:
    """Tables with their columns, indexes and triggers: those that migrations make."""
    with sqlite3.connect(path) as db:
        # Those of a partition are made as memories come.
        names = db.execute("select name from sqlite_schema where sql is not null and name not glob '*_user*'")
        found = {name: [row[1] for row in db.execute(f"pragma table_info({name})")] for (name,) in names.fetchall()}
    db.close()
    return found


def old_database(path: Path, version: int) -> None:
    """What a recalld of that schema left: a project, a turn with its job, a memory that superseded another."""
    with sqlite3.connect(path) as db:
        for script in scripts()[:version]:
            db.executescript(script)
        db.executescript(f"""
            pragma user_version = {version};
            insert into projects values (1, 'shop', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
            insert into sessions (session_id, project_id, cwd, started_at, last_event_at) values
                ('s1', 1, '/', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
            insert into turns (prompt_id, session_id, project_id, prompt, state, started_at) values
                ('p1', 's1', 1, 'thanks', 'ended', '2026-01-01T00:00:00.000Z');
            insert into jobs (kind, key, state, not_before, created_at) values ('extract', 'p1', 'done', '', '');
            insert into memories (id, scope, project_id, type, content, source, origin, confidence, status, first_seen,
                last_seen, created_at, updated_at, superseded_by)
            values ('m-00000000000000000001', 'user', null, 'fact', 'The shop sells tea.', 'cli', 'user', 1, 'active',
                '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', '', '', null),
                ('m-00000000000000000002', 'user', null, 'fact', 'The shop sells soup.', 'cli', 'user', 1, 'superseded',
                '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', '', '', 'm-00000000000000000001');""")
    db.close()


def half_applied(script: str) -> str:
    """All of a script but its last statement."""
    return script[: script.rstrip().rstrip(";").rindex(";") + 1]


ALL = len(scripts())
FLAWS = {
    **{f"schema {version}": (version, "") for version in range(1, ALL + 1)},
    **{f"schema {version}, half of the next": (version, half_applied(scripts()[version])) for version in range(1, ALL)},
    "schema 1, a column of the next": (1, "create index memories_by_seen on memories (last_seen, id)"),
    "out of a dump, which has no version": (ALL, "pragma user_version = 0"),
    "a column removed": (ALL, "drop index injections_project; alter table jobs drop column last_error"),
    "a column of the memories removed": (
        ALL,
        "drop trigger hub_updated; drop trigger hub_moved; alter table memories drop column local_only",
    ),
    "a table removed": (ALL, "drop table feedback"),
    "triggers and an index removed": (ALL, "drop trigger memories_updated; drop index memories_pinned"),
}


@pytest.mark.parametrize(("version", "flaw"), FLAWS.values(), ids=FLAWS)
def test_a_database_of_any_schema_whole_or_not_is_brought_to_the_present_one(
    home: Home, tmp_path: Path, version: int, flaw: str
) -> None:
    """B91: its schema is that of a fresh one, its rows are all there, it serves; and a copy from before is kept."""
    home.paths.ensure()
    old_database(home.paths.database, version)
    sql(home, "select 1")
    with sqlite3.connect(home.paths.database) as db:
        db.executescript(flaw)
    db.close()
    running = home.start_daemon()
    fresh = tmp_path / "fresh.db"
    with sqlite3.connect(fresh) as db:
        for script in scripts():
            db.executescript(script)
    db.close()
    assert shape_of(home.paths.database) == shape_of(fresh)
    assert sql(home, "pragma user_version") == [(ALL,)]
    rows = {name: sql(home, f"select count(*) from {name}")[0][0] for name in ("memories", "turns", "jobs", "sessions")}
    assert rows == {"memories": 2, "turns": 1, "jobs": 1, "sessions": 1}
    assert sql(home, "pragma foreign_key_check") == []
    assert home.client.call("status")["healthy"]
    (found,) = home.client.call("search", query="what does the shop sell?", project="all")
    assert found["memory"]["content"] == "The shop sells tea."
    memory(home, "The shop sells coffee.")
    assert home.client.call("maintain")["repaired"] == []
    if version < ALL or flaw:
        assert len(list(home.paths.backups.glob("before-schema-*.db"))) == 1
    running.stop()


def test_a_schema_that_cannot_be_completed_gives_way_to_the_newest_backup(home: Home) -> None:
    """B91: and status says so."""
    memory(home, "The shop sells tea.")
    home.json("backup")
    sql(home, "drop trigger memories_deleted")
    sql(home, "alter table memories drop column source")
    running = home.start_daemon()
    assert [row["content"] for row in home.client.call("list", project="all")] == ["The shop sells tea."]
    assert "is in its place" in home.client.call("status")["rescued"]
    running.stop()
