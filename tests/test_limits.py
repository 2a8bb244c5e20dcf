"""A full disk, a home that cannot be written to, a database that another process holds, a clock that jumps."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from claude_client import until
from conftest import Home, command, memory
from recalld.store import jobs
from test_events import House, run

assert run  # the fixture
HOOK = Path(__file__).parents[1] / "hooks" / "hook.py"
MIB = 1024 * 1024


def hook(home: Home, event: str, payload: dict[str, Any], *start: str) -> tuple[int, bytes, float]:
    """Exit code, output and seconds of a real hook."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-I", "-S", HOOK, event, home.paths.socket, *start], capture_output=True, env=home.environ,
        input=json.dumps({"cwd": str(home.project), "session_id": "s1", **payload}).encode(), timeout=20, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr, time.monotonic() - begun


def turn(home: Home, number: int, answer: str = "Done.") -> None:
    """A prompt and its Stop; both must be silent and quick."""
    said = f"We decided that service {number} listens on port {7000 + number}."
    for event, name, more in (
        ("prompt", "UserPromptSubmit", {"prompt": said}), ("stop", "Stop", {"last_assistant_message": answer}),
    ):  # fmt: skip
        code, _, seconds = hook(home, event, {"hook_event_name": name, "prompt_id": f"p{number}", **more})
        assert code == 0
        assert seconds < 3  # the contract is 0.3 s; the machine may be busy


def deliver(home: Home, number: int, answer: str) -> bool:
    """Hand a turn over without a hook; whether its Stop was acknowledged."""
    common = {"cwd": str(home.project), "session_id": "s1", "prompt_id": f"p{number}"}
    prompt = {**common, "hook_event_name": "UserPromptSubmit", "prompt": f"We decided to call cup {number} blue."}
    home.client.exchange(b"hook prompt entrypoint=cli\n" + json.dumps(prompt).encode())
    stop = {**common, "hook_event_name": "Stop", "last_assistant_message": answer}
    return home.client.exchange(b"hook stop entrypoint=cli\n" + json.dumps(stop).encode()) == b"{}"


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """A file system of its own at `folder`, where we may make one."""
    folder.mkdir(exist_ok=True)
    if os.getuid() or subprocess.run(["mount", *options, folder], capture_output=True, check=False).returncode:
        pytest.skip("needs root, to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_costs_no_turn_and_work_resumes_by_itself(home: Home) -> None:
    """B24: the database stays sound, nothing is acknowledged that is not kept, and with space again all goes on."""
    with mounted(home.recalld, "-t", "tmpfs", "-o", "size=12m", "tmpfs"):
        home.recalld.chmod(0o700)
        running = home.start_daemon()
        turn(home, 1)
        ballast = home.recalld / "ballast"
        with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="space"):
            while True:
                file.write(bytes(64 * 1024))
        acknowledged = {f"p{number}" for number in range(2, 12) if deliver(home, number, "x" * 200_000)}
        assert len(acknowledged) < 10
        assert home.client.call("status")["pid"] == running.pid
        with sqlite3.connect(f"file:{home.paths.database}?mode=ro", uri=True) as db:
            assert db.execute("pragma quick_check").fetchall() == [("ok",)]
        db.close()
        ballast.unlink()
        turn(home, 20)
        until("the new turn is learnt", lambda: {"p1", "p20", *acknowledged} <= set(done(home)))
        assert home.paths.backups.is_dir()
        assert list(home.paths.backups.glob("quarantine-*")) == []
        running.stop()


def done(home: Home) -> list[str]:
    with sqlite3.connect(f"file:{home.paths.database}?mode=ro", uri=True) as db:
        found = [row[0] for row in db.execute("select key from jobs where state = 'done'")]
    db.close()
    return found


def test_a_full_runtime_folder_is_named(home: Home) -> None:
    """B16: the command fails at once with the reason and the path; hooks are silent."""
    with mounted(home.recalld, "-t", "tmpfs", "-o", "size=64k", "tmpfs"):
        with (home.recalld / "ballast").open("wb", buffering=0) as file, pytest.raises(OSError, match="space"):
            while True:
                file.write(bytes(4096))
        failing = home.run("list")
        assert failing.returncode == 1
        assert str(home.recalld) in failing.stderr
        assert "space" in failing.stderr or "full" in failing.stderr
        turn(home, 1)


def test_a_home_on_a_read_only_file_system(home: Home) -> None:
    """B23: hooks are silent and quick and start nothing that stays, commands and `doctor` name the folder and the way out."""
    memory(home, "The shop sells tea.")
    with mounted(home.recalld, "--bind", str(home.recalld)):
        subprocess.run(["mount", "-o", "remount,ro,bind", home.recalld], check=True)
        payload = {"hook_event_name": "SessionStart", "source": "startup"}
        with ThreadPoolExecutor(4) as pool:
            for code, said, seconds in pool.map(
                lambda _: hook(home, "session-start", payload, *command("run")), range(4)
            ):
                assert (code, said) == (0, b"")
                assert seconds < 5  # the contract is 1 s
        turn(home, 1)
        failing = home.run("add", "The shop sells coffee.")
        assert failing.returncode == 1
        assert failing.stderr.count("\n") == 1
        assert str(home.recalld) in failing.stderr
        assert home.run("run").returncode == 1
        checks = {check["check"]: check for check in json.loads(home.run("doctor", "--json").stdout)}
        assert f"{home.recalld} cannot be written to" in checks["folders"]["detail"]
        assert "chmod 700" in checks["folders"]["fix"]


@contextmanager
def locked(database: Path, seconds: float) -> Iterator[None]:
    """Another process holds the write lock for so long, from now on."""
    db = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
    db.execute("begin immediate")
    timer = threading.Timer(seconds, lambda: db.execute("rollback"))
    timer.start()
    try:
        yield
    finally:
        timer.join()
        db.close()


@pytest.mark.parametrize("served", [True, False])
def test_a_locked_database_is_waited_for(home: Home, served: bool) -> None:
    """B20: with a daemon and without one, what is written while another holds the lock is written all the same."""
    memory(home, "The shop sells tea.")
    running = home.start_daemon() if served else None
    with locked(home.paths.database, 1.5), ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda number: home.run("add", f"Shelf {number} holds cups.").returncode, range(4)))
    assert codes == [0] * 4
    assert len(home.json("list")) == 5
    if running:
        running.stop()


def test_a_turn_said_to_a_locked_database_arrives_once(home: Home) -> None:
    """The hook does not wait for the lock; its spool file and the late commit are the same turn."""
    running = home.start_daemon()
    with locked(home.paths.database, 1.0):
        turn(home, 1)
    until("it is learnt", lambda: done(home) == ["p1"])
    until("the spool is empty", lambda: home.client.call("status")["spool"] == 0)
    known = [row["content"] for row in home.client.call("list", cwd=str(home.project))]
    assert sum("7001" in content for content in known) == 1
    running.stop()


@pytest.mark.parametrize("days", [-2, 2, 400])
def test_a_clock_that_jumps_loses_no_job(run: Callable[..., Any], days: int) -> None:
    """B94: jobs queued or claimed before the jump are done soon after it, not when the clock is back."""

    async def work(house: House) -> None:
        for number in range(3):
            await house.prompt(f"We decided that service {number} listens on port {7000 + number}.", f"p{number}")
            await house.stop(f"p{number}")
        await house.store.write(jobs.claim_turns, "a run that is gone", house.now(), 1)
        await house.store.write(jobs.take_back)
        house.ahead += timedelta(days=days)
        await house.learn()
        counts = await house.store.read(jobs.counts)
        assert (counts.done, counts.ready, counts.running) == (3, 0, 0)
        known = " ".join(row.content for row in await house.call("list", cwd=str(house.home / "shop")))
        assert all(str(7000 + number) in known for number in range(3))

    run(work)


def test_a_memory_dated_in_the_future_does_not_top_recall(run: Callable[..., Any]) -> None:
    """B94: what was learnt while the clock ran ahead counts as of now, not as fresher than fresh."""

    async def work(house: House) -> None:
        house.ahead = timedelta(days=3000)
        await house.add("The cache of the orders service is Redis.")
        house.ahead = timedelta()
        best = await house.add("The orders database is PostgreSQL 16.")
        found = await house.call("search", query="which database do the orders use?", cwd=str(house.home / "shop"))
        assert found[0].memory.id == best.id

    run(work)
