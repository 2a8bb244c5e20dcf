"""install.sh, from this checkout into scratch homes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "install.sh"
TOOLS = [
    "sh",
    "cat",
    "chmod",
    "cksum",
    "cut",
    "dirname",
    "env",
    "find",
    "grep",
    "id",
    "ln",
    "ls",
    "mkdir",
    "printf",
    "readlink",
    "rm",
    "sort",
    "tr",
]


def environment(home: Path) -> dict[str, str]:
    """This process's, for another home; package caches are shared, since only the first run should fetch."""
    home.mkdir(parents=True, exist_ok=True)
    real = Path.home()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "RECALLD_", "CLAUDE_"))}
    caches = {"UV_CACHE_DIR": str(real / ".cache" / "uv"), "PIP_CACHE_DIR": str(real / ".cache" / "pip")}
    return {**caches, **kept, "HOME": str(home)}


def run(*arguments: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT), *arguments],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def listing(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file() or path.is_symlink())


@pytest.mark.timeout(900)
def test_a_home_is_installed_into_and_left_again(tmp_path: Path) -> None:
    """It ends with a memory that came back, changes nothing the second time, and leaves no file but the data."""
    home = tmp_path / "a b 中文"
    environ = environment(home)
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"theme": "dark"}')
    foreign = home / ".local" / "bin" / "other"
    foreign.parent.mkdir(parents=True)
    foreign.touch()
    before = listing(home)
    try:
        first = run("--no-service", environ=environ)
        assert first.returncode == 0, first.stderr
        assert "The word that proves recalld's installation is" in first.stdout.splitlines()[-1]
        command = home / ".local" / "bin" / "recalld"
        assert subprocess.run([command, "status"], env=environ, capture_output=True, check=False).returncode == 0
        written = settings.read_bytes()
        built = os.readlink(home / ".local" / "share" / "recalld" / "venv")
        second = run("--no-service", environ=environ)
        assert second.returncode == 0, second.stderr
        assert "building" not in second.stdout
        assert settings.read_bytes() == written
        assert os.readlink(home / ".local" / "share" / "recalld" / "venv") == built
        assert next((home / ".local").rglob("recalld/**/*.pyc")), "its bytecode is compiled"
    finally:
        last = run("--uninstall", environ=environ)
    assert last.returncode == 0, last.stderr
    assert settings.read_text() == '{"theme": "dark"}'
    data = (".local/share/recalld/", ".config/recalld/", ".cache/")
    assert [name for name in listing(home) if not name.startswith(data)] == before
    assert not (home / ".local" / "share" / "recalld" / "venv").is_symlink()
    gone = run("--purge", environ=environ)
    assert gone.returncode == 0
    assert [name for name in listing(home) if not name.startswith(".cache/")] == before


def test_the_options_are_told(tmp_path: Path) -> None:
    """--help says what there is; anything else unknown is wrong use."""
    environ = environment(tmp_path)
    told = run("--help", environ=environ)
    assert told.returncode == 0
    for option in ("--no-service", "--client", "--uninstall", "--purge", "--yes"):
        assert option in told.stdout
    for wrong in (["--nonsense"], ["--client"]):
        assert run(*wrong, environ=environ).returncode == 2
    assert listing(tmp_path) == []


def test_without_a_python_it_says_how_to_get_one(tmp_path: Path) -> None:
    """One sentence, and nothing is left behind."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in TOOLS:
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    done = run(environ={"HOME": str(tmp_path), "PATH": str(tools)})
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "Python 3.11" in done.stderr
    assert "apt install python3-venv" in done.stderr
    assert not (tmp_path / ".local").exists()


def test_nothing_to_uninstall_is_no_error(tmp_path: Path) -> None:
    """A home that never had recalld is told so at once."""
    done = run("--uninstall", environ=environment(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "not installed" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_root_in_another_users_home_is_refused(tmp_path: Path) -> None:
    """Under sudo nothing is written that its owner could not change."""
    environ = environment(tmp_path)
    os.chown(tmp_path, 1234, 1234)
    done = run(environ=environ)
    assert done.returncode == 1
    assert "without sudo" in done.stderr
    assert listing(tmp_path) == []
