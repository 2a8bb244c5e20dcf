"""recalld's entries in Claude Code's settings.json."""

from __future__ import annotations

import json
import os
import py_compile
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recalld.errors import ConfigError
from recalld.install import json_text, settings

HOOK = Path("/opt/a b/中文/recalld/assets/hooks/hook.py")
WANTED = settings.entries(Path("/usr/bin/python3"), HOOK, Path("/run/user/7/recalld/recalld.sock"))

FOREIGN = """{
    "model": "opus",
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}]}],
        "Stop": [
            {
                "hooks": [
                    {"type": "command", "command": "say done"},
                    {"type": "command", "command": "/home/me/hooks/hook.py stop"},
                    {"type": "command", "command": "python3", "args": ["hook.py", "stop", "/tmp/other.sock"]}
                ]
            }
        ],
        "UserPromptSubmit": [ { "hooks": [ { "type": "command", "command": "echo 'recalld' hook.py" } ] } ],
        "SessionStart": [],
        "SessionEnd": [{"matcher": "", "hooks": []}]
    },
    "unknown": {"中文": [1, 2.50, "\\ud800 \\u00e9"], "permissions" : {"allow":["Bash(ls:*)"]}},
    "env": {}
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "claude" / "settings.json"


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    return tmp_path / "backups"


def write(path: Path, text: str | bytes) -> bytes:
    path.parent.mkdir(exist_ok=True)
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(data)
    return data


def hooks(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))["hooks"]
    assert isinstance(found, dict)
    return found


def ours(path: Path, event: str) -> list[Any]:
    return [entry for group in hooks(path)[event] for entry in group["hooks"] if settings.is_ours(entry)]


def test_entries_are_in_exec_form_with_short_timeouts_in_seconds() -> None:
    """B48: every event is registered once, absolute, without a shell, and with a timeout of 1 to 30 seconds."""
    entries = settings.entries(Path("/usr/bin/python3"), HOOK, Path("/s/recalld.sock"), ["/x/recalld", "run"])
    assert list(entries) == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    for entry, name in zip(entries.values(), ("session-start", "prompt", "stop", "session-end"), strict=True):
        assert entry["type"] == "command"
        assert entry["command"] == "/usr/bin/python3"
        assert isinstance(entry["args"], list)
        assert entry["args"][:3] == ["-I", "-S", "-c"]
        assert entry["args"][4:] == [str(HOOK), name, "/s/recalld.sock", "/x/recalld", "run"]
        assert isinstance(entry["timeout"], int)
        assert 1 <= entry["timeout"] <= 30


def test_a_missing_file_is_created_and_removed(path: Path, backups: Path) -> None:
    """Without settings they are made, for the owner only; taking us out leaves no file behind."""
    assert settings.add_hooks(path, WANTED, backups) == "created"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(hooks(path)) == list(WANTED)
    assert settings.add_hooks(path, WANTED, backups) == "unchanged"
    assert settings.remove_hooks(path, backups) == "removed"
    assert not path.exists()
    assert settings.remove_hooks(path, backups) == "unchanged"


@pytest.mark.parametrize(
    "text",
    [
        FOREIGN.replace('"SessionStart": [],', ""),
        FOREIGN.replace('"SessionStart": [],', "").replace("    ", "\t"),
        FOREIGN.replace('"SessionStart": [],', "").replace("\n", "\r\n"),
        '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]},"a":1}',
        '{\n  "a": 1\n}',
        '\n\n{ "a": {"b": []} }\n\n',
        "{}",
        '{"hooks": {"Notification": [{"hooks": []}]}}\n',
    ],
)
def test_in_and_out_again_leaves_every_byte_as_it_was(text: str, path: Path, backups: Path) -> None:
    """B88: other tools' hooks, unknown keys, order, indentation and line ends survive; running twice changes nothing."""
    before = write(path, text)
    assert settings.add_hooks(path, WANTED, backups) == "changed"
    once = path.read_bytes()
    assert [ours(path, event) for event in WANTED] == [[entry] for entry in WANTED.values()]
    assert settings.add_hooks(path, WANTED, backups) == "unchanged"
    assert path.read_bytes() == once
    assert settings.remove_hooks(path, backups) == "changed"
    assert path.read_bytes() == before
    assert [file.read_bytes() for file in backups.iterdir()] == [before]


def test_the_new_entries_are_laid_out_as_their_neighbours(path: Path, backups: Path) -> None:
    """In an indented file we are indented with its own step, in a one-line file on that line."""
    write(path, '{\n\t"a": 1\n}\n')
    settings.add_hooks(path, WANTED, backups)
    assert path.read_text().startswith('{\n\t"a": 1,\n\t"hooks": {\n\t\t"SessionStart": [\n\t\t\t{\n\t\t\t\t"hooks"')
    write(path, '{"a": 1}')
    settings.add_hooks(path, WANTED, backups)
    assert "\n" not in path.read_text()


def test_an_older_installation_is_replaced(path: Path, backups: Path) -> None:
    """Entries of another prefix, or in the form of a shell line, give way to the present ones."""
    old = settings.entries(Path("/old/python"), Path("/old/hooks/hook.py"), Path("/tmp/x/recalld.sock"))
    write(path, FOREIGN)
    settings.add_hooks(path, old, backups)
    line = {"type": "command", "command": "python3 -I '/home/a b/recalld/hooks/hook.py' stop"}
    text = json_text.append(path.read_text(), ("hooks", "Stop", 0, "hooks"), line)
    write(path, json_text.append(text, ("hooks",), [{"hooks": [line]}], "SubagentStop"))
    assert settings.registered(path)
    assert settings.add_hooks(path, WANTED, backups) == "changed"
    assert [ours(path, event) for event in WANTED] == [[entry] for entry in WANTED.values()]
    assert "SubagentStop" not in hooks(path)
    settings.remove_hooks(path, backups)
    assert not settings.registered(path)
    assert len(hooks(path)["Stop"][0]["hooks"]) == 3


def test_what_other_tools_changed_meanwhile_stays(path: Path, backups: Path) -> None:
    """Another tool may rewrite the whole file between our coming and going; only our entries leave."""
    write(path, '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}')
    settings.add_hooks(path, WANTED, backups)
    document = json.loads(path.read_text())
    document["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "new"}]})
    document["hooks"]["Stop"][1]["hooks"].append({"type": "command", "command": "beside ours"})
    document["theme"] = "dark"
    write(path, json.dumps(document, indent=3))
    settings.remove_hooks(path, backups)
    left = json.loads(path.read_text())
    assert left["theme"] == "dark"
    assert [[entry["command"] for entry in group["hooks"]] for group in left["hooks"]["Stop"]] == [
        ["x"],
        ["beside ours"],
        ["new"],
    ]
    assert list(left["hooks"]) == ["Stop"]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ('{\n  // mine\n  "a": 1\n}', 2),
        ('{\n  "a": 1,\n}', "[23]"),
        ("", 1),
        ("  \n", 1),
        ('{\n "a": {\n  "b"', 3),
        ("\n[1]\n", 2),
        ("3", 1),
        ('{\n "a": NaN}', 2),
        ('{\n "a": "\x01"}', 2),
        (b'{\n\n "a": "\xff"}', 3),
        ('{\n "hooks": []}', 2),
        ('{\n "hooks": {\n  "Stop": {}}}', 3),
        ("[" * 100_000, 1),
    ],
)
def test_what_is_not_plain_json_is_refused_with_its_line(
    data: str | bytes, line: int | str, path: Path, backups: Path
) -> None:
    """B87: a file that we cannot edit safely stays as it is, byte for byte, and the message names file and line."""
    before = write(path, data)
    for attempt in (
        lambda: settings.check(path),
        lambda: settings.add_hooks(path, WANTED, backups),
        lambda: settings.remove_hooks(path, backups),
    ):
        with pytest.raises(ConfigError, match=rf"settings\.json:{line}: "):
            attempt()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["settings.json"]
    assert not backups.exists()


@pytest.mark.parametrize(
    "data", ['{\n  // mine\n  "a": 1\n}', '{\n  "a": 1, /* mine */\n  "b": 2\n}', '{\n  "a": 1,\n}']
)
def test_comments_are_refused_with_the_reason(data: str, path: Path, backups: Path) -> None:
    """B87: Claude Code reads no settings with comments or trailing commas; a hook put into them would never run."""
    before = write(path, data)
    with pytest.raises(
        ConfigError, match=r"settings\.json:[23]: Claude Code ignores .*take them out; nothing was changed"
    ):
        settings.add_hooks(path, WANTED, backups)
    assert path.read_bytes() == before


@pytest.mark.parametrize("data", ["\ufeff{}", '\ufeff{\r\n    "a": 1\r\n}\r\n', '\ufeff\n{"hooks": {}}'])
def test_a_byte_order_mark_stays(data: str, path: Path, backups: Path) -> None:
    """B87: Claude Code minds no byte order mark: the settings behind it are edited, and it is there afterwards."""
    before = write(path, data)
    settings.add_hooks(path, WANTED, backups)
    edited = path.read_bytes()
    assert edited.startswith("\ufeff".encode())
    assert json.loads(edited.decode("utf-8-sig"))["hooks"]["Stop"]
    assert set(settings.registered(path)) == set(WANTED)
    settings.remove_hooks(path, backups)
    assert path.read_bytes() == (before if b"hooks" not in before else "\ufeff\n{}".encode())


def test_a_read_only_file_is_refused(path: Path, backups: Path) -> None:
    """A file its owner has write-protected is not replaced behind the protection, not even by root."""
    before = write(path, '{"a": 1}')
    path.chmod(0o444)
    for attempt in (lambda: settings.check(path), lambda: settings.add_hooks(path, WANTED, backups)):
        with pytest.raises(ConfigError, match=r"settings\.json:1: .*read-only"):
            attempt()
    assert path.read_bytes() == before


def test_a_symbolic_link_stays_one(path: Path, backups: Path, tmp_path: Path) -> None:
    """B89: where the settings lie in a dotfiles folder, the file there is edited, with its mode."""
    target = tmp_path / "dotfiles" / "claude.json"
    before = write(target, '{"a": 1}\n')
    target.chmod(0o640)
    path.parent.mkdir()
    path.symlink_to("../dotfiles/claude.json")
    for change in (
        lambda: settings.add_hooks(path, WANTED, backups),
        lambda: settings.remove_hooks(path, backups),
    ):
        assert change() == "changed"
        assert path.is_symlink()
        assert target.stat().st_mode & 0o777 == 0o640
    assert target.read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_owner_of_the_file_is_kept(path: Path, backups: Path) -> None:
    """The new file belongs to whom the old one belonged to."""
    write(path, "{}")
    os.chown(path, 1234, 2345)
    settings.add_hooks(path, WANTED, backups)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_dangling_link_is_refused(path: Path, backups: Path) -> None:
    """B89: a link to nowhere is named, and nothing is created at its end."""
    path.parent.mkdir()
    path.symlink_to("nowhere.json")
    with pytest.raises(ConfigError, match=r"nowhere\.json, which is not there"):
        settings.add_hooks(path, WANTED, backups)
    assert os.listdir(path.parent) == ["settings.json"]


def test_a_change_that_lands_meanwhile_is_kept(path: Path, backups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B87: a change by another program between our reading and our renaming is in the result."""
    write(path, '{"a": 1}')
    write_through = os.fsync
    late = ['{"a": 1, "theirs": 2}', '{"a": 1, "theirs": 3}']

    def fsync(handle: int) -> None:
        write_through(handle)
        if late:
            write(path, late.pop(0))

    monkeypatch.setattr(os, "fsync", fsync)
    settings.add_hooks(path, WANTED, backups)
    assert not late
    assert json.loads(path.read_text())["theirs"] == 3
    assert ours(path, "Stop")
    assert os.listdir(path.parent) == ["settings.json"]


def test_an_endless_quarrel_is_given_up(path: Path, backups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another program never stops writing, we stop, and its last text stands."""
    write(path, '{"n": -1}')
    counter = iter(range(1000))
    monkeypatch.setattr(os, "fsync", lambda _: write(path, json.dumps({"n": next(counter)})))
    with pytest.raises(ConfigError, match="keeps changing"):
        settings.add_hooks(path, WANTED, backups)
    assert path.read_text() == json.dumps({"n": next(counter) - 1})


def test_the_registered_command_runs_the_script(tmp_path: Path) -> None:
    """The script sees its own arguments and stdin as if it had been started itself."""
    script = tmp_path / "a b 中文" / "hook.py"
    script.parent.mkdir()
    script.write_text("print('an earlier version')")
    py_compile.compile(str(script))
    script.write_text("import sys\nif __name__ == '__main__': print(sys.argv[0], sys.argv[1:], sys.stdin.read())\n")
    entry = settings.entries(Path(sys.executable), script, Path("/s/recalld.sock"), ["r", "run"])["Stop"]
    assert isinstance(entry["args"], list)
    done = subprocess.run(
        [sys.executable, *entry["args"]], input="{}", capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout == f"{script} ['stop', '/s/recalld.sock', 'r', 'run'] {{}}\n"


def test_the_registered_command_is_silent_when_its_script_is_gone(tmp_path: Path) -> None:
    """B90: package removed first: Claude Code goes on as if nothing were registered (a bare script would end with 2)."""
    entry = settings.entries(Path(sys.executable), tmp_path / "gone.py", tmp_path / "recalld.sock")["UserPromptSubmit"]
    assert isinstance(entry["args"], list)
    done = subprocess.run([sys.executable, *entry["args"]], input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
