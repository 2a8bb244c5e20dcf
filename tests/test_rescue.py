"""A damaged database and the way back: found, put aside whole, the most that can be had in its place, the owner told once."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from claude_client import until
from conftest import Daemon, Home, failed, memory
from recall_store import NOW as SHELVED
from recall_store import Shelf
from recalld import capture, maintain
from recalld.config import KeepConfig
from recalld.errors import DamagedError
from recalld.store import changes, deletions, memories, rescue, turns
from recalld.store.connection import fold, open_writer, transaction
from recalld.store.migrate import migrate

HOOK = Path(__file__).parents[1] / "hooks" / "hook.py"
NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
PAGE = 4096


def hook(home: Home, event: str, **payload: Any) -> dict[str, Any]:
    """The reply of a real hook; it must be back in a second, whatever the state of things."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-I", "-S", HOOK, event, home.paths.socket], capture_output=True, env=home.environ, timeout=20,
        input=json.dumps({"cwd": str(home.project), "session_id": "s1", **payload}).encode(), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert time.monotonic() - begun < 3  # the contract is 1 s; the machine may be busy
    return dict(json.loads(done.stdout or b"{}"))


def session(home: Home, name: str) -> str:
    """The line for the user at the start of a session."""
    reply = hook(home, "session-start", hook_event_name="SessionStart", session_id=name, source="startup")
    return str(reply.get("systemMessage", ""))


def known(home: Home) -> list[str]:
    """What the daemon remembers."""
    return [row["content"] for row in home.client.call("list", cwd=str(home.project), limit=100)]


def root(path: Path, table: str) -> int:
    """The number of the table's first page."""
    with sqlite3.connect(path) as db:
        (page,) = db.execute("select rootpage from sqlite_schema where name = ?", (table,)).fetchone()
    db.close()
    return int(page)


def overwrite(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(os.urandom(PAGE))


def _garbage_in_memories(path: Path) -> None:
    overwrite(path, root(path, "memories"))


def _garbage_in_schema(path: Path) -> None:
    overwrite(path, 1)


def _no_database(path: Path) -> None:
    path.write_bytes(b"hello " * 1000)


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE)


def _emptied(path: Path) -> None:
    os.truncate(path, 0)


DAMAGES = [_garbage_in_memories, _garbage_in_schema, _no_database, _cut, _emptied]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_gives_way_to_the_newest_good_backup(home: Home, damage: Callable[[Path], None]) -> None:
    """B17: at the next start, without a manual step; the damaged one is kept, and the owner told once."""
    memory(home, "The shop sells tea.")
    good = home.json("backup")["path"]
    bad = home.paths.backups / "memories-29991231.db"
    bad.write_bytes(b"SQLite format 3\0" + bytes(5000))
    damage(home.paths.database)
    as_it_was = home.paths.database.read_bytes()
    running = home.start_daemon()
    assert known(home) == ["The shop sells tea."]
    (aside,) = home.paths.backups.glob("quarantine-*")
    assert (aside / "memories.db").read_bytes() == as_it_was
    assert aside.stat().st_mode & 0o777 == 0o700
    told = home.client.call("status")["rescued"]
    assert str(aside) in told
    assert Path(good).name in told
    assert "rescued" in home.run("status").stdout
    assert told in session(home, "s1")
    assert told not in session(home, "s2")
    assert home.client.call("status")["rescued"] is None
    running.stop()
    running = home.start_daemon()
    assert len(list(home.paths.backups.glob("quarantine-*"))) == 1
    running.stop()


def test_without_a_backup_all_begins_anew(home: Home) -> None:
    """With a loud word, and the damaged file kept."""
    memory(home, "The shop sells tea.")
    _no_database(home.paths.database)
    running = home.start_daemon()
    assert known(home) == []
    assert "all begins anew" in home.json("status")["rescued"]
    assert "rescued" in home.run("status").stdout
    said = {check["check"]: check["detail"] for check in json.loads(home.run("doctor", "--json").stdout)}
    assert "was damaged" in said["database"]
    running.stop()


def test_damage_outside_of_what_is_remembered_loses_nothing(home: Home) -> None:
    """Garbage in an index of SQLite's or in the history: every memory is taken over, also those since the last backup."""
    running = home.start_daemon()
    texts = [f"Service number {number} listens on port {7000 + number}." for number in range(20)]
    kept = [home.client.call("add", text=text, cwd=str(home.project))["id"] for text in texts]
    running.stop()
    for index, table in enumerate(("memories_partition", "history")):
        overwrite(home.paths.database, root(home.paths.database, table))
        running = home.start_daemon()
        assert set(known(home)) == set(texts)
        found = home.client.call("search", query="port 7007", cwd=str(home.project))
        assert found[0]["memory"]["id"] == kept[7]
        assert "could be taken over" in home.client.call("status")["rescued"]
        assert len(list(home.paths.backups.glob("quarantine-*"))) == index + 1
        running.stop()


def _fold(home: Home) -> None:
    """Have the file, not the WAL, be what is read; without the backup that upkeep makes."""
    Path(home.json("maintain")["backup"]).unlink()


def _decide(home: Home) -> None:
    """A prompt and its end, as hooks tell of them."""
    said = "We decided to use pnpm for everything here."
    hook(home, "prompt", hook_event_name="UserPromptSubmit", prompt_id="p1", prompt=said)
    hook(home, "stop", hook_event_name="Stop", prompt_id="p1", last_assistant_message="Done.")


def _learnt_after_a_rescue(home: Home, running: Daemon) -> None:
    until("it is rescued", lambda: home.paths.backups.glob("quarantine-*") and rescued(home))
    until("the turn is learnt", lambda: any("pnpm" in text for text in known(home)))
    assert home.json("status")["pid"] == running.pid
    assert "The shop sells tea." in known(home)
    assert list(home.paths.data.glob("*.part*")) == []


def test_damage_met_at_work_is_mended_without_a_manual_step(home: Home, daemon: Daemon) -> None:
    """The same process goes on with a rescued database; a turn that was acknowledged after the damage is there."""
    memory(home, "The shop sells tea.")
    home.json("backup")
    _fold(home)
    _cut(home.paths.database)
    _decide(home)
    _learnt_after_a_rescue(home, daemon)


def test_damage_that_no_cache_hides_is_mended_as_well(home: Home) -> None:
    """A daemon that has read nothing yet cannot store a turn: its hooks spool it, and it arrives."""
    memory(home, "The shop sells tea.")
    home.json("backup")
    running = home.start_daemon()
    os.truncate(home.paths.database, 8 * PAGE)
    _decide(home)
    _learnt_after_a_rescue(home, running)
    running.stop()


def test_what_only_the_daemons_cache_still_has_is_not_lost(home: Home, daemon: Daemon) -> None:
    """A memory and a deletion since the backup; then hardly anything is left of the file, and the daemon does not know."""
    memory(home, "The shop sells tea.")
    gone = memory(home, "The shop sells coffee.")
    home.json("backup")
    memory(home, "The shop sells cake.")
    home.json("delete", gone)
    _fold(home)
    os.truncate(home.paths.database, 8 * PAGE)
    _decide(home)
    _learnt_after_a_rescue(home, daemon)
    assert "The shop sells cake." in known(home)
    assert "The shop sells coffee." not in known(home)


def rescued(home: Home) -> bool:
    try:
        return bool(home.client.call("status")["rescued"])
    except Exception:  # noqa: BLE001  # between the one and the other
        return False


def test_a_look_from_outside_does_not_take_the_wal_away(home: Home, daemon: Daemon) -> None:
    """Whatever the daemon has done to its file, it keeps its locks: `sqlite3` beside it sees what it writes, and leaves it."""
    home.json("maintain")
    with contextlib.closing(sqlite3.connect(home.paths.database)) as db:
        db.execute("select count(*) from memories").fetchone()
    memory(home, "The shop sells tea.")
    with contextlib.closing(sqlite3.connect(home.paths.database)) as db:
        assert db.execute("select content from memories").fetchall() == [("The shop sells tea.",)]


class Torn:
    """A database with a backup, and since then turns, memories and deletions; some of it only in the WAL.

    deleted: what was deleted since the backup. newer: the memories since.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shelf = Shelf(folder / "at-work", with_vectors=False)
        self.db = self._shelf.db
        self.deleted = self._shelf.add_all([f"The quince of shelf {number} is sour. " * 9 for number in range(4)])
        self._shelf.add_all([f"Service {number} listens on port {7000 + number}. " * 9 for number in range(60)])
        self._say(range(20), "the quince is sour " * 90)
        for number, gone in enumerate(self.deleted):
            memories.add_source(self.db, gone, f"prompt-{number}", SHELVED)
        maintain.back_up(self.db, folder / "backups", NOW, KeepConfig())
        self._say(range(20, 60), "we use pnpm " * 150)
        self.newer = self._shelf.add_all([f"Server {number} is in rack {number}. " * 9 for number in range(20)])
        self._forget(self.deleted[:2])
        fold(self.db)
        self._say(range(60, 70), "we use pnpm " * 150)
        self._forget(self.deleted[2:])

    def _say(self, numbers: range, words: str) -> None:
        for number in numbers:
            with transaction(self.db):
                at = turns.Where(cwd="/work/shop", project_id=1)
                turns.touch_session(self.db, f"session-{number // 10}", at, None, False, SHELVED)
                capture.begin(self.db, f"session-{number // 10}", f"prompt-{number}", words, at, SHELVED)
                capture.end(self.db, f"prompt-{number}", SHELVED)

    def _forget(self, ids: list[str]) -> None:
        for gone in ids:
            with transaction(self.db):
                memories.erase(self.db, gone, SHELVED)
                changes.follow(self.db, None, "test", None, datetime.now(UTC))

    def copied(self, name: str) -> Path:
        """The files as they are now, in a folder of their own beside the backups."""
        target = self.folder / name / "memories.db"
        shutil.copytree(self.folder / "backups", target.parent / "backups")
        for part in ("", "-wal", deletions.NAME):
            shutil.copy2(f"{self._shelf.path}{part}", f"{target}{part}")
        return target


@pytest.fixture(scope="module")
def torn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Torn]:
    """One for all tests, which work on copies of it."""
    folder = tmp_path_factory.mktemp("torn")
    for name in ("at-work", "backups"):
        (folder / name).mkdir()
    made = Torn(folder)
    yield made
    made.db.close()


def readable(path: Path, table: str, number: str, name: str) -> set[str]:
    """What plain SQLite reads of a damaged database, row number by row number."""
    looked_at = path.with_name("looked-at.db")
    for part in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{path}{part}", f"{looked_at}{part}")
    found: set[str] = set()
    with contextlib.closing(sqlite3.connect(looked_at)) as db:
        for row in range(1, 200):
            with contextlib.suppress(sqlite3.DatabaseError):
                found |= {
                    row[0] for row in db.execute(f"select {name} from {table} not indexed where {number} = {row}")
                }
    return found


def _put_in_order(path: Path) -> tuple[str, set[str], set[str], set[str]]:
    """Rescued: what the owner is told; then the prompts, the memories in force, and the prompts to be learnt from."""
    told = rescue.rescue(path, path.parent / "backups", NOW, "it is damaged")
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma quick_check").fetchall() == [("ok",)]
        assert db.execute("pragma foreign_key_check").fetchall() == []
        sources = "('prompt-0', 'prompt-1', 'prompt-2', 'prompt-3')"
        assert not db.execute(f"select 1 from turns where prompt_id in {sources} and prompt like '%quince%'").fetchall()
        said, kept, due = (
            {row[0] for row in db.execute(query)}
            for query in (
                "select prompt_id from turns",
                "select id from memories where status = 'active'",
                "select key from jobs where kind = 'extract' and state = 'ready'",
            )
        )
    assert list(path.parent.glob("*.part*")) == []
    return told, said, kept, due


@pytest.mark.parametrize("seed", range(40))
def test_whatever_pages_are_damaged_nothing_deleted_is_back_and_nothing_readable_is_lost(torn: Torn, seed: int) -> None:
    """One to four pages of garbage anywhere: turns and memories since the backup are there if SQLite can read them."""
    chance = random.Random(seed)
    path = torn.copied(f"seed-{seed}")
    pages = path.stat().st_size // PAGE
    for page in chance.sample(range(1, pages + 1), chance.randint(1, 4)):
        overwrite(path, page)
    prompts = readable(path, "turns", "turn_id", "prompt_id")
    facts = readable(path, "memories", "seq", "id")
    _, said, kept, due = _put_in_order(path)
    assert prompts <= said
    assert prompts <= due
    assert facts & set(torn.newer) <= kept
    assert not set(torn.deleted) & kept


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_deletion_since_the_backup_outlives_any_damage(torn: Torn, damage: Callable[[Path], None]) -> None:
    """Also where not a word of the damaged database can be read."""
    path = torn.copied(damage.__name__)
    damage(path)
    _, said, kept, _ = _put_in_order(path)
    assert len(said) >= 20
    assert len(kept) >= 60
    assert not set(torn.deleted) & kept


def test_a_database_without_its_schema_is_read_by_that_of_the_backup(torn: Torn) -> None:
    """Its first page says where the tables are; the backup's says the same."""
    path = torn.copied("no-schema")
    open_writer(path).close()  # folds the WAL in, which may have that page as well
    overwrite(path, 1)
    assert readable(path, "turns", "turn_id", "prompt_id") == set()
    told, said, kept, due = _put_in_order(path)
    assert said == due == {f"prompt-{number}" for number in range(70)}
    assert set(torn.newer) <= kept
    assert "(memories: 24, turns: 60)" in told


def test_what_was_learnt_and_cannot_be_read_any_more_is_learnt_again(torn: Torn) -> None:
    """A turn since the backup whose memory is on a damaged page is queued once more."""
    path = torn.copied("learnt")
    with contextlib.closing(open_writer(path)) as db, transaction(db):
        db.execute("update jobs set state = 'done', finished_at = created_at where key = 'prompt-69'")
    whole = torn.copied("learnt-and-whole")
    shutil.copyfile(f"{path}", whole)
    Path(f"{whole}-wal").unlink()
    overwrite(path, root(path, "memories"))
    assert "prompt-69" in _put_in_order(path)[3]
    overwrite(whole, root(whole, "turns_session"))
    assert "prompt-69" not in _put_in_order(whole)[3]


def test_a_damaged_search_index_is_made_anew_at_work(home: Home, daemon: Daemon) -> None:
    """No memory is touched, nothing is put aside."""
    one = memory(home, "The shop sells tea.")
    with sqlite3.connect(home.paths.database) as db:
        (table,) = db.execute("select name from sqlite_schema where name glob 'fts_p*_data'").fetchone()
        db.execute(f"delete from {table}")
    db.close()

    def searched() -> bool:
        try:
            return [row["memory"]["id"] for row in home.client.call("search", query="tea", cwd=str(home.project))] == [
                one
            ]
        except Exception:  # noqa: BLE001  # the first meets the damage
            return False

    until("it is found again", searched)
    assert list(home.paths.backups.glob("quarantine-*")) == []


def test_the_look_at_a_start_ends_in_time(tmp_path: Path) -> None:
    """A large database is not looked through before hooks are answered; the rest is looked through meanwhile."""
    path = tmp_path / "memories.db"
    db = open_writer(path)
    migrate(db, tmp_path)
    db.execute("create table filler (x text) strict")
    with transaction(db):
        db.execute("insert into filler with n as (select 1 as i union all select i + 1 from n where i < 20000)"
                   " select hex(randomblob(200)) from n")  # fmt: skip
    db.close()
    overwrite(path, path.stat().st_size // PAGE // 2)
    assert rescue.examine(path).damage
    assert rescue.examine(path, lambda: True) == rescue.Finding()


def test_a_disk_that_damages_everything_is_not_filled_with_copies(tmp_path: Path) -> None:
    """After some rescues a day it is left to the owner."""
    database, backups = tmp_path / "memories.db", tmp_path / "backups"
    for _ in range(rescue.MOST_A_DAY):
        database.write_bytes(b"hello " * 1000)
        rescue.rescue(database, backups, NOW, "it is damaged")
    database.write_bytes(b"hello " * 1000)
    with pytest.raises(DamagedError, match="the disk may be failing"):
        rescue.rescue(database, backups, NOW, "it is damaged")
    rescue.rescue(database, backups, NOW + timedelta(days=1), "it is damaged")
    assert rescue.schema(database) > 0


def test_a_daemon_gives_up_where_starting_again_cannot_help(home: Home) -> None:
    """With 78, which no unit restarts: no crash loop."""
    home.paths.ensure()
    for number in range(rescue.MOST_A_DAY):
        (home.paths.backups / f"{rescue.ASIDE}{datetime.now(UTC):%Y%m%d}-{number:06}").mkdir()
    _no_database(home.paths.database)
    assert "the disk may be failing" in failed(home.run("run"), 78)


@pytest.mark.parametrize("moved", [[], ["-wal"], ["-wal", "-shm"], ["-wal", "-shm", ""]])
def test_an_exchange_that_was_cut_short_is_completed(tmp_path: Path, moved: list[str]) -> None:
    """Killed between any two of its steps, no WAL ever meets a database that is not its own."""
    database, backups = tmp_path / "memories.db", tmp_path / "backups"
    for path, text in ((database, "old"), (database.with_suffix(".next"), "new")):
        db = open_writer(path)
        migrate(db, tmp_path)
        db.execute("insert into meta values ('mark', ?)", (text,))
        db.close()
    for part in ("-wal", "-shm"):
        database.with_name(database.name + part).write_bytes(b"of the old one")
    begun = backups / "begun"
    begun.mkdir(parents=True)
    for part in moved:
        shutil.move(database.with_name(database.name + part), begun)
    rescue.finish(database, backups, NOW)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["backups", "memories.db"]
    assert len(list(backups.rglob("memories.db*"))) == 3
    with sqlite3.connect(database) as plain:
        assert plain.execute("select value from meta where key = 'mark'").fetchone() == ("new",)
    plain.close()


def test_a_bad_copy_never_takes_the_place_of_a_good_backup(tmp_path: Path) -> None:
    """The daily backup of a database that is damaged fails, and the older ones stay."""
    path, folder = tmp_path / "memories.db", tmp_path / "backups"
    folder.mkdir()
    db = open_writer(path)
    migrate(db, folder)
    maintain.back_up(db, folder, NOW, KeepConfig())
    db.close()
    overwrite(path, root(path, "jobs"))
    db = open_writer(path)
    with pytest.raises(DamagedError):
        maintain.back_up(db, folder, NOW, KeepConfig())
    db.close()
    (kept,) = folder.iterdir()
    assert rescue.unusable(kept, path) == ""


def test_backups_by_hand_and_by_the_day_do_not_push_each_other_out(tmp_path: Path) -> None:
    """Of each kind the newest stay; what was put aside goes after a month."""
    path, keep = tmp_path / "memories.db", KeepConfig(backups=2)
    db = open_writer(path)
    migrate(db, tmp_path)
    for day in range(4):
        maintain.back_up(db, tmp_path, NOW + timedelta(days=day), keep)
    for second in range(4):
        maintain.back_up_now(path, tmp_path, None, NOW + timedelta(seconds=second), keep)
    aside = tmp_path / "quarantine-20260101-000000"
    aside.mkdir()
    maintain.back_up(db, tmp_path, datetime.now(UTC) + timedelta(days=29), keep)
    assert aside.exists()
    maintain.back_up(db, tmp_path, datetime.now(UTC) + timedelta(days=31), keep)
    assert not aside.exists()
    db.close()
    names = [file.name for file in tmp_path.glob("memories-*.db")]
    assert sum(len(name) == len("memories-20260504.db") for name in names) == 2
    assert {"memories-20260504-120003.db", "memories-20260504-120002.db"} <= set(names)
    assert len(names) == 4
