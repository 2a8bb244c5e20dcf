"""The command line as its user meets it: real processes, with a daemon and without."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from conftest import Daemon, Home, command, failed, memory
from recalld import __version__
from recalld.cli import command as cli_command
from recalld.cli import main, output
from recalld.model import Scope, Status, Type
from test_limits import mounted

MEMORY_FIELDS = {
    "id", "scope", "project", "type", "content", "tags", "source", "origin", "source_session", "confidence", "status",
    "pinned", "hit_count", "useful_count", "first_seen", "last_seen", "last_used", "created_at", "updated_at",
    "expires_at", "version", "supersedes", "superseded_by", "related", "conflicts", "aliases", "branch", "local_only",
}  # fmt: skip
STATUS_FIELDS = {
    "pid", "version", "uptime_s", "paused", "backend", "model", "memories", "jobs", "spool", "spend", "last_error",
}  # fmt: skip


@pytest.fixture(params=["daemon", "no daemon"])
def served(request: pytest.FixtureRequest, home: Home) -> Home:
    """The home with a daemon, and once more without."""
    if request.param == "daemon":
        request.getfixturevalue("daemon")
    return home


# --- memories, by the daemon and without it ---


def test_a_memory_from_its_first_day_to_its_last(served: Home) -> None:
    """Added, found, shown, edited, pinned, deleted: each command sees what the one before did."""
    added = served.json("add", "The API listens on port 8080.", "--tag", "area:api", "--type", "decision")
    assert added.keys() >= MEMORY_FIELDS
    assert (added["project"], added["type"], added["tags"], added["source"]) == (
        "shop",
        "decision",
        ["area:api"],
        "cli",
    )
    (listed,) = served.json("list")
    assert listed == added
    found = served.json("search", "api port") if _serves(served) else _words_only(served, "api port")
    assert found[0].keys() >= MEMORY_FIELDS | {"score", "similarity"}
    assert found[0]["id"] == added["id"]
    short = added["id"][2:8]
    assert served.json("edit", short, "The API listens on port 8081.")["version"] == added["version"] + 1
    assert served.json("show", short)["content"] == "The API listens on port 8081."
    assert [step["action"] for step in served.json("history", short)][:1] == ["insert"]
    assert served.json("pin", short)[0]["pinned"] is True
    assert served.json("unpin", short)[0]["pinned"] is False
    assert served.json("delete", short)[0]["id"] == added["id"]
    assert served.json("list") == []
    assert [row["id"] for row in served.json("list", "--status", "deleted")] == [added["id"]]


def _serves(home: Home) -> bool:
    return home.json("status")["pid"] is not None


def _words_only(home: Home, query: str) -> list[dict[str, object]]:
    """A search without daemon, which must say what is missing."""
    done = home.run("search", query, "--json")
    assert "no daemon runs" in done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def test_lists_are_about_the_project_at_hand(served: Home) -> None:
    """That of the folder, a named one, or all; what holds for the user is in each."""
    other = served.root / "work" / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    memory(served, "The shop sells tea.")
    memory(served, "I want short answers.", "--scope", "user", "--type", "preference")
    served.json("add", "The other one sells coffee.", cwd=other)

    def contents(*options: str) -> set[str]:
        return {row["content"].split()[-1] for row in served.json("list", *options)}

    assert contents() == {"tea.", "answers."}
    assert contents("--project", "other") == contents("--project", str(other)) == {"coffee.", "answers."}
    assert contents("--project", "all") == {"tea.", "answers.", "coffee."}
    assert contents("--scope", "user") == contents("--type", "preference") == {"answers."}
    assert contents("--project", "all", "--limit", "1") == {"coffee."}
    assert {info["name"] for info in served.json("projects")} == {"shop", "other"}


def test_projects_are_named_merged_and_purged(served: Home) -> None:
    """Each change shows the projects as they are then."""
    memory(served, "The shop sells tea.")
    assert [info["name"] for info in served.json("projects", "name", "shop", "The shop")] == ["The shop"]
    assert served.json("projects", "--yes", "purge", "The shop") == []
    assert served.json("list", "--project", "all") == []


def test_undo_says_that_there_is_nothing(served: Home) -> None:
    """Nothing was learnt, so nothing is taken back; what was added by hand goes another way."""
    memory(served, "The shop sells tea.")
    assert "nothing to undo: that is for what was learnt; `recalld delete ID`" in failed(served.run("undo"))


def test_an_export_counts_what_it_holds_and_an_import_what_it_adds(served: Home, tmp_path: Path) -> None:
    """The mark of what was deleted is no memory."""
    memory(served, "The shop sells tea.")
    file = tmp_path / "all.json"
    assert served.run("export", "--output", str(file)).stdout == f"1 memory in {file}\n"
    assert "1 memory was added" in Home(tmp_path / "other").run("import", str(file)).stdout
    served.json("delete", memory(served, "The shop sells milk."))
    assert served.run("export", "--output", str(file)).stdout == f"1 memory in {file}, and the marks of 1 deleted\n"
    rehearsed = served.run("import", str(file), "--dry-run").stdout
    assert "  known: The shop sells tea." in rehearsed and rehearsed.count("known: ") == 1


def test_an_export_onto_a_full_disk_names_the_file_and_leaves_what_was_there(home: Home, tmp_path: Path) -> None:
    memory(home, "The shop sells tea.")
    file = tmp_path / "disk" / "all.json"
    with mounted(file.parent, "-t", "tmpfs", "-o", "size=64k", "tmpfs"):
        with file.open("wb", buffering=0) as ballast, pytest.raises(OSError, match="space"):
            while True:
                ballast.write(bytes(4096))
        assert failed(home.run("export", "--output", str(file))) == f"recalld: {file}: No space left on device\n"
        assert [found.name for found in file.parent.iterdir()] == ["all.json"]


def test_pause_and_resume(served: Home) -> None:
    """Status shows it, also to a daemon that is started later."""
    assert served.json("pause") == {"paused": True}
    assert served.json("status")["paused"] is True
    assert served.json("resume") == {"paused": False}
    assert served.json("status")["paused"] is False


def test_upkeep_tells_what_it_does(served: Home) -> None:
    """A dry run changes nothing; the real one leaves a backup."""
    memory(served, "The shop sells tea.")
    assert served.json("maintain", "--dry-run")["backup"] is None
    assert os.path.exists(served.json("maintain")["backup"])
    assert served.json("maintain", "--retry") == {"revived": 0}


def test_what_is_wrong_is_one_line(served: Home) -> None:
    """Unknown ids, wrong values, unknown projects: exit code 1 and a sentence, never a traceback."""
    memory(served, "The shop sells tea.")
    for words, sentence in (
        (["show", "abcdef"], "no memory m-abcdef"),
        (["show", "m-xyz"], "is no memory id"),
        (["delete", "abcdef"], "no memory m-abcdef"),
        (["list", "--project", "nowhere"], "no project 'nowhere'"),
        (["list", "--status", "sleeping"], "status sleeping"),
        (["add", "  "], "the text is empty"),
        (["add", "It ends.", "--expires", "2020-01-01"], "is past"),
        (["why"], "nothing was injected yet"),
    ):
        assert sentence in failed(served.run(*words)), words


def test_status_has_all_its_fields(served: Home) -> None:
    """With a daemon and without one the shape is the same."""
    facts = served.json("status")
    assert facts.keys() >= STATUS_FIELDS
    assert facts["model"].keys() == {"id", "state"}
    assert facts["jobs"].keys() == {"ready", "running", "done", "dead"}
    assert facts["spend"].keys() >= {"usd"}
    assert (facts["version"], facts["paused"], facts["spool"]) == (__version__, False, 0)
    assert (facts["pid"] is None) == (facts["state"] == "stopped") == (facts["uptime_s"] is None)
    shown = served.run("status").stdout
    assert all(word in shown for word in ("daemon", "memories", "queue", "today", "model", "spool", "last error"))


# --- how it looks ---


def test_a_list_can_be_read(home: Home, daemon: Daemon) -> None:
    """Pinned first, under headings, ids cut short, columns in line also with wide characters."""
    memory(home, "The shop sells tea.")
    memory(home, "数据库使用 PostgreSQL，端口 5432。", "--pin", "--scope", "user")
    memory(home, "Answer briefly.", "--scope", "user")
    shown = home.run("list").stdout
    assert [line for line in shown.splitlines() if line and "m-" not in line] == [
        "pinned", "shop", "you, in every project", "3 memories",
    ]  # fmt: skip
    lines = [line for line in shown.splitlines() if "m-" in line]
    columns = {_columns(line[: line.index("m-")]) for line in lines}
    assert len(columns) == 1
    assert all(re.search(r"m-[0-9a-f]{6}$", line) for line in lines)
    assert "\x1b" not in shown


def _columns(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def test_a_terminal_gets_colours_unless_it_wants_none(home: Home) -> None:
    """NO_COLOR is honoured."""
    memory(home, "The shop sells tea.")
    assert "\x1b[" in on_terminal(home, "list")
    home.environ["NO_COLOR"] = "1"
    assert "\x1b[3" not in on_terminal(home, "list")


def test_what_a_terminal_would_obey_is_not_printed(home: Home) -> None:
    """A memory cannot clear the screen, nor turn the direction of reading round."""
    added = memory(home, "clear\x1b[2J screen \u202eevil [bold]kept[/bold]")
    for words in (["list"], ["show", added], ["search", "screen"], ["history", added], ["delete", added]):
        shown = home.run(*words).stdout
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert "[bold]kept[/bold]" in shown


def test_deleting_several_asks_on_a_terminal(home: Home) -> None:
    """Anything but yes leaves them; --yes does not ask."""
    ids = [memory(home, f"Shelf {number} holds tea of kind {number}.") for number in range(3)]
    assert "nothing was deleted" in on_terminal(home, "delete", *ids[:2], typed="n\n")
    assert len(home.json("list")) == 3
    on_terminal(home, "delete", *ids[:2], typed="y\n")
    assert [row["id"] for row in home.json("list")] == ids[2:]


def on_terminal(home: Home, *words: str, typed: str = "") -> str:
    """What `recalld WORDS...` shows on a terminal at which `typed` is typed."""
    parent, child = pty.openpty()
    environ = {**home.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command(*words), cwd=home.project, env=environ, stdin=child, stdout=child, stderr=child)
    os.close(child)
    os.write(parent, typed.encode())
    shown = b""
    try:
        while part := os.read(parent, 1 << 16):
            shown += part
    except OSError:
        pass  # Linux' way to say that the other side is closed.
    os.close(parent)
    process.wait(timeout=30)
    return shown.decode()


def test_changes_tell_how_to_take_them_back(home: Home, daemon: Daemon) -> None:
    """The command that is named does it."""
    done = home.run("add", "The shop sells tea.").stdout
    assert "remembered: The shop sells tea. (m-" in done
    back = re.search(r"recalld (delete m-[0-9a-f]{6})", done)
    assert back
    assert "known already" in home.run("add", "The shop sells tea.").stdout
    edited = home.run("edit", back[1].split()[1], "It's coffee.").stdout
    assert "take it back with: recalld edit" in edited
    assert "'The shop sells tea.'" in edited
    assert "recalld add --project shop 'It'\"'\"'s coffee.'" in home.run(*back[1].split()).stdout


def test_a_memory_can_come_from_stdin(home: Home) -> None:
    """`-` reads it."""
    done = home.run("add", "-", "--json", text="The shop\nsells tea.\n")
    assert json.loads(done.stdout)["content"] == "The shop sells tea."


def test_dates_are_humane() -> None:
    """Near ones by the clock, far ones by the calendar."""
    now = output.datetime(2026, 3, 10, 12, 0, tzinfo=output.UTC)
    stamps = (None, "2026-03-10T11:30:00.000Z", "2026-03-09T11:30:00.000Z", "2026-02-01T11:30:00.000Z",
              "2024-02-01T11:30:00.000Z")  # fmt: skip
    shown = [output.day(stamp, now) for stamp in stamps]
    assert (shown[0], shown[2:]) == ("-", ["yesterday", "1 Feb", "Feb 2024"])
    assert re.fullmatch(r"\d\d:\d\d", shown[1])
    assert [output.duration(s) for s in (5, 125, 7500, 190_000)] == ["5 s", "2 min", "2 h 5 min", "2 d 4 h"]


def test_ids_are_cut_but_never_alike() -> None:
    """Six digits at least, more where two begin alike."""
    ids = ["m-" + "a" * 20, "m-" + "a" * 9 + "b" * 11, "m-" + "c" * 20]
    assert list(output.shortened(ids).values()) == ["m-" + "a" * 10, "m-" + "a" * 9 + "b", "m-cccccc"]


# --- use and misuse ---


def test_the_overview_names_every_command(home: Home) -> None:
    """`recalld` alone is the manual's first page."""
    done = home.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"\n  {name}" in done.stdout for name in main.COMMANDS)
    assert max(map(len, done.stdout.splitlines())) <= 120
    assert home.run("--help").stdout == done.stdout
    assert home.run("--version").stdout == f"recalld {__version__}\n"


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help has an example that the command's own parser takes."""
    with pytest.raises(SystemExit) as ended:
        main.main([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "--json" in shown
    assert f"\n  recalld {name}" in shown
    for example in main.COMMANDS[name].examples:
        assert example.startswith(f"recalld {name}")


@pytest.mark.parametrize(
    "words",
    [["nonsense"], ["list", "--nonsense"], ["list", "--type", "joke"], ["list", "--limit", "0"], ["add"], ["show"],
     ["config"], ["config", "burn"], ["logs", "-n", "many"], ["maintain", "--dry-run", "--retry"]],
)  # fmt: skip
def test_wrong_use_is_2(words: list[str], home: Home) -> None:
    """And nothing on stdout, no traceback."""
    done = home.run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_options_and_model_agree() -> None:
    """The words that the parser takes are those of the domain."""
    assert tuple(Type) == cli_command.TYPES
    assert tuple(Scope) == cli_command.SCOPES
    assert (*Status, "all") == cli_command.STATUSES


def test_asking_the_daemon_imports_little(home: Home, daemon: Daemon) -> None:
    """What takes long to import waits until it is needed."""
    script = "import sys; from recalld.cli.main import main; main(['list', '--json']); print(*sys.modules)"
    done = subprocess.run([command()[0], "-c", script], env=home.environ, capture_output=True, text=True, check=True)
    heavy = {"apsw", "asyncio", "logging", "msgspec", "numpy", "rich", "subprocess", "tomlkit", "recalld.app"}
    assert not heavy & set(done.stdout.split())


def test_an_unexpected_error_is_one_line(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """The traceback is for who asks for it."""

    def fail(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("recalld.cli.see.ask", fail)
    assert main.main(["list"]) == 1
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "KeyError" in line
    assert "--debug" in line
    assert main.main(["list", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


Capture = pytest.CaptureFixture[str]


def test_a_reader_that_has_enough_is_no_error(home: Home) -> None:
    """`recalld | head -1` ends quietly."""
    with subprocess.Popen(command(), env=home.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_text_that_is_no_utf8_does_no_harm(home: Home, daemon: Daemon) -> None:
    """A stray byte among the arguments and a plain C locale."""
    done = subprocess.run(
        [*command("add"), b"caf\xe9 au lait is sold.", "--json"], cwd=home.project, env=home.environ,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "au lait" in json.loads(done.stdout)["content"]
    memory(home, "数据库")
    shown = home.run("list", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert len(json.loads(home.run("list", "--json", PYTHONIOENCODING="ascii").stdout)) == 2


def test_a_folder_that_is_gone_is_no_obstacle(home: Home, daemon: Daemon) -> None:
    """What holds everywhere is still shown."""
    gone = home.root / "gone"
    gone.mkdir()
    memory(home, "Answer briefly.", "--scope", "user")
    done = subprocess.run(
        ["/bin/sh", "-c", f'rmdir "{gone}"; exec "$@"', "sh", *command("list", "--json")], cwd=gone, env=home.environ,
        capture_output=True, check=False,
    )  # fmt: skip
    assert [row["content"] for row in json.loads(done.stdout)] == ["Answer briefly."]
