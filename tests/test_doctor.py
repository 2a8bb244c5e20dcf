"""`recalld doctor`: what is as it should be, what is not, and that it says how to mend it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from claude_client import until
from conftest import Daemon, Home, command
from recalld import doctor
from recalld.install import around, assets, settings, systemd
from recalld.model import timestamp
from test_daemon import settled, take_turn

NAMES = [
    "folders", "disk", "surroundings", "file system", "config", "interpreter", "hooks", "other memories", "service",
    "socket", "version", "database", "clock", "encryption", "model", "backend", "claude", "watches", "spool", "queue",
    "context", "http", "hub",
]  # fmt: skip


def register(home: Home) -> None:
    """Register the hooks as `install` does."""
    wanted = settings.entries(assets.interpreter(), assets.hook_script(), home.paths.socket)
    settings.add_hooks(home.claude / "settings.json", wanted, home.paths.backups)


def examined(home: Home) -> dict[str, doctor.Check]:
    return {check.check: check for check in doctor.examine(home.paths, home.environ)}


def test_all_is_well(home: Home, daemon: Daemon) -> None:
    """With hooks and a daemon every check passes, in JSON, on the terminal and by the exit code."""
    register(home)
    found = home.json("doctor")
    assert [check["check"] for check in found] == NAMES
    assert all(check.keys() == {"check", "ok", "detail", "fix"} for check in found)
    assert [check for check in found if not check["ok"] or check["fix"]] == []
    assert home.run("doctor").stdout.count("ok  ") == len(NAMES)


def test_a_home_that_is_not_set_up(home: Home) -> None:
    """Nothing registered, nothing running: exit code 1, and each failure says what to do. Looking creates nothing."""
    done = home.run("doctor", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    found = examined(home)
    assert {name for name, check in found.items() if not check.ok} == {"hooks", "socket"}
    assert found["hooks"].fix == "recalld install"
    assert all(check.fix for check in found.values() if not check.ok)
    assert not home.recalld.exists()
    shown = home.run("doctor").stdout
    assert "FAIL" in shown
    assert "-> recalld install" in shown


def test_hooks_of_a_plugin_count(home: Home) -> None:
    """They stand in the plugin, not in the settings."""
    plugins = home.claude / "plugins"
    plugins.mkdir()
    (plugins / "installed_plugins.json").write_text('{"version": 2, "plugins": {"recalld@recalld": []}}')
    assert examined(home)["hooks"].ok


def _dead_script(home: Home) -> None:
    _edit_settings(home, str(assets.hook_script()), "/nowhere/recalld/hooks/hook.py")


def _other_socket(home: Home) -> None:
    _edit_settings(home, str(home.paths.socket), "/nowhere/recalld.sock")


def _dead_interpreter(home: Home) -> None:
    _edit_settings(home, str(assets.interpreter()), "/nowhere/python3")


def _edit_settings(home: Home, old: str, new: str, count: int = -1) -> None:
    path = home.claude / "settings.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))


def _broken_settings(home: Home) -> None:
    (home.claude / "settings.json").write_text("{\n// mine\n}")


def _open_folder(home: Home) -> None:
    home.recalld.chmod(0o755)


def _broken_config(home: Home) -> None:
    home.paths.config.write_text("[memory]\nnotcie = 1\n")


def _damaged(home: Home) -> None:
    home.paths.database.write_bytes(b"SQLite format 3\0" + os.urandom(8192))


def _spooled(home: Home) -> None:
    (home.paths.spool / "1-1.hook").touch()


def _other_plugin(home: Home) -> None:
    _edit_settings(home, "{", '{"enabledPlugins": {"claude-mem@thedotmack": true, "off-mem0@x": false}, ', 1)


def _other_hook(home: Home) -> None:
    entry = json.dumps({"hooks": [{"type": "command", "command": "npx -y mem0-hook recall"}]})
    _edit_settings(home, '"Stop": [', f'"Stop": [{entry}, ')


def _from_the_future(home: Home) -> None:
    home.json("add", "We use pnpm.")
    later = timestamp(datetime.now(UTC) + timedelta(days=2))
    with sqlite3.connect(home.paths.database) as db:
        db.execute("update memories set last_seen = ?", (later,))
    db.close()


def _open_token(home: Home) -> None:
    home.paths.http_token.write_text("x")
    home.paths.http_token.chmod(0o644)


def _open_password(home: Home) -> None:
    home.paths.config.write_text(f'[hub]\ndsn = "postgresql://ann:{"pass" + "word"}@db.example/hub"\n')
    home.paths.config.chmod(0o644)


def _failed_service(home: Home) -> None:
    units, program = systemd.folder(home.environ), home.root / "bin" / "systemctl"
    for folder in (units, program.parent):
        folder.mkdir(parents=True)
    (units / systemd.SOCKET).write_text(f"ListenStream={home.paths.socket}\n")
    (units / systemd.SERVICE).write_text("ExecStart=/bin/true run\n")
    program.write_text("#!/bin/sh\nprintf 'ActiveState=failed\\nSubState=failed\\n'\n")
    program.chmod(0o755)
    os.environ["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"


def _lost_script(home: Home) -> None:
    script = home.root / "user" / "recalld" / "hook.py"
    script.parent.mkdir()
    _edit_settings(home, str(assets.hook_script()), str(script))


def _missing_backend(home: Home) -> None:
    home.paths.config.write_text('[extract]\nbackend = "claude"\n')


@pytest.mark.parametrize(
    ("damage", "name", "sentence"),
    [
        (_dead_script, "hooks", "leads to /nowhere/recalld/hooks/hook.py, which is not there"),
        (_other_socket, "hooks", "but this home's socket is"),
        (_dead_interpreter, "hooks", "is run by /nowhere/python3, which is not there"),
        (_broken_settings, "hooks", "settings.json:2"),
        (_open_folder, "folders", "can be read by others (mode 755)"),
        (_broken_config, "config", "config.toml:2: memory.notcie: unknown key"),
        (_damaged, "database", "damaged"),
        (_spooled, "spool", "1 waiting in"),
        (_missing_backend, "backend", "rules only"),
        (_other_plugin, "other memories", "claude-mem@thedotmack (plugin) gives to the same sessions"),
        (_other_hook, "other memories", "mem0 (hook of Stop) gives to the same sessions"),
        (_from_the_future, "clock", "1 of the stored times lie in the future"),
        (_open_token, "http", "http.token can be read by others (mode 644)"),
        (_open_password, "hub", "holds the hub's password and can be read by others (mode 644)"),
        (_failed_service, "service", "systemd says: failed (failed)"),
        (_lost_script, "hooks", "hook.py, which is not there"),
    ],
)
def test_each_fault_is_found(
    home: Home, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Home], None], name: str, sentence: str
) -> None:
    """By the check that it belongs to, with a way out."""
    monkeypatch.setenv("PATH", os.environ["PATH"])  # put back afterwards
    home.paths.ensure()
    register(home)
    damage(home)
    check = examined(home)[name]
    assert not check.ok
    assert sentence in check.detail
    assert check.fix


SMALL = 'mount -t tmpfs -o size=20m tmpfs "$1"; shift; exec "$@"'


def _can_mount() -> bool:
    probe = ["unshare", "--mount", "sh", "-c", SMALL, "sh", "/mnt", "true"]
    return bool(shutil.which("unshare")) and subprocess.run(probe, capture_output=True).returncode == 0


@pytest.mark.skipif(not _can_mount(), reason="only root can mount a small disk")
def test_a_disk_that_is_nearly_full(home: Home) -> None:
    """Before it is full: then nothing could be remembered."""
    home.recalld.mkdir(mode=0o700)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SMALL, "sh", home.recalld, *command("doctor", "--json")],
        env=home.environ, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    (check,) = [check for check in json.loads(done.stdout) if check["check"] == "disk"]
    assert (check["ok"], check["fix"]) == (False, "free some space: nothing can be remembered on a full disk")
    assert check["detail"].startswith("0.0 GiB are free")


def test_extractions_that_gave_up(home: Home, daemon: Daemon) -> None:
    """What nobody tries any more is told, with its error and the command that tries again."""
    take_turn(home, 1, "We decided to use pnpm for everything here.")
    until("the turn is learnt", lambda: settled(home, 1))
    with sqlite3.connect(home.paths.database) as db:
        db.execute("update jobs set state = 'dead', last_error = 'no answer'")
    db.close()
    check = examined(home)["queue"]
    assert (check.ok, check.fix) == (False, "recalld maintain --retry")
    assert "1 extractions gave up: no answer" in check.detail


def test_a_memory_that_only_answers_is_no_hindrance(home: Home) -> None:
    """An MCP server gives nothing by itself; it is named all the same."""
    register(home)
    servers = {"mcpServers": {"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}}}
    (home.claude / ".claude.json").write_text(json.dumps(servers))
    check = examined(home)["other memories"]
    assert check.ok
    assert "memory" in check.detail
    assert "no hindrance: memory" in check.detail


def test_a_daemon_of_another_version(home: Home, daemon: Daemon) -> None:
    """As after an upgrade that did not restart it."""
    register(home)
    assert examined(home)["version"].ok
    assert around.versions("0.0.9", "0.1.0") == ("the daemon is 0.0.9, this program 0.1.0", "recalld restart")


def test_a_clock_that_is_behind_the_program() -> None:
    """A machine whose battery is empty starts in the past."""
    detail, fix = around.clock(datetime(2001, 1, 1, tzinfo=UTC), 0)
    assert "2001-01-01" in detail
    assert fix == "set the clock right"
    assert around.clock(datetime.now(UTC), 0)[1] == ""


LIMITED = 'echo 0 > /proc/sys/user/max_inotify_{kind}; exec "$@"'


def _can_limit() -> bool:
    probe = ["unshare", "--user", "--map-root-user", "sh", "-c", LIMITED.format(kind="watches"), "sh", "true"]
    return bool(shutil.which("unshare")) and subprocess.run(probe, capture_output=True).returncode == 0


@pytest.mark.skipif(not _can_limit(), reason="needs a user namespace to set limits in")
@pytest.mark.parametrize("kind", ["watches", "instances"])
def test_a_limit_of_the_system_that_is_reached(home: Home, kind: str) -> None:
    """The limits on watches are shared with the editor; without any left, transcripts are found more slowly."""
    wrapper = ["unshare", "--user", "--map-root-user", "sh", "-c", LIMITED.format(kind=kind), "sh"]
    done = subprocess.run(
        [*wrapper, *command("doctor", "--json")], env=home.environ, capture_output=True, text=True, timeout=60
    )
    (check,) = [check for check in json.loads(done.stdout) if check["check"] == "watches"]
    assert not check["ok"]
    assert f"the limit of inotify {kind} is reached" in check["detail"]
    assert "sysctl" in check["fix"]


def test_no_secret_is_told(home: Home) -> None:
    """That there is a key is said, and not which."""
    key = "sk-" + "ant-api03-" + "q7" * 20
    home.environ["ANTHROPIC_API_KEY"] = key
    register(home)
    told = home.run("doctor").stdout + home.run("doctor", "--json").stdout
    assert "key from $ANTHROPIC_API_KEY" in told
    assert key not in told


def test_a_socket_open_to_others(home: Home, daemon: Daemon) -> None:
    """Its mode is looked at."""
    home.paths.socket.chmod(0o666)
    assert "mode 666" in examined(home)["socket"].detail


def test_a_database_of_a_newer_program(home: Home) -> None:
    """Is told as such, not as damage."""
    home.json("list")
    with sqlite3.connect(home.paths.database) as db:
        db.execute("pragma user_version = 99")
    db.close()
    check = examined(home)["database"]
    assert (check.ok, check.fix) == (False, "upgrade recalld")


def test_the_newest_backup_is_named(home: Home) -> None:
    """For a damaged database there is a way back."""
    home.json("maintain")
    _damaged(home)
    (backup,) = home.paths.backups.glob("memories-*.db")
    assert str(backup) in examined(home)["database"].fix
