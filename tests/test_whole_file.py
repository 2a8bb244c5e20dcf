"""A file is written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from recalld.whole_file import written


def test_the_new_file_takes_the_place_of_the_old_one_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a b.json"
    path.write_bytes(b"old")
    path.chmod(0o644)
    with written(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == [path.name]


def test_whatever_is_raised_leaves_all_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    for error in (ValueError("no"), KeyboardInterrupt()):
        with pytest.raises(type(error)), written(path) as file:
            file.write(b"half of it")
            raise error
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


def test_what_the_system_refuses_is_said_of_the_file_itself(tmp_path: Path) -> None:
    """Nobody knows the name of the unfinished one."""
    path = tmp_path / "gone" / "a.json"
    with pytest.raises(FileNotFoundError) as raised, written(path):
        pass
    assert raised.value.filename == str(path)
