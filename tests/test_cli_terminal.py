"""The terminal: completion in real shells, narrow and wide characters, questions, pipes that close, Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import PATIENCE_S, Daemon, Home, command, failed, memory
from recalld.cli import complete, completion, main
from test_cli import on_terminal

# --- completion ---


def table() -> dict[str, object]:
    return completion.table((one, main.parser(one)) for one in main.COMMANDS.values())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], set(main.COMMANDS)),
        (["sho"], {"show"}),
        (["show", ""], "ids"),
        (["delete", "m-1", "m-"], "ids"),
        (["delete", "--yes", ""], "ids"),
        (["show", "m-1", ""], set()),
        (["list", "--type", ""], {"fact", "preference", "decision", "lesson", "progress", "summary"}),
        (["list", "--project", ""], "projects"),
        (["list", "--limit", ""], ""),
        (["list", "--limit", "3", "--sc"], {"--scope"}),
        (["feedback", "m-1", "u"], {"useful", "useless"}),
        (["projects", ""], {"name", "merge", "relink", "purge"}),
        (["projects", "merge", "a", ""], "projects"),
        (["projects", "relink", "a", ""], "files"),
        (["export", "--output", ""], "files"),
        (["nonsense", ""], set()),
    ],
)
def test_each_place_of_a_line_is_known(words: list[str], expected: object) -> None:
    """From the commands' own arguments, so nothing has to be kept up by hand."""
    found = complete.wanted(json.loads(json.dumps(table())), words)
    if not isinstance(found, str):
        found = {word for word, _ in found if word.startswith(words[-1])}
    assert found == expected


def shell_script(home: Home, shell: str) -> str:
    done = home.run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    file = home.root / f"completion.{shell}"
    file.write_text(done.stdout)
    return str(file)


def in_bash(home: Home, *words: str) -> list[str]:
    """What bash offers for the last of `words`."""
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); __recalld_bash; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, shell_script(home, "bash"), *words], cwd=home.project,
                          env=home.environ, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_bash_offers_commands_ids_and_projects(home: Home, daemon: Daemon) -> None:
    first, second = memory(home, "The shop sells tea."), memory(home, "数据库使用 PostgreSQL。")
    home.json("projects", "name", "shop", "The shop")
    assert in_bash(home, "recalld", "pro") == ["projects"]
    assert sorted(in_bash(home, "recalld", "show", "m-")) == sorted((first[:8], second[:8]))
    assert in_bash(home, "recalld", "show", first[2:6]) == [first[2:8]]
    assert in_bash(home, "recalld", "list", "--project", "T") == [r"The\ shop"]


def test_without_a_daemon_only_what_it_would_be_asked_is_missing(home: Home) -> None:
    assert in_bash(home, "recalld", "pau") == ["pause"]
    assert in_bash(home, "recalld", "show", "m-") == [""]


def test_ids_are_offered_with_as_many_digits_as_they_need(home: Home, daemon: Daemon) -> None:
    """Two that begin alike are told apart."""
    made = memory(home, "The shop sells tea.")
    exported = json.loads(home.run("export").stdout)
    twin = exported["memories"][0] | {"id": made[:12] + ("0" * 10 if made[12] != "0" else "1" * 10), "content": "Tea."}
    file = home.root / "twin.json"
    file.write_text(json.dumps(exported | {"memories": [twin]}))
    home.json("import", str(file))
    assert sorted(in_bash(home, "recalld", "show", "m-")) == sorted((made[:13], twin["id"][:13]))


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_fish_offers_the_same_with_their_meaning(home: Home, daemon: Daemon) -> None:
    made = memory(home, "The shop's tea.")
    script = shell_script(home, "fish")

    def offered(line: str) -> str:
        ask = f"source {script}; complete -C '{line}'"
        return subprocess.run(["fish", "-c", ask], cwd=home.project, env=home.environ, capture_output=True, text=True,
                              check=True).stdout  # fmt: skip

    assert offered("recalld paus") == "pause\tgive and learn nothing until `resume`\n"
    assert offered("recalld show m-") == f"{made[:8]}\tThe shop's tea.\n"


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_finishes_a_word(home: Home, daemon: Daemon) -> None:
    made = memory(home, "The shop sells tea.")
    script = shell_script(home, "zsh")
    begin = f"autoload -Uz compinit; compinit -u -D; source {script}; print -r -- RE''ADY\n"
    shown = typed(
        ["zsh", "-f", "-i"], home, [(begin, "READY"), ("recalld paus\t", "pause "), ("\x15recalld show m\t", made[:8])]
    )
    assert made[:8] in shown


def typed(words: Sequence[str], home: Home, steps: Sequence[tuple[str, str]]) -> str:
    """What a program shows at a terminal: types each text, and waits until what it must lead to is there."""
    parent, child = pty.openpty()
    environ = {**home.environ, "TERM": "dumb", "PS1": "$ "}
    process = subprocess.Popen(words, cwd=home.project, env=environ, stdin=child, stdout=child, stderr=child,
                               start_new_session=True)  # fmt: skip
    os.close(child)
    shown = ""
    try:
        for text, expected in steps:
            os.write(parent, text.encode())
            begun, deadline = len(shown), time.monotonic() + PATIENCE_S
            while expected not in shown[begun:]:
                assert select.select([parent], [], [], deadline - time.monotonic())[0], shown
                shown += os.read(parent, 1 << 16).decode(errors="replace")
    finally:
        process.kill()
        process.wait()
        os.close(parent)
    return shown


def test_completing_imports_almost_nothing() -> None:
    """A shell waits for it at each Tab."""
    script = (
        "import sys; sys.argv = ['x', '/nowhere/s', 'show', 'm']\n"
        f"exec(open({completion.SCRIPT!r}).read())\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], input=json.dumps(table()), capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert not {"argparse", "typing", "socket", "pathlib", "recalld", "msgspec"} & set(done.stderr.split())


# --- how it looks ---


def columns(line: str) -> int:
    """How many columns a terminal needs, by the standard's own table."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    return sum(
        2 if unicodedata.east_asian_width(sign) in "WF" else 0 if unicodedata.combining(sign) else 1 for sign in plain
    )


TEXTS = (
    "数据库使用 PostgreSQL，端口 5432。",
    "한국어 메모와 日本語のメモ。",
    "Ship it 🚀 with tea 🍵.",
    "Plain words.",
    "Cafe\u0301 prices.",
)


def test_columns_stay_in_line_with_any_script(home: Home, daemon: Daemon) -> None:
    """Chinese, Japanese, Korean, emoji and combining marks: the ids stand under each other."""
    for text in TEXTS:
        memory(home, text)
    lines = [line for line in home.run("list").stdout.splitlines() if "m-" in line]
    assert len(lines) == len(TEXTS)
    assert len({columns(line[: line.rindex("m-")]) for line in lines}) == 1


SHOWN = (
    ["list"], ["search", "tea shop"], ["status"], ["stats"], ["projects"], ["tags"], ["inbox"], ["conflicts"], ["doctor"],
    ["config", "show"], ["show", "ID"], ["history", "ID"], ["why"], [], ["delete", "--help"],
)  # fmt: skip


def test_forty_columns_are_enough(home: Home, daemon: Daemon) -> None:
    """Nothing is wider than the terminal, and the text of a memory is not cut up into a word a line."""
    text = "The shop sells green tea in tins of one hundred grams, and 茶叶 in bags."
    made = memory(home, text, "--tag", "area:sales")
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt_id": "p", "cwd": str(home.project),
             "prompt": "What kind of tea does the shop sell in tins?"}  # fmt: skip
    home.client.exchange(b"hook prompt entrypoint=cli\n" + json.dumps(asked).encode())  # it leaves a receipt
    others = [
        memory(home, f"The shelf of {thing} has number {number}.") for number, thing in enumerate(("cups", "tins"))
    ]
    with contextlib.closing(sqlite3.connect(home.paths.database)) as db, db:
        db.execute("update memories set status = 'pending' where id = ?", (memory(home, "Logs go to Loki."),))
        db.execute("insert into conflicts (older, newer, opened_at) values (?, ?, '2026-01-01T00:00:00.000Z')", others)
    home.environ["COLUMNS"] = "40"
    for words in SHOWN:
        shown = home.run(*(made if word == "ID" else word for word in words)).stdout
        wide = [line for line in shown.splitlines() if columns(line) > 40 and " " in line.strip()]
        assert not wide, (words, wide)
        if words and words[0] in ("list", "search", "show", "why"):
            assert len([line for line in shown.splitlines() if "tea in" in line or "green tea" in line]) >= 1, shown


def test_a_list_on_a_terminal_shows_the_beginning_of_what_is_long(home: Home, daemon: Daemon) -> None:
    """And only the number of many conflicts; pipes and --json get each text whole."""
    text = "We wrote it down. " + "word " * 700
    kept = memory(home, text)
    others = [memory(home, f"The shelf of {thing} is painted.") for thing in ("cups", "tins", "jars", "pans")]
    with contextlib.closing(sqlite3.connect(home.paths.database)) as db, db:
        at = "2026-01-01T00:00:00.000Z"
        db.executemany("insert or ignore into conflicts (older, newer, opened_at) values (?, ?, ?)",
                       [(kept, other, at) for other in others])  # fmt: skip
    shown = " ".join(typed(command("list"), home, [("", "5 memories")]).split())
    assert shown.count("word") < 100
    assert "more characters: `recalld show`)" in shown
    assert "(in conflict with 4 others)" in shown
    assert home.run("list").stdout.count("word") == 700
    assert {row["id"]: row["content"] for row in home.json("list")}[kept] == text.strip()


# --- questions ---


def test_whole_projects_are_not_removed_unasked(home: Home, daemon: Daemon) -> None:
    """On a terminal only yes does it; a script is not asked."""
    ids = [memory(home, f"Shelf {number} holds tea of kind {number}.") for number in range(3)]
    assert "nothing was removed" in on_terminal(home, "projects", "purge", "shop", typed="n\n")
    assert len(home.json("list")) == 3
    assert len(home.json("delete", *ids[:2])) == 2
    home.run("projects", "purge", "shop")
    assert home.json("list", "--project", "all") == []


def test_many_are_not_rejected_unasked(home: Home, daemon: Daemon) -> None:
    home.run("config", "set", "memory.confirm", "all")
    home.json("add", "We use Redis.")
    ids = [memory(home, text) for text in ("Logs go to Loki.", "Invoices are PDF files.")]
    with sqlite3.connect(home.paths.database) as db:
        db.execute("update memories set status = 'pending'")
    db.close()
    assert "nothing was rejected" in on_terminal(home, "reject", *ids, typed="n\n")
    assert len(home.json("inbox")) == 3
    assert len(home.json("reject", *ids)) == 2


def test_what_was_done_can_be_taken_back_as_told(home: Home, daemon: Daemon) -> None:
    """Each hint is a command that works, and leads back."""
    made = memory(home, "The shop sells tea.", "--tag", "area:sales")
    before = {name: home.json("show", made)[name] for name in ("tags", "scope", "project", "status", "pinned")}
    for words in (["tag", made, "x y", "--remove", "area:sales"], ["move", made, "--scope", "user"], ["pin", made], ["tags", "rename", "area:sales", "area:shop"],
                  ["archive", made]):  # fmt: skip
        done = home.run(*words).stdout
        back = re.search(r"take it back with: recalld (.+)", done)
        assert back, done
        assert home.run(*shlex.split(back[1])).returncode == 0
        assert {name: home.json("show", made)[name] for name in before} == before, words


# --- pipes and signals ---


def test_a_reader_that_leaves_early_is_no_error(home: Home, daemon: Daemon) -> None:
    """`recalld list | head -1`: quiet, with more to say than a pipe holds."""
    for number in range(30):
        memory_by_call(home, f"Shelf {number} holds tea of kind {number}: " + "tea " * 900)
    script = '"$@" | head -c 10 >/dev/null; exit "${PIPESTATUS[0]}"'
    for words in (["list"], ["list", "--json"], ["export"], ["search", "tea"]):
        done = subprocess.run(["bash", "-c", script, "x", *command(*words)], cwd=home.project, env=home.environ,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), words


def memory_by_call(home: Home, text: str) -> None:
    home.client.call("add", text=text, cwd=str(home.project))


def test_ctrl_c_ends_with_one_line(home: Home) -> None:
    """While it waits for a daemon that hangs."""
    home.recalld.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as hung:
        before = Path.cwd()
        os.chdir(home.recalld)
        hung.bind(home.paths.socket.name)
        os.chdir(before)
        hung.listen()
        process = subprocess.Popen(
            command("list"), cwd=home.project, env=home.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # a background job ignores it
        )  # fmt: skip
        connection, _ = hung.accept()
        with contextlib.closing(connection):
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (130, "", "recalld: interrupted\n")


def test_long_work_shows_that_it_goes_on(home: Home) -> None:
    """On a terminal only."""
    memory(home, "The shop sells tea.")
    assert "backing up" in on_terminal(home, "maintain")
    assert "backing up" not in home.run("maintain").stderr
    assert failed(home.run("show", "abcdef"))
