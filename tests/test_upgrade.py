"""`recalld upgrade`, from real checkouts into scratch homes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from test_install_sh import SCRIPT, environment

REPOSITORY = SCRIPT.parent
GIT = ["git", "-c", "user.name=dev", "-c", "user.email=dev@localhost"]


class Installed:
    """A home with recalld, installed by install.sh from a clone of `upstream`."""

    def __init__(self, folder: Path) -> None:
        self.upstream, self.clone = folder / "upstream", folder / "a clone"
        self.environ: Mapping[str, str] = environment(folder / "home")
        kept = ("daemon", "docs", "hooks", "systemd", "skills", ".claude-plugin", "pyproject.toml", "requirements.lock",
                "README.md", "LICENSE", "install.sh")  # fmt: skip
        for name in kept:
            source = REPOSITORY / name
            if source.is_dir():
                shutil.copytree(source, self.upstream / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, self.upstream / name)
        subprocess.run([*GIT, "init", "--quiet", self.upstream], check=True)
        self.commit("first")
        subprocess.run([*GIT, "clone", "--quiet", self.upstream, self.clone], check=True)
        self.run("/bin/sh", str(self.clone / "install.sh"), "--no-service")
        self.command = folder / "home/.local/bin/recalld"

    def commit(self, message: str) -> None:
        subprocess.run([*GIT, "add", "--all"], cwd=self.upstream, check=True)
        subprocess.run([*GIT, "commit", "--quiet", "-m", message], cwd=self.upstream, check=True)

    def write(self, name: str, old: str, new: str) -> None:
        file = self.upstream / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def run(self, *command: str, code: int = 0) -> str:
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, cwd=self.environ["HOME"])
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def recalld(self, *arguments: str, code: int = 0) -> str:
        return self.run(str(self.command), *arguments, code=code)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    made = Installed(tmp_path_factory.mktemp("upgrade"))
    yield made
    made.run("/bin/sh", str(made.clone / "install.sh"), "--purge", "--yes")


@pytest.mark.timeout(600)
def test_a_newer_version_is_taken_and_memories_stay(installed: Installed) -> None:
    """What the checkout's upstream has is pulled, built beside, tried, switched to; the daemon is the new one's."""
    installed.recalld("add", "--scope", "user", "Deploys go out on Tuesdays.")
    before = json.loads(installed.recalld("status", "--json"))
    installed.write("daemon/recalld/__init__.py", f'__version__ = "{before["version"]}"', '__version__ = "99.0.0"')
    installed.commit("99.0.0")
    said = installed.recalld("upgrade")
    assert said.splitlines()[-1] == f"recalld {before['version']} -> 99.0.0"
    after = json.loads(installed.recalld("status", "--json"))
    assert after["version"] == "99.0.0"
    assert after["pid"] != before["pid"]
    assert "Tuesdays" in installed.recalld("list", "--project", "all")


@pytest.mark.timeout(600)
def test_a_version_that_does_not_work_is_not_switched_to(installed: Installed) -> None:
    """The upgrade fails, with its cause, and the version before goes on, with its daemon and memories."""
    version = installed.recalld("--version")
    installed.write("daemon/recalld/cli/main.py", "from __future__ import annotations", "raise SystemExit(3)")
    installed.commit("broken")
    said = installed.recalld("upgrade", code=1)
    assert said.splitlines()[-1].startswith("recalld: the program does not start")
    assert installed.recalld("--version") == version
    assert json.loads(installed.recalld("status", "--json"))["version"] in version
    assert "Tuesdays" in installed.recalld("list", "--project", "all")


@pytest.mark.timeout(600)
def test_what_a_step_said_of_its_failure_is_shown(installed: Installed) -> None:
    """Not only its last line: git's is "Aborting", whatever was wrong."""
    installed.write("README.md", "recalld", "recalled")
    installed.commit("changed")
    mine = installed.clone / "README.md"
    text = mine.read_text()
    mine.write_text(text + "mine\n")
    said = installed.recalld("upgrade", code=1).splitlines()
    mine.write_text(text)
    assert any("README.md" in line for line in said[:-1])
    assert said[-1] == "recalld: git failed with code 1"


def test_a_checkout_that_is_gone_is_named(installed: Installed, tmp_path: Path) -> None:
    """A folder that is no checkout is refused before anything is done."""
    said = installed.recalld("upgrade", str(tmp_path / "nowhere"), code=1)
    assert said == f"recalld: {tmp_path / 'nowhere'}: there is no such checkout or wheel\n"


def test_an_environment_of_the_owners_is_left_to_them(tmp_path: Path) -> None:
    """Where pip put recalld in, pip upgrades it: the command to do that is told."""
    command = REPOSITORY / ".venv/bin/recalld"
    done = subprocess.run([command, "upgrade"], env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 1
    assert "-m pip install --upgrade recalld" in done.stderr
