"""Installing and uninstalling in a scratch home, with real hook and daemon processes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from recalld.errors import ConfigError, InputError, UnavailableError
from recalld.install import assets, known, running, selfcheck, settings, setup
from recalld.paths import Paths

# A daemon of a few lines: it keeps what `add` gives it and injects whatever it has, so that these tests are about
# the installation. `mute` makes it inject nothing.
DAEMON = """#!{python}
import json, os, socket, sys
home = os.environ["RECALLD_HOME"]
kept = {{}}
def answer(head, body):
    words = head.split()
    if words[0] == "hook":
        lines = "\\n".join("- [fact] %s (%s)" % (text, key) for key, text in kept.items())
        if words[1] != "session-start" or not lines or "mute" in {mode!r}:
            return {{}}
        return {{"hookSpecificOutput": {{"hookEventName": "SessionStart", "additionalContext": lines}}}}
    arguments = json.loads(body)
    if words[1] == "status":
        return {{"ok": {{"pid": os.getpid(), "paused": "paused" in {mode!r}}}}}
    if words[1] == "add":
        kept["m-1"] = arguments["text"]
        return {{"ok": {{"id": "m-1", "content": arguments["text"]}}}}
    for key in arguments["ids"]:
        del kept[key]
    open(home + "/deleted", "w").close()
    return {{"ok": []}}
assert sys.argv[1:] == ["run"], sys.argv
if "broken" in {mode!r}:
    sys.exit(3)
server = socket.socket(socket.AF_UNIX)
os.chdir(home)
if os.path.exists("recalld.sock"):
    os.unlink("recalld.sock")
server.bind("recalld.sock")
server.listen()
while True:
    peer, _ = server.accept()
    head, _, body = b"".join(iter(lambda: peer.recv(65536), b"")).partition(b"\\n")
    peer.sendall(json.dumps(answer(head.decode(), body)).encode())
    peer.close()
"""


def no_manager(command: Sequence[str]) -> str:
    raise UnavailableError(f"{command[0]}: not here")


class Home:
    """A user's home with Claude Code's settings, and the program as install.sh leaves it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.recalld = root / "re calld 中"
        self.paths = Paths(self.recalld, self.recalld, self.recalld, self.recalld)
        self.settings = root / ".claude" / "settings.json"
        self.settings.parent.mkdir(parents=True)
        self.settings.write_text('{\n  "model": "opus"\n}\n')
        self.program = self.recalld / "venv-1"
        self.command = self.recalld / "venv" / "bin" / "recalld"
        (self.program / "bin").mkdir(parents=True)
        (self.program / "pyvenv.cfg").touch()
        (self.recalld / "venv").symlink_to("venv-1")
        self.daemon_is("good")
        self.environ = {**os.environ, "HOME": str(root), "RECALLD_HOME": str(self.recalld)}
        for name in ("CLAUDE_CONFIG_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "RECALLD_DISABLE"):
            self.environ.pop(name, None)
            monkeypatch.delenv(name, raising=False)
        for name in ("HOME", "RECALLD_HOME"):
            monkeypatch.setenv(name, self.environ[name])
        monkeypatch.setattr(assets, "prefix", lambda: self.recalld / "venv")

    def daemon_is(self, mode: str) -> None:
        self.command.write_text(DAEMON.format(python=sys.executable, mode=mode))
        self.command.chmod(0o755)

    def install(self, options: setup.Options | None = None) -> list[str]:
        return list(setup.install(options or setup.Options(), ["backend: rules"], self.environ, no_manager))

    def uninstall(self, *, purge: bool = False) -> list[str]:
        return list(setup.uninstall(self.environ, purge=purge, run=no_manager))

    def hook(self, event: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
        entry = json.loads(self.settings.read_text())["hooks"][event][0]["hooks"][0]
        payload = json.dumps({"session_id": "s", "hook_event_name": event, "prompt": "p", "cwd": "/"}).encode()
        return subprocess.run(
            [entry["command"], *entry["args"]], input=payload, env=environ, capture_output=True, check=False
        )

    def listing(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    made = Home(tmp_path / "home", monkeypatch)
    yield made
    if serving := running.status(made.paths):
        os.kill(serving["pid"], signal.SIGKILL)


def test_installing_ends_with_a_memory_that_came_back(home: Home) -> None:
    """Hooks, daemon and backend are told, and the memory that went through socket and hook is printed and gone."""
    lines = home.install()
    assert lines[0].startswith("service: none (there is no service manager here)")
    assert lines[1] == f"hooks: {home.settings} (changed)"
    assert lines[2] == "backend: rules"
    assert "- [fact] The word that proves recalld's installation is" in lines[3]
    assert (home.recalld / "deleted").exists()


def test_installing_twice_changes_nothing(home: Home) -> None:
    """The second time leaves every file as it was."""
    home.install()
    files, text = home.listing(), home.settings.read_bytes()
    assert f"hooks: {home.settings} (unchanged)" in home.install()
    assert (home.listing(), home.settings.read_bytes()) == (files, text)


def test_a_hook_that_finds_no_daemon_starts_it_for_this_home(home: Home) -> None:
    """On demand, in the bare environment of a hook that knows nothing of where recalld's files are."""
    home.install()
    running.stop(home.paths)
    done = home.hook("SessionStart", {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert running.wait(home.paths)["pid"]


def test_uninstalling_leaves_no_trace_but_the_data(home: Home) -> None:
    """B90: settings are as before, no daemon runs, no file of ours is left beside the data."""
    before = home.settings.read_bytes()
    home.install()
    launcher = home.root / ".local" / "bin" / "recalld"
    launcher.parent.mkdir(parents=True)
    launcher.symlink_to(home.command)
    home.paths.database.write_text("memories")
    (home.recalld / "start.lock").touch()
    (home.recalld / "deleted").unlink()
    hook = json.loads(home.settings.read_text())["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    lines = home.uninstall()
    assert "daemon: stopped" in lines
    assert running.status(home.paths) is None
    assert home.settings.read_bytes() == before
    kept = [name for name in home.listing() if name.startswith("re calld") and "claude-settings" not in name]
    assert kept == ["re calld 中", "re calld 中/backups", "re calld 中/memories.db"]
    assert not launcher.is_symlink()
    # A session that is still open has the old hooks in memory.
    done = subprocess.run(
        [hook["command"], *hook["args"]], input=b"{}", env=home.environ, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert home.uninstall()[0].startswith("data: kept")


def test_purging_removes_the_data_and_nothing_else(home: Home) -> None:
    """With --purge all of recalld's files go; what else is in the folder stays."""
    home.install()
    (home.recalld / "deleted").unlink()
    for name in ("memories.db", "memories.db-wal", "config.toml"):
        (home.recalld / name).write_text("x")
    (home.recalld / "mine.txt").write_text("x")
    home.uninstall(purge=True)
    assert home.listing() == [".claude", ".claude/settings.json", "re calld 中", "re calld 中/mine.txt"]


def test_the_command_of_another_program_stays(home: Home) -> None:
    """A file called recalld in ~/.local/bin that is not our link is not ours to remove."""
    launcher = home.root / ".local" / "bin" / "recalld"
    launcher.parent.mkdir(parents=True)
    launcher.write_text("#!/bin/sh\n")
    home.uninstall()
    assert launcher.exists()


def test_settings_that_cannot_be_edited_stop_everything(home: Home) -> None:
    """Nothing is started, written or removed where the hooks cannot be registered."""
    home.settings.write_text("{ // mine\n}")
    before = home.listing()
    with pytest.raises(ConfigError, match=r"settings\.json:1: "):
        home.install()
    with pytest.raises(ConfigError, match=r"settings\.json:1: "):
        home.uninstall()
    assert home.listing() == before


def test_a_memory_that_does_not_come_back_is_an_error(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The self-check can fail, says so, and cleans up all the same."""
    monkeypatch.setattr(selfcheck, "PATIENCE_S", 0.0)
    home.daemon_is("mute")
    with pytest.raises(UnavailableError, match="did not come back"):
        home.install()
    assert (home.recalld / "deleted").exists()


def test_a_daemon_that_cannot_start_is_an_error(home: Home) -> None:
    """Its code is told at once, without waiting."""
    home.daemon_is("broken")
    with pytest.raises(UnavailableError, match="ended with code 3"):
        home.install()


def test_a_hung_daemon_is_ended_by_force(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that holds the home's lock but answers nothing does not outlive the uninstallation."""
    monkeypatch.setattr(running, "HUNG_S", 0.2)
    hung = (
        "import fcntl, os, signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "lock = open(sys.argv[1], 'w'); fcntl.flock(lock, fcntl.LOCK_EX);"
        "print(os.getpid(), file=lock, flush=True); print(flush=True); signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", hung, home.paths.lock], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert running.holder(home.paths) == process.pid
        assert "daemon: stopped" in home.uninstall()
        assert running.holder(home.paths) is None


def test_a_paused_daemon_is_not_checked(home: Home) -> None:
    """While paused nothing is injected, which is no fault."""
    home.daemon_is("paused")
    assert "paused" in home.install()[-1]


def test_an_unknown_client_is_refused(home: Home) -> None:
    """The known ones are named."""
    with pytest.raises(InputError, match="claude-code"):
        home.install(setup.Options(client="emacs"))


def test_every_claude_config_dir_is_honoured(home: Home) -> None:
    """CLAUDE_CONFIG_DIR has the settings, then, and ~/.claude is left alone."""
    home.environ["CLAUDE_CONFIG_DIR"] = str(home.root / "other")
    before = home.settings.read_bytes()
    home.install()
    assert settings.registered(home.root / "other" / "settings.json")
    assert home.settings.read_bytes() == before
    home.uninstall()
    assert not (home.root / "other").exists()


def test_an_uninstallation_takes_the_hooks_out_of_every_folder_they_were_put_into(home: Home) -> None:
    """Whoever has several Claude Code folders installs into each; which one is current at the end does not matter."""
    before = home.settings.read_bytes()
    home.install()
    other = home.root / "other" / "settings.json"
    other.parent.mkdir()
    other.write_text("{}")
    home.environ["CLAUDE_CONFIG_DIR"] = str(other.parent)
    home.install()
    assert known.noted(home.paths) == [home.settings, other]
    assert settings.registered(home.settings)
    assert settings.registered(other)
    del home.environ["CLAUDE_CONFIG_DIR"]
    lines = home.uninstall()
    assert [line for line in lines if line.startswith("hooks:")] == [
        f"hooks: taken out of {home.settings}", f"hooks: taken out of {other}",
    ]  # fmt: skip
    assert (home.settings.read_bytes(), other.read_text()) == (before, "{}")
    assert known.noted(home.paths) == []


def test_one_folder_that_cannot_be_edited_leaves_all_as_they_are(home: Home) -> None:
    """Nothing is half taken out."""
    home.install()
    other = home.root / "other" / "settings.json"
    other.parent.mkdir()
    other.write_text("{ // mine\n}")
    known.note(home.paths, other)
    with pytest.raises(ConfigError, match=r"other/settings\.json:1: "):
        home.uninstall()
    assert settings.registered(home.settings)
    assert running.status(home.paths)


@pytest.mark.parametrize("gone", ["data", "program", "settings", "note"])
def test_what_was_removed_by_hand_hinders_no_uninstallation(home: Home, gone: str) -> None:
    """In whatever order: the rest goes, and a second time finds nothing."""
    home.install()
    serving = running.status(home.paths)
    assert serving
    left = {"data": home.recalld, "program": home.program, "settings": home.settings,
            "note": home.paths.state / known.NAME}[gone]  # fmt: skip
    if left.is_dir():
        shutil.rmtree(left)
    else:
        left.unlink()
    home.uninstall()
    assert settings.registered(home.settings) == {}
    assert not home.command.exists()
    home.uninstall()
    with contextlib.suppress(ProcessLookupError):  # without its folder nobody finds this stand-in; a daemon ends itself
        os.kill(serving["pid"], signal.SIGKILL)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_root_in_another_users_home_is_refused(home: Home) -> None:
    """As under sudo: no file of root's is left where its owner cannot change it."""
    before = home.listing()
    os.chown(home.root, 1234, 1234)
    with pytest.raises(InputError, match="without sudo"):
        home.install()
    assert home.listing() == before


def test_an_interpreter_that_cannot_run_the_hook_is_told(tmp_path: Path) -> None:
    """Missing, or ending with an error."""
    assert setup.check_interpreter(assets.interpreter()).is_absolute()
    with pytest.raises(UnavailableError, match="cannot run the hook"):
        setup.check_interpreter(tmp_path / "python")
    with pytest.raises(UnavailableError, match="cannot run the hook"):
        setup.check_interpreter(Path("/bin/false"))


def test_the_assets_are_there() -> None:
    """Hook script and unit templates are found in a checkout as in a wheel."""
    assert assets.hook_script().is_file()
    assert (assets.units() / "recalld.service").is_file()


def test_an_upgrade_keeps_the_paths_in_hooks_and_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link `venv` stands for whichever environment runs; one that it does not point at is itself."""
    for name in ("venv-1", "venv-2"):
        (tmp_path / name).mkdir()
    (tmp_path / "venv").symlink_to("venv-2")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv-2"))
    assert assets.prefix() == tmp_path / "venv"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv-1"))
    assert assets.prefix() == tmp_path / "venv-1"
