"""`recalld doctor` says where the data folder lies badly: in a repository, in a synchronised folder, on a network."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from conftest import PATIENCE_S, Home, memory
from recalld import doctor
from recalld.errors import StoreError
from recalld.store import meta, rescue
from recalld.store.connection import in_wal_mode, open_writer, translated
from recalld.store.store import Store
from recalld.surroundings import carried_off, file_system, file_system_type


@pytest.mark.parametrize("name", [".git", ".hg", ".jj"])
def test_a_repository_above_is_warned_of(tmp_path: Path, name: str) -> None:
    """Also before the folder is there; an ignore file of its own settles it."""
    data = tmp_path / "dotfiles" / "share" / "recalld"
    (tmp_path / "dotfiles").mkdir()
    assert carried_off(data)[1] == ""
    (tmp_path / "dotfiles" / name).mkdir()
    detail, fix = carried_off(data)
    assert f"repository {tmp_path / 'dotfiles'}" in detail and "RECALLD_HOME" in fix
    data.mkdir(parents=True)
    (data / ".gitignore").write_text("*\n")
    assert carried_off(data)[1] == ""


@pytest.mark.parametrize(
    "folder",
    ["Dropbox", "Dropbox (Acme)", "OneDrive", "OneDrive - Acme GmbH", "Library/Mobile Documents/x", "Library/CloudStorage/GoogleDrive-me",
     "Google Drive", "Nextcloud", "ownCloud"],
)  # fmt: skip
def test_the_folders_of_sync_programs_are_warned_of(tmp_path: Path, folder: str) -> None:
    data = tmp_path / folder / "recalld"
    data.mkdir(parents=True)
    detail, fix = carried_off(data)
    assert "synchronises" in detail and fix


@pytest.mark.parametrize("marker", [".stfolder", ".dropbox.cache", ".nextcloudsync.log"])
def test_what_sync_programs_leave_is_a_sign_too(tmp_path: Path, marker: str) -> None:
    data = tmp_path / "documents" / "recalld"
    data.mkdir(parents=True)
    (tmp_path / "documents" / marker).touch()
    assert "synchronises" in carried_off(data)[0]


def test_names_that_only_look_like_it_are_fine(tmp_path: Path) -> None:
    data = tmp_path / "dropbox-clone" / "megaproject" / "gitlab"
    data.mkdir(parents=True)
    assert carried_off(data)[1] == ""


@pytest.mark.parametrize(
    ("kind", "fit"),
    [("ext4", True), ("btrfs", True), ("overlay", True), ("tmpfs", True), ("fuseblk", True), ("nfs", False), ("nfs4", False),
     ("cifs", False), ("smb3", False), ("fuse.sshfs", False), ("9p", False), ("fuse.rclone", False)],
)  # fmt: skip
def test_network_file_systems_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, fit: bool
) -> None:
    """B22: WAL on a network home is damaged sooner or later."""
    mounts = tmp_path / "mountinfo"
    at = str(tmp_path).replace(" ", "\\040")
    mounts.write_text(
        "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
        f"40 22 0:40 / {at} rw,relatime shared:9 - {kind} server:/export rw\n"
        f"41 22 0:41 / {at}x rw - nfs other:/x rw\n"
    )
    assert file_system_type(tmp_path / "not" / "there", mounts) == kind
    assert file_system_type(Path("/"), mounts) == "ext4"
    monkeypatch.setattr("recalld.surroundings.file_system_type", lambda folder: kind)
    detail, fix = file_system(tmp_path)
    assert bool(fix) is not fit and kind in detail


def test_a_space_in_a_mount_point_is_read(tmp_path: Path) -> None:
    place = tmp_path / "my disk"
    place.mkdir()
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"22 1 8:1 / / rw - ext4 a rw\n23 22 0:1 / {tmp_path}/my\\040disk rw - nfs4 b rw\n")
    assert file_system_type(place, mounts) == "nfs4"


def test_doctor_tells(home: Home) -> None:
    """The check fails with the way out, and exit code 1."""
    (home.root / ".git").mkdir()
    found = {check.check: check for check in doctor.examine(home.paths, home.environ)}
    assert not found["surroundings"].ok and "RECALLD_HOME" in found["surroundings"].fix
    assert found["file system"].ok


NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ON_NFS = """import sys; from recalld import surroundings; surroundings.file_system_type = lambda folder, mounts=None: "nfs4"
from recalld.cli.main import main; sys.exit(main(sys.argv[-1:]))"""


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The file system that every folder seems to lie on, under `is`."""
    said = {"is": "ext4"}
    monkeypatch.setattr("recalld.surroundings.file_system_type", lambda folder: said["is"])
    return said


def used(path: Path, text: str) -> list[str]:
    """Write to the database by the store, look at it by a second connection; returns the files that lie there meanwhile."""
    path.parent.mkdir(exist_ok=True)

    async def work() -> list[str]:
        store = Store(path, path.parent)
        await store.write(meta.put, "mark", text)
        assert await store.read(meta.get, "mark") == text
        files = sorted(file.name for file in path.parent.iterdir() if file.is_file())
        await store.close()
        return files

    return asyncio.run(work())


@pytest.mark.parametrize("network", ["nfs4", "smb3", "afs", "fuse.sshfs"])
def test_no_wal_is_made_on_a_network_file_system(tmp_path: Path, kind: dict[str, str], network: str) -> None:
    """B22: a rollback journal, with which SQLite needs no memory that processes share; on a disk a WAL."""
    kind["is"] = network
    assert used(tmp_path / "memories.db", "one") == ["memories.db"]
    assert not in_wal_mode(tmp_path / "memories.db")
    kind["is"] = "ext4"
    assert set(used(tmp_path / "local" / "memories.db", "one")) == {"memories.db", "memories.db-shm", "memories.db-wal"}


def test_a_home_that_was_moved_onto_one_leaves_its_wal(tmp_path: Path, kind: dict[str, str]) -> None:
    """B22: also after a crash, with the last commits still in the WAL; nothing is lost."""
    path = tmp_path / "memories.db"
    used(path, "one")
    code = """import os, sys; from pathlib import Path; from recalld.store import meta
from recalld.store.connection import open_writer, transaction
db = open_writer(Path(sys.argv[1]))
with transaction(db): meta.put(db, "last", "in the WAL")
os._exit(0)"""
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=PATIENCE_S)
    assert path.with_name("memories.db-wal").stat().st_size > 0
    kind["is"] = "nfs4"
    assert used(path, "two") == ["memories.db"]
    db = open_writer(path)
    assert meta.get(db, "last") == "in the WAL"
    db.close()


def test_another_journal_that_its_owner_has_set_stays(tmp_path: Path, kind: dict[str, str]) -> None:
    """B22: it is not forced back."""
    path = tmp_path / "memories.db"
    used(path, "one")
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "truncate")
    db.close()
    used(path, "two")
    assert not in_wal_mode(path)


@pytest.mark.parametrize("network", [True, False])
def test_what_is_put_in_its_place_has_the_journal_of_the_place(
    tmp_path: Path, kind: dict[str, str], network: bool
) -> None:
    """B22: a backup has none of its own choice, so going back to one does not slow the database down."""
    kind["is"] = "cifs" if network else "ext4"
    path, copy = tmp_path / "memories.db", tmp_path / "memories-1.db"
    used(path, "one")
    copy.write_bytes(path.read_bytes())
    rescue.put_back(path, tmp_path, copy, NOW)
    assert in_wal_mode(path) is not network


def test_errors_of_the_place_name_it_and_the_way_out(tmp_path: Path, kind: dict[str, str]) -> None:
    """B22: SQLITE_PROTOCOL, SQLITE_IOERR and SQLITE_CANTOPEN name the file system and the setting that moves the data."""
    kind["is"] = "nfs4"
    for error in (apsw.ProtocolError("locking protocol"), apsw.IOError("disk I/O error"), apsw.CantOpenError("unable")):
        with pytest.raises(StoreError, match=r"nfs4.*RECALLD_HOME"), translated(tmp_path / "memories.db"):
            raise error
    (tmp_path / "memories.db").mkdir()
    with pytest.raises(StoreError):
        open_writer(tmp_path / "memories.db")


def test_a_daemon_on_one_works_and_doctor_tells_once(home: Home) -> None:
    """B22: one check fails, by its name, with the setting that moves the data."""
    memory(home, "The shop sells tea.")
    running = home.start_daemon(sys.executable, "-c", ON_NFS)
    try:
        memory(home, "The shop sells coffee.")
        assert len(home.json("list")) == 2
        assert not home.paths.database.with_name("memories.db-wal").exists()
        done = subprocess.run(
            [sys.executable, "-c", ON_NFS, "doctor"], env=home.environ, cwd=home.project, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.stdout.count("nfs4") == 1
        assert "RECALLD_HOME" in done.stdout
        assert done.stdout.count("rollback journal") == 1
    finally:
        running.stop()
