"""Export and import: nothing is lost, nothing comes twice or back from the dead, nothing broken gets in."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from claude_client import until
from conftest import Daemon, Home, command, failed, memory

TABLES = {
    "memories": "select * from memories order by id",
    "history": "select memory, version, action, actor, content, type, status, at from history order by memory, history_id",
    "sources": "select * from memory_sources order by 1, 2",
    "related": "select * from related order by 1, 2",
    "conflicts": "select older, newer, opened_at, settled_at, kept from conflicts order by 1, 2",
    "questions": "select * from questions order by 1",
    "tombstones": "select * from tombstones order by 1",
    "identities": "select * from project_identities order by 1",
    "places": "select * from project_places order by 1",
    "key": "select value from meta where key = 'secret'",
}


def lived(home: Home) -> dict[str, str]:
    """A store in which everything was done that can be done with a memory; its ids by a word of theirs."""
    running = home.start_daemon()  # many commands are quicker with one
    other = home.root / "work" / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    ids = {
        "tea": memory(home, "The shop sells tea.", "--tag", "area:sales", "--pin"),
        "port": memory(home, "The API listens on port 8080."),
        "other-port": memory(home, "The API listens on port 9090."),
        "user": memory(home, "数据库使用 PostgreSQL，端口 5432。", "--scope", "user", "--type", "preference"),
        "gone": memory(home, "Deploys run on Fridays."),
        "old": memory(home, "Invoices are PDF files.", "--expires", "900d"),
        "pending": memory(home, "Logs go to Loki."),
        "coffee": str(home.json("add", "The other one sells coffee.", cwd=other)["id"]),
        "team": memory(home, "Reviews need two people.", "--scope", "org"),
        "first": memory(home, "Carts are kept in Redis."),
        "second": memory(home, "Queues are built on Kafka."),
        "third": memory(home, "Mails are sent by Postmark."),
        "secret": memory(home, "The office door has a blue handle."),
    }
    home.json("edit", ids["tea"], "The shop sells green tea.")
    home.json("delete", ids["gone"])
    home.json("archive", ids["old"])
    with sqlite3.connect(home.paths.database) as db:
        db.execute("update memories set status = 'pending' where id = ?", (ids["pending"],))
        db.execute("insert or ignore into conflicts (older, newer, opened_at) values (?, ?, '2026-01-01T00:00:00.000Z')",
                   (ids["port"], ids["other-port"]))  # fmt: skip
        db.execute("insert into related values (?, ?)", tuple(sorted((ids["tea"], ids["user"]))))
        db.execute("insert into memory_sources values (?, 'prompt-1', '2026-01-01T00:00:00.000Z')", (ids["tea"],))
        db.execute("insert into questions values (?, '2026-01-01T00:00:00.000Z')", (ids["pending"],))
        for old, new in (("first", "second"), ("second", "third")):
            db.execute(
                "update memories set status = 'superseded', superseded_by = ? where id = ?", (ids[new], ids[old])
            )
        db.execute("update memories set local_only = 1, useful_count = -2, hit_count = 3, aliases = '[\"door\", \"门\"]', "
                   "last_used = '2026-02-01T00:00:00.000Z', confidence = 0.5 where id = ?", (ids["secret"],))  # fmt: skip
    db.close()
    (conflict,) = home.json("conflicts")
    home.json("resolve", str(conflict["conflict_id"]), "--keep", "B")
    running.stop()
    return ids


def rows(home: Home) -> dict[str, list[Any]]:
    """All that an export is about, without numbers that belong to one database."""
    with sqlite3.connect(home.paths.database) as db:
        db.row_factory = sqlite3.Row
        found = {name: [dict(row) for row in db.execute(query)] for name, query in TABLES.items()}
        names = dict(db.execute("select project_id, name from projects").fetchall())
    db.close()
    for row in (row for part in found.values() for row in part):
        row.pop("seq", None)
        if "project_id" in row:
            row["project_id"] = names.get(row["project_id"])
    return found


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Home) -> Home:
    """A second, empty home on the same machine, with the first one's folders for projects."""
    (tmp_path / "second").mkdir()
    made = Home(tmp_path / "second")
    made.project = home.project
    return made


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_nothing_is_lost_on_the_way(home: Home, elsewhere: Home, form: str) -> None:
    """Export, import into an empty home, export: the same rows and the same file; once more adds nothing."""
    ids = lived(home)
    file = home.root / f"first.{form}"
    assert home.json("export", "--format", form, "--output", str(file))["memories"] == len(ids)
    assert file.stat().st_mode & 0o777 == 0o600
    dry = elsewhere.json("import", str(file), "--dry-run")
    assert (dry["added"], dry["projects"], dry["dry_run"]) == (len(ids), 2, True)
    assert {item["outcome"] for item in dry["items"]} == {"added"}
    assert elsewhere.json("list", "--project", "all", "--status", "all") == []
    assert elsewhere.json("import", str(file)) == {
        "dry_run": False, "added": len(ids), "updated": 0, "known": 0, "deleted_here": 0, "projects": 2,
    }  # fmt: skip
    assert rows(elsewhere) == rows(home)
    again = elsewhere.json("import", str(file))
    assert (again["added"], again["known"], again["projects"]) == (0, len(ids), 0)
    assert rows(elsewhere) == rows(home)
    second = home.root / f"second.{form}"
    elsewhere.json("export", "--format", form, "--output", str(second))
    stamp = re.compile(r'"exported_at": "[^"]*"')
    assert stamp.sub("", second.read_text()) == stamp.sub("", file.read_text())
    assert ids["tea"] in elsewhere.run("search", "green tea", "--json").stdout


def test_the_daemon_and_the_database_itself_export_the_same(home: Home) -> None:
    """And take in the same."""
    ids = lived(home)
    stamp = re.compile(r'"exported_at": "[^"]*"')
    alone = stamp.sub("", home.run("export").stdout)
    running = home.start_daemon()
    assert stamp.sub("", home.run("export").stdout) == alone
    file = home.root / "x.json"
    file.write_text(home.run("export").stdout)
    before = rows(home)
    assert home.json("import", str(file))["known"] == len(ids)
    assert rows(home) == before
    running.stop()


def test_the_file_is_what_the_contract_says(home: Home) -> None:
    """One JSON object with format, version and memories, each as `show --json` has it."""
    ids = lived(home)
    whole = json.loads(home.run("export").stdout)
    assert (whole["format"], whole["version"]) == ("recalld", 1)
    by_id = {row["id"]: row for row in whole["memories"]}
    assert by_id.keys() == set(ids.values())
    assert by_id[ids["tea"]].items() >= home.json("show", ids["tea"]).items()
    lines = home.run("export", "--format", "jsonl").stdout.splitlines()
    assert json.loads(lines[0])["format"] == "recalld"
    assert sum("memory" in json.loads(line) for line in lines) == len(ids)
    only = json.loads(home.run("export", "--project", "other").stdout)
    assert {row["id"] for row in only["memories"]} == {ids["coffee"], ids["user"], ids["team"]}
    assert json.loads(home.run("export", "--project", "all").stdout)["memories"] == whole["memories"]


def test_a_terminal_of_another_alphabet_gets_valid_json(home: Home) -> None:
    """Characters beyond ASCII are written as JSON does it."""
    memory(home, "标签 😀 tea")
    done = home.run("export", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert json.loads(done.stdout)["memories"][0]["content"] == "标签 😀 tea"
    assert done.stdout.isascii()


def test_markdown_is_for_reading(home: Home) -> None:
    """What is in force, by project and type; nothing in it ends a line or opens a tag."""
    lived(home)
    memory(home, "Use <b>bold</b> *stars*.")
    shown = home.run("export", "--format", "markdown").stdout
    assert "## shop" in shown
    assert "### preference" in shown
    assert r"Use \<b\>bold\</b\> \*stars\*." in shown
    assert "Fridays" not in shown
    assert "Invoices" not in shown


def test_what_was_deleted_here_does_not_come_back(home: Home, elsewhere: Home) -> None:
    """B81: by its id where it was deleted; by its words where the file has them under another id."""
    ids = lived(home)
    file = home.root / "x.json"
    home.json("export", "--output", str(file))
    home.json("delete", ids["coffee"])
    done = home.json("import", str(file))
    assert (done["added"], done["deleted_here"]) == (0, 1)
    assert home.json("show", ids["coffee"])["content"] == ""
    same = memory(elsewhere, "The API listens on port 9090.", "--scope", "user")
    elsewhere.json("delete", same)
    done = elsewhere.json("import", str(file))
    assert done["deleted_here"] >= 1
    assert "9090" not in json.dumps(elsewhere.json("list", "--project", "all"))


def test_a_later_version_brings_a_memory_up_to_date(home: Home, elsewhere: Home) -> None:
    """An earlier one does not set it back."""
    ids = lived(home)
    old, new = home.root / "old.json", home.root / "new.json"
    home.json("export", "--output", str(old))
    home.json("edit", ids["coffee"], "The other one sells espresso.")
    home.json("export", "--output", str(new))
    elsewhere.json("import", str(old))
    assert elsewhere.json("import", str(new))["updated"] == 1
    assert elsewhere.json("show", ids["coffee"])["content"] == "The other one sells espresso."
    assert elsewhere.json("import", str(old))["updated"] == 0
    assert elsewhere.json("show", ids["coffee"])["content"] == "The other one sells espresso."


def test_secrets_in_a_file_are_masked(home: Home, elsewhere: Home) -> None:
    """In the history, too."""
    memory(home, "The shop sells tea.")
    key = "AKIA" + "IOSFODNN7EXAMPL3"
    file = home.root / "x.json"
    file.write_text(home.run("export").stdout.replace("sells tea", f"has the key {key} for S3"))
    elsewhere.json("import", str(file))
    assert key not in elsewhere.run("export").stdout
    assert "has the key" in elsewhere.run("export").stdout


Harm = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda m: m.update(id="m-xyz"), "is no memory id"),
        (lambda m: m.update(content=""), "a deleted memory has no text"),
        (lambda m: m.update(content="x" * 5000), "at most 4000"),
        (lambda m: m.update(confidence=7), "from 0 to 1"),
        (lambda m: m.update(version=-3), "not negative"),
        (lambda m: m.update(hit_count=1 << 40), "not negative"),
        (lambda m: m.update(last_seen="yesterday"), "is no time"),
        (lambda m: m.update(last_seen="2026-99-99T00:00:00.000Z"), "is no time"),
        (lambda m: m.update(type="joke"), "joke"),
        (lambda m: m.update(tags="x"), "array"),
        (lambda m: m.update(project_ref=99), "no project 99"),
        (lambda m: m.update(scope="user"), "project_ref"),
        (lambda m: m.pop("created_at"), "created_at"),
        (lambda m: m.update(source="s" * 2000), "too long"),
        (lambda m: m.update(history=[{"version": 1}]), "action"),
        (lambda m: m.update(superseded_by="../../etc"), "superseded_by"),
        (lambda m: m.update(superseded_by=m["id"]), "takes its own place"),
        (lambda m: m.update(content="tea\0leaves"), "NUL"),
        (lambda m: m.update(tags=["area\0x"]), "NUL"),
        (lambda m: m.update(content="tea \\ud800 leaves"), "half a character"),
        (lambda m: m.update(content="tea \\udc00 leaves"), "half a character"),
        (lambda m: m.update(colour="green"), "unknown field `colour`"),
        (lambda m: m.update(id=f"m-{0:020x}"), "stands twice"),
        (lambda m: m.update(content="x" * 20_000_000), "at most 4000"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_hostile_file_is_refused_whole_and_the_line_named(home: Home, form: str, harm: Harm, why: str) -> None:
    """Not one of its good memories is taken in."""
    from recalld import export_file, export_text
    from recalld.errors import InputError

    head = {"format": "recalld", "version": 1, "exported_at": "2026-01-01T00:00:00.000Z"}
    at = "2026-01-01T00:00:00.000Z"
    project = {"ref": 1, "name": "shop", "created_at": at, "last_seen_at": at}
    good = [
        {"id": f"m-{number:020x}", "scope": "project", "project_ref": 1, "type": "fact", "content": f"Fact {number}.",
         "first_seen": at, "last_seen": at, "created_at": at, "updated_at": at}
        for number in range(3)
    ]  # fmt: skip
    harm(good[1])
    items = [("projects", project), *(("memories", item) for item in good)]
    shape = export_text.as_json if form == "json" else export_text.as_lines
    file = home.root / "x"
    lines = "\n".join(shape(head, iter(items))).split("\n")
    lines = [line.replace("\\\\ud", "\\ud") for line in lines]  # json.dumps has escaped the escape
    file.write_text("\n".join(lines))
    with pytest.raises(InputError, match=re.escape(why)) as raised:
        export_file.read(file)
    wanted = next(number for number, line in enumerate(lines, 1) if f'"m-{2:020x}"' in line) - 1
    assert str(raised.value).startswith(f"{file}:{wanted}: ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ":1: no valid JSON"),
        ('{"format": "recalld", "version": 1,\n "memories": [\n{"id": }]}', ":3: no valid JSON"),
        ('{"format": "mem0", "version": 1}', "the format is 'mem0'"),
        ('{"format": "recalld", "version": 99, "memories": []}', "reads up to 1"),
        ('{"memories": []}', "not an export of recalld"),
        ("[" * 1_000_000, "nested too deeply"),
        ('{"format": "recalld", "version": 1}\n' + '{"memory": ' * 1_000_000, ":2: "),
        ('{"format": "recalld", "version": 0, "memories": []}', "reads up to 1"),
        ('{"format": "recalld", "version": 1, "memories": [], "secrets": []}', "unknown field `secrets`"),
        ('{"format": "recalld", "version": 1,\n"memories": [{"id": "m-1', ":2: no valid JSON"),
        ('{"format": "recalld", "version": 1}\n{"memory": {}}\n{"nonsense": 1}', ":3: "),
        ('{"format": "recalld", "version": 1}\n\n{"memory": {"id": 3}}', ":3: "),
    ],
)  # fmt: skip
def test_what_is_no_export_is_refused(home: Home, text: str, why: str) -> None:
    """In one line, by the command itself."""
    file = home.root / "x"
    file.write_text(text)
    assert why in failed(home.run("import", str(file)))
    assert "No such file" in failed(home.run("import", str(home.root / "none")))


def test_bytes_that_are_no_text_are_refused(home: Home) -> None:
    file = home.root / "x"
    file.write_bytes(b'{"format": "recalld",\n"x": "\xff"}')
    assert ":2: not UTF-8" in failed(home.run("import", str(file)))


def test_the_daemon_checks_for_itself(home: Home, daemon: Daemon) -> None:
    """Whoever speaks to it past the command line gets no bad row in, either."""
    from recalld.errors import InputError

    at = "2026-01-01T00:00:00.000Z"
    bad = {"id": "m-1", "scope": "user", "type": "fact", "content": "x", "first_seen": at, "last_seen": at,
           "created_at": at, "updated_at": at}  # fmt: skip
    with pytest.raises(InputError, match="is no memory id"):
        home.client.call("import", head={"format": "recalld", "version": 1}, memories=[bad])


def test_a_circle_of_memories_is_refused(home: Home) -> None:
    """Each in the place of another of them; a chain is none."""
    from recalld import export_file
    from recalld.errors import InputError

    ids = lived(home)
    whole = json.loads(home.run("export").stdout)
    file = home.root / "x.json"
    file.write_text(json.dumps(whole))
    assert len(export_file.read(file).memories) == len(ids)
    for row in whole["memories"]:
        if row["id"] == ids["third"]:
            row["superseded_by"] = ids["first"]
    file.write_text(json.dumps(whole))
    with pytest.raises(InputError, match="goes in a circle"):
        export_file.read(file)
    running = home.start_daemon()
    with pytest.raises(InputError, match="goes in a circle"):
        home.client.call("import", **{name: whole[name] for name in ("projects", "memories", "conflicts")},
                         head={"format": "recalld", "version": 1})  # fmt: skip
    running.stop()


def test_only_a_file_is_read(home: Home) -> None:
    """Not a pipe, for which one might wait for ever, nor a folder, nor what is packed."""
    os.mkfifo(home.root / "pipe")
    packed = home.root / "x.json.gz"
    packed.write_bytes(gzip.compress(b'{"format": "recalld", "version": 1}'))
    for path, why in (
        (home.root / "pipe", "no regular file"),
        (home.project, "no regular file"),
        (packed, "not UTF-8"),
    ):
        assert why in failed(home.run("import", str(path)))


def test_the_schema_is_that_of_the_code(home: Home) -> None:
    """docs/export.schema.json is what the code says, and a real export fits it."""
    schema = json.loads((Path(__file__).resolve().parents[1] / "docs" / "export.schema.json").read_text())
    assert schema == json.loads(home.run("export", "--schema").stdout)
    lived(home)
    whole = json.loads(home.run("export").stdout)
    jsonschema.Draft202012Validator(schema).validate(whole)
    assert schema["$defs"]["File"]["properties"]["version"]["const"] == whole["version"]
    whole["memories"][0]["colour"] = "green"
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(whole))


@pytest.mark.parametrize("served", [True, False])
def test_an_import_that_is_killed_is_finished_by_the_next(home: Home, elsewhere: Home, served: bool) -> None:
    """kill -9 half way: what was taken stays, the second run adds the rest, and nothing stands twice."""
    at, count = "2026-01-01T00:00:00.000Z", 1_500
    rows = [
        {"id": f"m-{number:020x}", "scope": "user", "type": "fact", "content": f"The shelf {number} holds {number} tins.",
         "first_seen": at, "last_seen": at, "created_at": at, "updated_at": at, "related": [f"m-{number ^ 1:020x}"]}
        for number in range(count)
    ]  # fmt: skip
    file = home.root / "x.json"
    file.write_text(json.dumps({"format": "recalld", "version": 1, "memories": rows}))
    running = elsewhere.start_daemon() if served else None
    elsewhere.json("list")

    def stored(query: str = "count(*) from memories") -> tuple[int, ...]:
        with contextlib.closing(sqlite3.connect(elsewhere.paths.database)) as db:
            return tuple(db.execute(f"select {query}").fetchone())

    process = subprocess.Popen(command("import", str(file)), cwd=home.project, env=elsewhere.environ)
    until("the first part is stored", lambda: stored() > (0,))
    process.kill()
    process.wait()
    (taken,) = stored()
    assert 0 < taken < count
    again = elsewhere.json("import", str(file))
    assert again["added"] + again["known"] == count
    assert again["known"] >= taken
    assert stored("count(*), count(distinct content) from memories") == (count, count)
    assert stored("count(*) from related") == (count // 2,)
    assert stored("count(*) from changes") == (0,)
    assert elsewhere.json("import", str(file))["added"] == 0
    if running:
        running.stop()
