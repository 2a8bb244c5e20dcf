"""Settings, installing and uninstalling from the command line."""

from __future__ import annotations

import pytest

from conftest import Daemon, Home, failed, memory
from recalld.errors import UnavailableError
from recalld.install import assets


def test_setting_one_value_keeps_the_file(home: Home) -> None:
    """Comments, order and other keys stay; the file is the owner's alone."""
    home.recalld.mkdir()
    home.paths.config.write_text("# mine\n[memory]\nnotice = true  # the line\n\n[keep]\nbackups = 3\n")
    assert home.json("config", "set", "memory.notice", "false")["value"] is False
    home.json("config", "set", "privacy.words", "Bluebird, Project X")
    home.json("config", "set", "projects.map.~/work/shop.v2", "shop")
    home.json("config", "set", "extract.model", "5")
    home.json("config", "set", "memory.weights.hits", "0.25")
    text = home.paths.config.read_text()
    assert text.startswith("# mine\n[memory]\nnotice = false  # the line\n")
    shown = home.json("config", "show")
    values = shown["values"]
    assert values["privacy"]["words"] == ["Bluebird", "Project X"]
    assert values["projects"]["map"] == {"~/work/shop.v2": "shop"}
    assert (values["extract"]["model"], values["memory"]["weights"]["hits"]) == ("5", 0.25)
    assert (values["keep"]["backups"], values["keep"]["turns_days"]) == (3, 30)
    assert {"memory.notice", "keep.backups"} <= set(shown["set"])
    assert "keep.turns_days" not in shown["set"]
    assert home.paths.config.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("memory.notic", "false", "did you mean memory.notice?"),
        ("notice", "false", "did you mean memory.notice?"),
        ("memory", "x", "there is no setting memory"),
        ("memory.notice.x", "false", "there is no setting memory.notice.x"),
        ("memory.notice", "maybe", "memory.notice: expected `bool`, got `str`; nothing was changed"),
        ("memory.min_confidence", "2", "<= 1.0; nothing was changed"),
        ("extract.backend", "oracle", "invalid enum value 'oracle'"),
        ("privacy.patterns", "(", "is no regular expression"),
    ],
)
def test_a_wrong_setting_changes_nothing(home: Home, key: str, value: str, sentence: str) -> None:
    """And says what would have been right."""
    assert sentence in failed(home.run("config", "set", key, value))
    assert not home.paths.config.exists()


def test_a_setting_applies_to_the_running_daemon(home: Home, daemon: Daemon) -> None:
    """Without a restart."""
    home.json("config", "set", "extract.backend", "rules")
    assert home.json("status")["backend_reason"] == "rules: set in the config"


def test_a_broken_config_names_its_line(home: Home) -> None:
    """For the daemon and for the commands."""
    home.recalld.mkdir(exist_ok=True)
    home.paths.config.write_text("[memory]\nnotice = true\nnotcie = true\n")
    for words in (["run"], ["list"], ["config", "show"], ["config", "set", "memory.enabled", "false"]):
        assert "config.toml:3: memory.notcie: unknown key" in failed(home.run(*words)), words
    assert "config.toml:3" in home.json("status")["last_error"]


def test_installing_and_uninstalling(home: Home) -> None:
    """The whole way with the real daemon: hooks registered, a memory comes back, all of it out again."""
    try:
        assets.command()
    except UnavailableError as error:
        pytest.skip(str(error))
    lines = home.json("install", "--no-service")
    assert any(line.startswith("backend: ") for line in lines)
    assert "got it back through the hook" in lines[-1]
    assert "recalld" in (home.claude / "settings.json").read_text()
    assert home.run("install", "--client", "emacs").returncode == 1
    memory(home, "The shop sells tea.")
    home.json("uninstall")
    assert not (home.claude / "settings.json").exists()
    assert home.json("status")["pid"] is None
    assert len(home.json("list")) == 1
    home.json("uninstall", "--purge", "--yes")
    assert not home.paths.database.exists()
