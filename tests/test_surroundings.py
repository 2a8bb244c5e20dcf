"""`recalld doctor` says where the data folder lies badly: in a repository, in a synchronised folder, on a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Home
from recalld import doctor
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
