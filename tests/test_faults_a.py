"""Faults of daemons, sockets, disks and databases that users of such software met, B07 to B33: what must not happen here."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from claude_client import until
from conftest import LONG, Daemon, Home, command, memory
from model_stub import ModelStub, Script
from recalld.install import control, running
from recalld.model import Turn, timestamp
from recalld.store import meta, turns
from recalld.store.connection import WAL_BYTES, open_writer, transaction
from recalld.store.migrate import scripts
from recalld.store.store import Store
from test_daemon import daemons, hook, said, take_turn
from test_limits import mounted
from test_store import NOW, with_store
from test_vectors import found, seed, use, widths

linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


def prompt(home: Home, number: int, *start: str) -> subprocess.CompletedProcess[bytes]:
    """A prompt's hook, as Claude Code runs it."""
    return hook(home, "prompt", said(home, "prompt", f"p{number}", prompt="which package manager?"), *start)


# Sockets and starts --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def mute(path: Path) -> Iterator[None]:
    """Somebody listens at `path`, takes every connection, and never says a word."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    held: list[socket.socket] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(64)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    held.append(listening.accept()[0])

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for peer in held:
                peer.close()


def test_a_socket_that_never_answers_holds_up_no_prompt(home: Home) -> None:
    """B08: twenty prompts in a row are over in a moment each, say nothing, and leave no process."""
    mark = home.root / "started"
    with mute(home.paths.socket):
        for number in range(20):
            done = prompt(home, number, "/bin/sh", "-c", f"touch {mark}")
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert daemons(home) == []
    assert not mark.exists(), "a listener that is there, though mute, is no reason to start another"


@linux
def test_a_missing_socket_file_is_made_again_by_the_one_daemon(home: Home, daemon: Daemon) -> None:
    """B10: a hook that finds it gone is silent; what it starts meanwhile gives way to the daemon that is there."""
    home.paths.socket.unlink()
    done = prompt(home, 1, *command("run"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    until("the socket is there again", home.paths.socket.exists)
    until("one is left", lambda: daemons(home) == [daemon.pid])
    assert home.client.call("status")["pid"] == daemon.pid
    assert prompt(home, 2).returncode == 0


def test_the_number_of_a_living_process_in_the_lock_is_no_daemon(home: Home) -> None:
    """B10: what an old lock file says neither keeps the daemon from starting nor gets that process killed."""
    with subprocess.Popen(["sleep", "600"]) as other:
        try:
            home.recalld.mkdir(mode=0o700)
            home.paths.lock.write_text(f"{other.pid}\n")
            assert home.json("stop") == {"stopped": False}
            assert home.json("status")["pid"] is None
            assert home.json("start")["pid"] != other.pid
            assert home.json("stop") == {"stopped": True}
            assert other.poll() is None
        finally:
            other.kill()


@pytest.mark.timeout(400)
def test_each_kill_is_followed_by_a_start(home: Home) -> None:
    """B11: what a killed daemon leaves, its socket file and its lock, is in nobody's way."""
    for _ in range(20 if LONG else 6):
        serving = home.start_daemon()
        serving.process.kill()
        serving.process.communicate()
        assert home.paths.socket.exists()
    home.start_daemon().stop()


def test_long_homes_that_differ_in_their_last_letter_are_two(tmp_path: Path) -> None:
    """B13: beyond what a socket's path may hold, each home has a daemon and memories of its own."""
    one, two = (Home(tmp_path / ("d" * 150 + last)) for last in "ab")
    try:
        assert one.json("start")["pid"] != two.json("start")["pid"]
        one.json("add", "We use pnpm.", "--scope", "user", "--pin")
        two.json("add", "We use cargo.", "--scope", "user", "--pin")
        for home, own, others in ((one, "pnpm", "cargo"), (two, "cargo", "pnpm")):
            shown = hook(home, "session-start", said(home, "session-start", "", source="startup")).stdout.decode()
            assert own in shown
            assert others not in shown
    finally:
        for home in (one, two):
            assert home.run("stop").returncode == 0


@linux
def test_a_daemon_that_waits_for_a_model_answers_and_is_left_alone(home: Home) -> None:
    """B14: while an extraction takes its time, status tells of it and hooks are answered; nobody starts another."""
    free, mark = threading.Event(), home.root / "started"
    with ModelStub(Script("", hold=free, extraction=True)) as model:
        home.recalld.mkdir()
        (home.recalld / "config.toml").write_text(f'[extract]\nbackend = "anthropic"\nbase_url = "{model.url}"\n')
        running = home.start_daemon(ANTHROPIC_API_KEY="-".join(("sk", "ant", "busy", "0" * 24)))
        memory(home, "We use pnpm for everything.", "--pin")
        take_turn(home, 1, "We decided that the API listens on port 8080.")
        model.wait_for(1, 30)
        facts = home.client.call("status")
        assert (facts["healthy"], facts["jobs"]["running"]) == (True, 1)
        for number in range(5):
            start = said(home, "session-start", "", f"s{number + 2}", source="startup")
            assert b"pnpm" in hook(home, "session-start", start, "/bin/sh", "-c", f"touch {mark}").stdout
        assert daemons(home) == [running.pid]
        assert not mark.exists()
        free.set()
        until("it is over", lambda: home.client.call("status")["jobs"]["running"] == 0)
        running.stop()


def test_a_turn_is_taken_while_thousands_of_vectors_are_made(home: Home) -> None:
    """B14: the work is cut into pieces, between which a Stop gets its commit."""
    seed(home, 4_000)
    running = home.start_daemon()
    until("it has begun", lambda: home.client.call("status")["model"]["state"] == "ready")
    taken = number = 0
    while sum(widths(home).values()) < 4_000:
        number += 1
        payload = said(home, "stop", f"p{number}", last_assistant_message="Done.")
        taken += home.client.exchange(b"hook stop\n" + json.dumps(payload).encode()) == b"{}"
    assert taken > 5
    running.stop()


@linux
def test_a_daemon_that_is_stopped_for_a_while_is_not_replaced(home: Home, daemon: Daemon) -> None:
    """B14: five hooks find it silent and start nobody; what they kept is taken in once it goes on."""
    mark = home.root / "started"
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        for number in range(5):
            prompt(home, number, "/bin/sh", "-c", f"touch {mark}")
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    until("the spool is empty", lambda: home.client.call("status")["spool"] == 0)
    assert home.client.call("status")["pid"] == daemon.pid
    assert not mark.exists()


@pytest.mark.timeout(400)
def test_a_start_right_after_a_stop_serves_time_after_time(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """B15: whoever ends takes nothing away from whoever comes."""
    monkeypatch.setattr(os, "environ", home.environ)
    for _ in range(50 if LONG else 12):
        started = control.start(home.paths)
        assert home.client.call("status")["pid"] == started["pid"]
        assert control.stop(home.paths)
    assert running.holder(home.paths) is None


def test_a_daemon_that_ends_leaves_a_socket_that_is_not_its_own(home: Home, daemon: Daemon) -> None:
    """B15: by whatever way another came to listen there."""
    home.paths.socket.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(home.paths.socket))
        daemon.stop()
        assert home.paths.socket.is_socket()


# Disks ---------------------------------------------------------------------------------------------------------------


def test_a_daemon_that_cannot_listen_for_want_of_space_says_so(home: Home) -> None:
    """B16: `start` and `run` fail with the reason and the path, and wait for nothing."""
    with mounted(home.recalld, "-t", "tmpfs", "-o", "size=64k", "tmpfs"):
        with (home.recalld / "ballast").open("wb", buffering=0) as file, pytest.raises(OSError, match="space"):
            while True:
                file.write(bytes(4096))
        for words in (("start",), ("run",)):
            failing = home.run(*words)
            assert failing.returncode == 1
            assert str(home.recalld) in failing.stderr
            assert "space" in failing.stderr or "full" in failing.stderr


def test_a_full_disk_is_told_as_what_it_is(home: Home) -> None:
    """B16: who gave a sentence hears that it is not stored; who only talks hears at the next start that turns were not."""
    with mounted(home.recalld, "-t", "tmpfs", "-o", "size=4m", "tmpfs"):
        daemon = home.start_daemon()
        ballast = home.recalld / "ballast"
        with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="space"):
            while True:
                file.write(bytes(4096))
        failing = home.run("add", "The shop sells coffee.")
        assert failing.returncode == 1
        assert "the disk is full, nothing was stored" in failing.stderr
        for number in range(2):
            stop = said(home, "stop", f"p{number}", last_assistant_message="Done. " * 100)
            assert hook(home, "stop", stop).returncode == 0
        assert not list(home.paths.spool.iterdir())
        start = hook(home, "session-start", said(home, "session-start", "", "s2", source="startup"))
        told = json.loads(start.stdout)["systemMessage"]
        assert "2 turns could not be stored" in told and "unless that cannot be written either" in told
        ballast.unlink()
        assert memory(home, "The shop sells coffee.")
        daemon.stop()


def powerless() -> tuple[str, ...]:
    """What makes the rights of files hold for a test that root runs, too."""
    if os.getuid():
        return ()
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv, to give up root's rights")
    return "setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"


@linux
@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_home_that_cannot_be_written_to(home: Home, mode: int) -> None:
    """B23: hooks are silent and start nothing that stays; commands and `doctor` name the folder and the way out."""

    def run(*words: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*powerless(), *words], env=home.environ, cwd=home.project, input=text, capture_output=True, timeout=30
        )

    powerless()
    home.paths.ensure()
    for folder in (home.paths.spool, home.paths.log, home.paths.backups, home.recalld):
        folder.chmod(mode)
    try:
        script = str(Path(__file__).parents[1] / "hooks" / "hook.py")
        for event in ("session-start", "prompt", "stop", "session-start"):
            payload = said(home, event, "p1", prompt="hello", last_assistant_message="x", source="startup")
            words = (sys.executable, "-I", "-S", script, event, str(home.paths.socket), *command("run"))
            done = run(*words, text=json.dumps(payload).encode())
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        until("nothing stays", lambda: daemons(home) == [])
        failing = run(*command("add", "The shop sells coffee."))
        assert failing.returncode == 1
        assert failing.stderr.count(b"\n") == 1
        assert str(home.recalld).encode() in failing.stderr
        checks = {check["check"]: check for check in json.loads(run(*command("doctor", "--json")).stdout)}
        assert f"{home.recalld} cannot be written to" in checks["folders"]["detail"]
        assert f"chmod 700 {home.recalld}" in checks["folders"]["fix"]
    finally:
        for folder in (home.recalld, home.paths.spool, home.paths.log, home.paths.backups):
            folder.chmod(0o700)


# The database --------------------------------------------------------------------------------------------------------


def log_bytes(database: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return database.with_name(database.name + "-wal").stat().st_size
    return 0


@contextlib.contextmanager
def reading(database: Path) -> Iterator[None]:
    """The plain program, in the middle of a query.

    In a process of its own: what this one closes would give up the reader's locks, too.
    """
    script = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.execute('begin');"
        "print(db.execute('select count(*) from turns').fetchone(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stdout.readline()
        yield
        assert process.stdin
        process.stdin.close()


def put_turn(db: Any, number: int) -> None:
    turns.touch_session(db, f"s{number}", turns.Where(cwd="/w"), None, False, NOW)
    said = Turn(prompt_id=f"p{number}", session_id=f"s{number}", prompt="word " * 1_000, started_at=timestamp(NOW))
    turns.open_turn(db, said, turns.Where(cwd="/w"))
    turns.fill_turn(db, said.prompt_id, answer="x" * 60_000)
    turns.end_turn(db, said.prompt_id, NOW)


@pytest.mark.timeout(400)
def test_the_log_of_the_database_stays_small_under_load(tmp_path: Path) -> None:
    """B18: thousands of turns, and readers that come and go: the WAL is cut back all the while."""

    async def work(store: Store) -> None:
        for number in range(1_500):
            if number % 10:
                await store.write_durably(put_turn, number)
                assert await store.read(turns.known, f"p{number}")
            else:
                with reading(store.path):
                    await store.write_durably(put_turn, number)
            assert log_bytes(store.path) < 2 * WAL_BYTES
        assert store.path.stat().st_size > 10 * WAL_BYTES, "too little was written to tell"

    with_store(tmp_path, work)


LOOK = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); print(len(db.execute('select content from memories').fetchall()))"


@linux
def test_what_another_program_reads_costs_nothing_that_is_written_after_it(home: Home, daemon: Daemon) -> None:
    """B17: upkeep and checks give up no lock, so that another SQLite, as it leaves, takes no log away from under us."""
    kept = [memory(home, "The shop sells tea.")]
    wal = home.recalld / "memories.db-wal"
    for words in ((), ("maintain",), ("doctor",), ("backup",), ("encrypt", "status"), ("export",)):
        if words:
            home.run(*words)
        before = wal.stat().st_ino
        looked = subprocess.run([sys.executable, "-c", LOOK, str(home.paths.database)], capture_output=True, text=True)
        assert looked.stdout == f"{len(kept)}\n", looked.stderr
        assert wal.stat().st_ino == before, words
        kept.append(memory(home, f"Service {len(kept)} listens on port {7000 + len(kept)}."))
    daemon.process.kill()
    daemon.process.wait()
    again = home.start_daemon()
    assert {row["id"] for row in home.json("list")} == set(kept)
    again.stop()


def test_a_log_that_a_reader_made_grow_is_cut_back_when_it_is_gone(home: Home, daemon: Daemon) -> None:
    """B18: also where nothing more is written after that."""
    # What the daemon writes at its start would cut it back, too.
    until("it has begun", lambda: home.client.call("status")["model"]["state"] == "ready")
    until("it looks for transcripts", lambda: home.client.call("status")["watch"] != "off")
    with reading(home.paths.database):
        with contextlib.closing(open_writer(home.paths.database)) as db, transaction(db):
            for number in range(2 * WAL_BYTES // 60_000):  # no turns: to learn from them would be to write
                meta.put(db, f"filler {number}", "x" * 60_000)
        home.client.call("retry")
        assert log_bytes(home.paths.database) > 2 * WAL_BYTES
    assert home.client.call("retry") == {"revived": 0}
    until("it is cut back", lambda: log_bytes(home.paths.database) <= WAL_BYTES)


@pytest.mark.timeout(400)
def test_sixteen_commands_at_once_make_one_database(home: Home) -> None:
    """B21: on an empty folder, each adds its memory."""
    with ThreadPoolExecutor(16) as pool:
        done = list(pool.map(lambda number: home.run("add", f"Shelf {number} holds cups."), range(16)))
    assert [(each.returncode, each.stderr) for each in done] == [(0, "")] * 16
    assert len(home.json("list")) == 16
    assert schema(home.paths.database) == len(scripts())


OPEN = """
import asyncio, sys
from pathlib import Path
from recalld.store.store import Store
async def work():
    await Store(Path(sys.argv[1]), Path(sys.argv[2])).close()
print(flush=True)
sys.stdin.readline()
asyncio.run(work())
"""


@pytest.mark.timeout(400)
def test_sixteen_processes_at_once_bring_an_old_database_up_to_date(home: Home) -> None:
    """B21: once, whoever comes first; and the copy that is kept of the time before is really of that time."""
    home.paths.ensure()
    db = open_writer(home.paths.database)
    with transaction(db):
        for script in scripts()[:-1]:
            db.execute(script)
        db.pragma("user_version", len(scripts()) - 1)
    db.close()
    words = [sys.executable, "-c", OPEN, str(home.paths.database), str(home.paths.backups)]
    waiting = [
        subprocess.Popen(words, env=home.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(16)
    ]
    for process in waiting:  # each is about to open it
        assert process.stdout
        process.stdout.readline()
    for process in waiting:
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.flush()
    assert [(process.communicate()[1], process.returncode) for process in waiting] == [(b"", 0)] * 16
    assert schema(home.paths.database) == len(scripts())
    assert [schema(copy) for copy in home.paths.backups.iterdir()] == [len(scripts()) - 1]


def schema(database: Path) -> int:
    with contextlib.closing(sqlite3.connect(database)) as db:
        return int(db.execute("pragma user_version").fetchone()[0])


# Libraries and models ------------------------------------------------------------------------------------------------

POOR = """
import importlib.util, sys
import apsw
sys.modules["sqlite3"] = None
if sys.argv.pop(1) == "unloadable":
    class Connection(apsw.Connection):
        def load_extension(self, *ignored):
            raise apsw.ExtensionLoadingError("not for this machine")
    apsw.Connection = Connection
else:
    find, importlib.util.find_spec = importlib.util.find_spec, lambda name: None if name == "sqlite_vec" else find(name)
from recalld.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""An interpreter without sqlite3, whose SQLite cannot compare vectors."""


@pytest.mark.parametrize("lack", ["unloadable", "not installed"])
def test_without_extensions_search_goes_by_words(home: Home, lack: str) -> None:
    """B32: Python's own sqlite3 is not asked for anything; daemon, commands and hooks work, and status says what is missing."""
    script = home.root / "poor.py"
    script.write_text(POOR)
    # `start_daemon` adds the usual command to the wrapper; all that is left of it is `run`.
    wrapper = (sys.executable, str(script), lack)
    serving = home.start_daemon("/bin/sh", "-c", 'exec "$0" "$1" "$2" run', *wrapper)
    facts = until("it says so", lambda: (now := home.client.call("status")["model"])["state"] != "loading" and now)
    assert facts["state"].startswith("vectors paused: ")
    assert "sqlite-vec" in facts["state"]
    memory(home, "The invoices are printed by Gutenberg.", "--pin")
    assert found(home, "who prints the invoices") == ["The invoices are printed by Gutenberg."]
    start = said(home, "session-start", "", source="startup")
    done = hook(home, "session-start", start)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Gutenberg" in done.stdout
    checks = {check["check"]: check for check in json.loads(home.run("doctor", "--json").stdout)}
    assert "install recalld again" in checks["model"]["fix"]
    assert "Traceback" not in (home.paths.log / "recalld.log").read_text()
    serving.stop()
    for words in (["add", "The shop sells tea."], ["search", "tea"], ["list"], ["doctor"]):
        done = subprocess.run([*wrapper, *words], env=home.environ, cwd=home.project, capture_output=True, timeout=30)
        assert b"Traceback" not in done.stdout + done.stderr
        assert done.returncode == (words == ["doctor"]), done
    serving = home.start_daemon()
    until("with the extension all get their vectors", lambda: vectors(home) == 2)
    serving.stop()


def vectors(home: Home) -> int:
    with contextlib.closing(sqlite3.connect(home.paths.database)) as db:
        return int(db.execute("select count(*) from vectors").fetchone()[0])


def test_a_daemon_in_a_machine_without_a_network_embeds_and_serves(home: Home) -> None:
    """B33: with nothing to reach at all, the model of the package is read, and one from elsewhere is told to be missing."""
    alone = ("unshare", "--net") if os.getuid() == 0 else ("unshare", "--net", "--map-root-user")
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("needs a network namespace")
    seed(home, 20)
    serving = home.start_daemon(*alone)
    until("all have vectors", lambda: widths(home) == {256: 20})
    use(home, "minishlab/no-such-model")
    until("it is seen", lambda: home.client.call("status")["model"]["state"].startswith("vectors paused: "))
    assert "Service number 7 listens on port 10007." in found(home, "service number 7 port 10007")
    done = hook(home, "prompt", said(home, "prompt", "p1", prompt="which port has service number 7?"))
    assert (done.returncode, done.stderr) == (0, b"")
    serving.stop()
