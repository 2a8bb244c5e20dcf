"""`recalld encrypt`: after `on` nothing that was said can be read without the key, after `off` all is as before."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE_S, failed, memory
from encrypted import EncryptedHome, Environment
from recalld.install.overlay import PACKAGES
from recalld.install.running import holder

HOOK = Path(__file__).parents[1] / "hooks" / "hook.py"
pytestmark = pytest.mark.timeout(300)  # many processes, each of which asks the keyring
TEA, COFFEE = "The shop sells marmalade tea.", "The shop sells cardamom coffee."


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("environment") / "venv")


@pytest.fixture
def sealed(tmp_path: Path, environment: Environment) -> Iterator[EncryptedHome]:
    """A home with one memory, not yet encrypted."""
    made = EncryptedHome(tmp_path, environment)
    memory(made, TEA)
    yield made
    if holder(made.paths):
        made.lines("stop")


def rows(path: Path) -> dict[str, list[Any]]:
    """All rows of all tables but the search indexes' own, by the plain sqlite3 of Python."""
    with closing(sqlite3.connect(path)) as db:
        names = [str(name) for (name,) in db.execute("select name from sqlite_schema where type = 'table'")]
        return {name: sorted(db.execute(f"select * from {name}").fetchall(), key=repr)
                for name in names if not name.startswith(("fts_", "df_", "sqlite_"))}  # fmt: skip


def copies(home: EncryptedHome) -> list[Path]:
    return sorted([home.paths.database, *home.paths.backups.rglob("*.db")])


def plain(path: Path) -> bool:
    return path.read_bytes()[:16] == b"SQLite format 3\0"


def test_nothing_that_was_said_can_be_read_and_all_comes_back(sealed: EncryptedHome) -> None:
    """Database, WAL, backups and what was put aside; with a daemon before and after, and no row changed."""
    backup = sealed.json("backup")["path"]
    memory(sealed, COFFEE)
    sealed.json("restore-backup", backup, "--yes")  # puts one aside
    memory(sealed, COFFEE)
    listed = sealed.json("list")
    sealed.json("start")
    assert set(sealed.holding(TEA)) >= {"memories.db", Path(backup).name}
    assert sealed.lines("encrypt", "on")[-1].startswith("on:")
    assert sealed.json("status")["pid"] is not None
    assert len(copies(sealed)) == 3
    assert not any(map(plain, copies(sealed)))
    assert sealed.json("list") == listed
    assert [row["content"] for row in sealed.json("search", "cardamom")][:1] == [COFFEE]
    memory(sealed, "The shop sells saffron milk.")
    sealed.json("maintain")
    for text in (TEA, COFFEE, "saffron milk", "cardamom"):
        assert sealed.holding(text) == []
    assert sealed.json("encrypt", "status")["unfinished"] == []
    sealed.json("delete", *[row["id"] for row in sealed.json("search", "saffron")][:1])
    assert sealed.lines("encrypt", "off")[-1].startswith("off:")
    assert all(map(plain, copies(sealed)))
    assert {str(row[5]) for row in rows(sealed.paths.database)["memories"]} >= {TEA, COFFEE}
    assert not sealed.environment.library.exists()
    assert sealed.json("status")["pid"] is not None


def test_there_and_back_changes_no_row(sealed: EncryptedHome) -> None:
    """Table by table, and the order of the backups by their age stays."""
    sealed.json("backup")
    before = [rows(path) for path in copies(sealed)]
    ages = [path.stat().st_mtime_ns for path in copies(sealed)[:1]]
    sealed.lines("encrypt", "on")
    assert [path.stat().st_mtime_ns for path in copies(sealed)[:1]] == ages
    sealed.lines("encrypt", "off")
    assert [rows(path) for path in copies(sealed)] == before


def test_what_is_copied_while_it_is_on_is_encrypted_and_can_be_restored(sealed: EncryptedHome) -> None:
    """Into the backups or elsewhere; a plain copy from before is encrypted on its way in, an encrypted one made plain."""
    old = sealed.root / "old.db"
    sealed.json("backup", str(old))
    memory(sealed, COFFEE)
    sealed.lines("encrypt", "on")
    new = sealed.root / "new.db"
    sealed.json("backup", str(new))
    sealed.json("backup")
    assert plain(old)
    assert not any(plain(path) for path in [new, *copies(sealed)])
    sealed.json("restore-backup", str(old), "--yes")
    assert [row["content"] for row in sealed.json("list")] == [TEA]
    assert not any(map(plain, copies(sealed)))
    sealed.json("restore-backup", str(new), "--yes")
    assert len(sealed.json("list")) == 2
    sealed.lines("encrypt", "off")
    assert "recalld encrypt on" in failed(sealed.run("restore-backup", str(new), "--yes"))
    sealed.lines("encrypt", "on")
    sealed.json("restore-backup", str(new), "--yes")
    sealed.lines("encrypt", "off")
    assert len(rows(sealed.paths.database)["memories"]) == 2


def test_a_home_without_memories_begins_encrypted(tmp_path: Path, environment: Environment) -> None:
    """The first memory is never on the disk in plain."""
    home = EncryptedHome(tmp_path, environment)
    home.lines("encrypt", "on")
    memory(home, TEA)
    assert home.holding(TEA) == []
    assert not plain(home.paths.database)
    home.lines("encrypt", "off")
    assert home.holding(TEA) == ["memories.db"]


def test_an_environment_without_the_library_touches_nothing(sealed: EncryptedHome) -> None:
    """It says what to do; its daemon ends with 78, which no unit restarts; the hook is silent and spools."""
    sealed.lines("encrypt", "on")
    before = sealed.paths.database.read_bytes()
    for words in (["list"], ["add", COFFEE], ["backup"], ["export"]):
        said = failed(sealed.plain_run(*words))
        assert "is encrypted" in said
        assert "`recalld encrypt on` installs it" in said
    assert "is encrypted" in failed(sealed.plain_run("run"), 78)
    found = {row["check"]: row for row in json.loads(sealed.plain_run("doctor", "--json").stdout)}
    assert "is not in" in found["encryption"]["detail"]
    assert "recalld encrypt on" in found["encryption"]["fix"]
    assert "is encrypted" in json.loads(sealed.plain_run("status", "--json").stdout)["last_error"]
    said = {"hook_event_name": "Stop", "session_id": "s1", "prompt_id": "p1", "cwd": str(sealed.project)}
    done = subprocess.run(
        [sys.executable, "-I", "-S", HOOK, "stop", sealed.paths.socket], capture_output=True, env=sealed.environ,
        timeout=PATIENCE_S, input=json.dumps({**said, "last_assistant_message": "Done."}).encode(), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(list(sealed.paths.spool.iterdir())) == 1
    assert sealed.paths.database.read_bytes() == before
    assert list(sealed.paths.backups.iterdir()) == []


def test_a_locked_keyring_is_waited_for(sealed: EncryptedHome) -> None:
    """Nothing is put aside, no daemon serves, status and doctor say why; once it is open all is as before."""
    sealed.lines("encrypt", "on")
    locked = sealed.ring.with_name("ring.json.locked")
    locked.touch()
    assert "the collection is locked" in failed(sealed.run("list"))
    assert "the collection is locked" in failed(sealed.run("run"), 1)  # a service manager tries again
    assert "the collection is locked" in sealed.json("status")["last_error"]
    found = {row["check"]: row for row in json.loads(sealed.run("doctor", "--json").stdout)}
    assert not found["encryption"]["ok"]
    assert "the collection is locked" in found["encryption"]["detail"]
    assert "unlock the keyring" in found["encryption"]["fix"]
    locked.unlink()
    assert len(sealed.json("list")) == 1
    kept = sealed.ring.read_text()
    sealed.ring.write_text("{}")
    assert "does not hold the key" in failed(sealed.run("list"))
    (name,) = json.loads(kept)
    sealed.ring.write_text(json.dumps({name: "ab" * 32}))
    assert "another key" in failed(sealed.run("list"))
    assert list(sealed.paths.backups.iterdir()) == []
    sealed.ring.write_text(kept)


def test_the_keyring_of_the_first_time_is_asked(sealed: EncryptedHome) -> None:
    """A service does not have the environment of the shell in which the key was put away."""
    sealed.lines("encrypt", "on")
    del sealed.environ["PYTHON_KEYRING_BACKEND"]
    assert len(sealed.json("list")) == 1


def test_without_a_keyring_the_key_may_lie_in_a_file(sealed: EncryptedHome) -> None:
    """Refused without one, with the way out; the file is the owner's alone and not beside what it locks."""
    sealed.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    said = failed_after_lines(sealed, "encrypt", "on")
    assert "no keyring" in said
    assert "--key-file FILE" in said
    assert plain(sealed.paths.database)
    beside = sealed.paths.data / "key"
    assert "beside what it locks" in failed_after_lines(sealed, "encrypt", "on", "--key-file", str(beside))
    file = sealed.root / "key"
    sealed.lines("encrypt", "on", "--key-file", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert sealed.json("encrypt", "key") == {"key": file.read_text().strip()}
    assert len(sealed.json("list")) == 1
    file.chmod(0o644)
    assert f"chmod 600 {file}" in failed(sealed.run("list"))
    file.chmod(0o600)
    other = sealed.root / "other"
    other.touch(0o600)
    assert "holds no key" in failed(sealed.run("encrypt", "on", "--key-file", str(other)))
    other.write_text("0" * 64)
    assert "another key" in failed(sealed.run("encrypt", "on", "--key-file", str(other)))
    moved = sealed.root / "moved"
    file.rename(moved)
    assert str(file) in failed(sealed.run("list"))
    sealed.lines("encrypt", "on", "--key-file", str(moved))
    assert len(sealed.json("list")) == 1


def test_a_backup_goes_to_another_machine_with_its_key(sealed: EncryptedHome, environment: Environment) -> None:
    """The key, printed here, in a file there; without it the backup is refused, and the line says that it may be locked."""
    sealed.lines("encrypt", "on")
    copy = sealed.root / "copy.db"
    sealed.json("backup", str(copy))
    there = EncryptedHome(sealed.root / "there", environment)
    assert "encrypted with another key" in failed(there.run("restore-backup", str(copy), "--yes"))
    file = sealed.root / "key"
    file.touch(0o600)
    file.write_text(sealed.lines("encrypt", "key")[0])
    there.lines("encrypt", "on", "--key-file", str(file))
    there.json("restore-backup", str(copy), "--yes")
    assert [row["content"] for row in there.json("list", "--project", "all")] == [TEA]
    assert there.holding(TEA) == []


def failed_after_lines(home: EncryptedHome, *words: str) -> str:
    """The line on stderr of a command that fails after it has told of what it did before."""
    done = home.run(*words)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_the_key_is_nowhere_but_in_the_keyring(sealed: EncryptedHome) -> None:
    """Not in the home, its log or record, nor in what is printed, nor in any process's arguments or environment."""
    sealed.json("start")
    said = [sealed.run("encrypt", "on"), sealed.run("list", "--debug"), sealed.run("status"), sealed.run("doctor"),
            sealed.run("encrypt", "status", "--json")]  # fmt: skip
    assert len(sealed.key) == 64
    assert all(sealed.key not in done.stdout + done.stderr for done in said)
    assert sealed.holding(sealed.key) == []
    assert sealed.key not in sealed.ring.with_name("ring.json.calls").read_text()
    sealed.lines("stop")
    sealed.ring.with_name("ring.json.locked").touch()
    done = sealed.run("list", "--debug")
    assert done.returncode == 1
    assert sealed.key not in done.stderr
    sealed.ring.with_name("ring.json.locked").unlink()
    assert sealed.lines("encrypt", "key") == [sealed.key]


def test_a_library_that_cannot_be_had_changes_nothing(sealed: EncryptedHome) -> None:
    """The plain one stays, no half of another is left, and the line says what to do without network."""
    sealed.environment.forget()
    empty = sealed.root / "empty"
    empty.mkdir()
    before = sealed.paths.database.read_bytes()
    said = failed(sealed.run("encrypt", "on", PIP_FIND_LINKS=str(empty)))
    assert "nothing was changed" in said
    assert "--find-links FOLDER" in said
    assert [path.name for path in sealed.environment.library.parent.glob("recalld-*")] == []
    assert sealed.paths.database.read_bytes() == before
    assert len(sealed.json("list")) == 1


def test_the_option_names_a_folder_of_wheels(sealed: EncryptedHome) -> None:
    """Without any of pip's variables."""
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        del sealed.environ[name]
    sealed.environment.forget()
    links = ["--find-links", str(sealed.environment.wheels)]
    assert sealed.lines("encrypt", "on", *links)[0] == "library: installed"
    assert "library: installed" not in sealed.lines("encrypt", "on", *links)


def test_an_upgrade_into_a_new_environment_brings_the_library(sealed: EncryptedHome) -> None:
    """`recalld install` does, before it starts the daemon; where nothing is encrypted it installs nothing."""
    code = "from recalld import paths; from recalld.install import overlay; print(list(overlay.keep(paths.find())))"
    ask = [sealed.environment.python, "-c", code]

    def kept() -> str:
        return subprocess.run(ask, env=sealed.environ, capture_output=True, text=True, check=True).stdout

    sealed.environment.forget()
    assert kept() == "[]\n"
    sealed.lines("encrypt", "on")
    sealed.environment.library.rename(sealed.root / "old")
    assert "is encrypted" in failed(sealed.run("list"))
    assert "is installed in this environment" in kept()
    assert len(sealed.json("list")) == 1


def test_a_process_that_is_at_work_on_the_database_is_not_cut_off(sealed: EncryptedHome) -> None:
    """`on` fails with a line, and goes through once the other is done."""
    with closing(sqlite3.connect(sealed.paths.database)) as other:
        other.execute("begin")
        other.execute("select count(*) from memories").fetchone()
        assert "another process keeps the database locked" in failed_after_lines(sealed, "encrypt", "on")
        assert plain(sealed.paths.database)
    assert sealed.run("encrypt", "status").returncode == 1  # begun
    sealed.lines("encrypt", "on")
    assert sealed.holding(TEA) == []


@pytest.mark.parametrize("where", ["page", "header"])
def test_a_damaged_encrypted_database_is_rescued(sealed: EncryptedHome, where: str) -> None:
    """From an encrypted backup, into an encrypted database."""
    sealed.lines("encrypt", "on")
    sealed.json("backup")
    size = sealed.paths.database.stat().st_size
    with sealed.paths.database.open("r+b") as file:
        if where == "header":
            file.write(os.urandom(4096))
        else:
            for start in range(4096, size, 4096):
                file.seek(start + 100)
                file.write(b"damage")
    sealed.json("start")
    assert [row["content"] for row in sealed.json("list")] == [TEA]
    assert "was damaged" in sealed.json("status")["rescued"]
    assert sealed.holding(TEA) == []
    sealed.lines("stop")


def test_a_copy_that_cannot_be_read_goes(sealed: EncryptedHome) -> None:
    """What is damaged cannot be encrypted, and pages of it may still be read."""
    aside = sealed.paths.backups / "quarantine-20260504-120000"
    aside.mkdir()
    damaged = bytearray(sealed.paths.database.read_bytes())
    damaged[:4096] = os.urandom(4096)
    (aside / "memories.db").write_bytes(damaged)
    (aside / "memories.db-wal").write_text(TEA)
    assert sealed.holding(TEA) == ["memories.db", "memories.db", "memories.db-wal"]
    assert any("removed" in line for line in sealed.lines("encrypt", "on", "--yes"))
    assert sealed.holding(TEA) == []


@pytest.mark.parametrize("action", ["on", "off"])
def test_killed_at_any_moment_it_leaves_what_can_be_used_and_finished(sealed: EncryptedHome, action: str) -> None:
    """At each step that touches a file: every memory is there, and doing it again finishes it."""
    file = sealed.root / "key"
    sealed.json("backup")
    sealed.lines("encrypt", "on", "--key-file", str(file))
    driver = Path(__file__).with_name("encrypt_kills.py")
    done = subprocess.run(
        [sealed.environment.python, driver, action, file, TEA], env=sealed.environ, cwd=sealed.root,
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["wrong"] == []
    assert report["kills"] > 10
    assert report["states"] == ["encrypted", "plain"], "it was killed before and after the exchange"


def test_off_where_nothing_is_encrypted_is_no_error(sealed: EncryptedHome) -> None:
    """And installs nothing for it."""
    sealed.environment.forget()
    assert len(sealed.lines("encrypt", "off", PIP_FIND_LINKS="/nowhere")) == 1
    assert sealed.json("encrypt", "status") == {"on": False, "key": "", "unfinished": [], "problem": ""}
    assert "no key" in failed(sealed.run("encrypt", "key"))


def test_the_packages_are_those_of_the_extra() -> None:
    """The list is in the program, since not every environment knows its own extras."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert sorted(PACKAGES) == sorted(project["optional-dependencies"]["encryption"])
