"""`recalld backup`, `restore-backup` and `doctor --fix`: a way back that loses nothing, with and without a daemon."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from pathlib import Path

import pytest

from conftest import Daemon, Home, failed, memory


@pytest.mark.parametrize("served", [True, False])
def test_backup_and_back(home: Home, served: bool) -> None:
    """With and without a daemon: the backup is the database again, what was there is kept and can be restored in turn."""
    one = memory(home, "The shop sells tea.")
    running = home.start_daemon() if served else None
    copy = home.root / "mine.db"
    assert home.json("backup", str(copy))["path"] == str(copy)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert "is there already" in failed(home.run("backup", str(copy)))
    two = memory(home, "The shop sells coffee.")
    done = home.json("restore-backup", str(copy), "--yes")
    assert [row["id"] for row in home.json("list")] == [one]
    assert (home.json("status")["pid"] is not None) is served
    home.json("restore-backup", str(Path(done["aside"]) / "memories.db"), "--yes")
    assert {row["id"] for row in home.json("list")} == {one, two}
    if running:
        assert home.json("stop") == {"stopped": True}
        running.process.communicate(timeout=20)


def test_the_newest_good_backup_is_the_one_that_is_meant(home: Home) -> None:
    """`list` shows them all with what is wrong; the word alone takes the newest that is good, a name any of them."""
    memory(home, "The shop sells tea.")
    first = home.json("backup")["path"]
    bad = home.paths.backups / "memories-29991231.db"
    bad.write_bytes(b"hello")
    rows = home.json("restore-backup", "list")
    assert [(row["path"], bool(row["problem"])) for row in rows] == [(str(bad), True), (first, False)]
    assert bad.name in home.run("restore-backup", "list").stdout
    assert "it is damaged" in failed(home.run("restore-backup", bad.name))
    assert "no such file" in failed(home.run("restore-backup", "other.db"))
    memory(home, "The shop sells coffee.")
    assert home.json("restore-backup")["restored"] == first
    assert len(home.json("list")) == 1


def test_only_what_this_program_can_read_is_restored(home: Home) -> None:
    """No database of another program, none of a newer recalld."""
    memory(home, "The shop sells tea.")
    before = home.paths.database.read_bytes()
    foreign = home.root / "foreign.db"
    with sqlite3.connect(foreign) as db:
        db.execute("create table t (x)")
    db.close()
    assert "no database of recalld" in failed(home.run("restore-backup", str(foreign)))
    newer = Path(home.json("backup", str(home.root / "newer.db"))["path"])
    with sqlite3.connect(newer) as db:
        db.execute("pragma user_version = 99")
    db.close()
    assert "newer recalld" in failed(home.run("restore-backup", str(newer)))
    assert home.paths.database.read_bytes() == before


def test_doctor_mends_what_it_can(home: Home) -> None:
    """A damaged database, an open folder, no daemon: one command, and it says what it did."""
    memory(home, "The shop sells tea.")
    home.json("backup")
    os.truncate(home.paths.database, home.paths.database.stat().st_size // 2)
    home.recalld.chmod(0o755)
    done = home.run("doctor", "--fix", "--json")
    said = json.loads(done.stdout)
    assert [line.partition(":")[0] for line in said["mended"]] == ["folders", "socket"]
    failing = {check["check"] for check in said["checks"] if not check["ok"]}
    assert failing == {"hooks"}  # the owner's own settings are not touched
    assert home.recalld.stat().st_mode & 0o777 == 0o700
    assert len(home.json("list")) == 1
    assert "was damaged" in home.json("status")["rescued"]


def test_doctor_replaces_a_daemon_that_hangs(home: Home, daemon: Daemon) -> None:
    """As `recalld restart` does."""
    daemon.process.send_signal(signal.SIGSTOP)
    (line,) = json.loads(home.run("doctor", "--fix", "--json").stdout)["mended"]
    assert "the daemon was started" in line
    assert home.json("status")["pid"] != daemon.pid
    daemon.process.communicate(timeout=20)
