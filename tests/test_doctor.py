"""`recalld doctor`: what is as it should be, what is not, and that it says how to mend it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable

import pytest

from conftest import Daemon, Home
from recalld import doctor
from recalld.install import assets, settings

NAMES = [
    "folders", "disk", "surroundings", "file system", "config", "interpreter", "hooks", "service", "socket", "database",
    "encryption", "model", "backend", "spool", "queue", "context", "http",
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


def _edit_settings(home: Home, old: str, new: str) -> None:
    path = home.claude / "settings.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


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
    ],
)
def test_each_fault_is_found(home: Home, damage: Callable[[Home], None], name: str, sentence: str) -> None:
    """By the check that it belongs to, with a way out."""
    home.paths.ensure()
    register(home)
    damage(home)
    check = examined(home)[name]
    assert not check.ok
    assert sentence in check.detail
    assert check.fix


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
