"""The daemon's life as its owner sees it: run, start, stop, restart, logs."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor

from conftest import Daemon, Home, command, failed, memory


def test_start_stop_restart_over_and_over(home: Home) -> None:
    """Each says what it did; memories outlive it all."""
    memory(home, "The shop sells tea.")
    assert home.json("stop") == {"stopped": False}
    pids = set()
    for _ in range(3):
        started = home.json("start")
        assert started["started"] is True
        assert home.json("start") == {"started": False, "pid": started["pid"]}
        restarted = home.json("restart")
        assert home.json("status")["pid"] == restarted["pid"]
        pids |= {started["pid"], restarted["pid"]}
        assert home.json("stop") == {"stopped": True}
        assert home.json("status")["pid"] is None
    assert len(pids) == 6
    assert len(home.json("list")) == 1


def test_only_one_daemon_serves_a_home(home: Home, daemon: Daemon) -> None:
    """The second ends at once, which is no failure."""
    done = home.run("run")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"recalld: runs already (process {daemon.pid})\n"
    assert home.json("status")["pid"] == daemon.pid


def test_a_daemon_needs_no_terminal_and_no_folder(home: Home) -> None:
    """With 0, 1 and 2 closed it serves, and puts no line where it does not belong."""
    served = home.start_daemon("/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")
    descriptors = [os.readlink(f"/proc/{served.pid}/fd/{number}") for number in range(3) if os.path.isdir("/proc")]
    assert set(descriptors) <= {os.devnull}
    memory(home, "The shop sells tea.")
    assert served.stop() == ""
    with sqlite3.connect(home.paths.database) as db:
        assert db.execute("pragma integrity_check").fetchall() == [("ok",)]
    db.close()


def test_files_are_for_the_owner_alone(home: Home, daemon: Daemon) -> None:
    """Whatever the umask was."""
    for path in home.recalld.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_daemon_that_hangs_is_worked_around(home: Home, daemon: Daemon) -> None:
    """Reading and writing go on, it is said what is wrong, restart helps; no change is left to be made later."""
    daemon.freeze()
    commands = (["add", "The shop sells tea.", "--json"], ["status", "--json"], ["start"], ["doctor", "--json"])
    with ThreadPoolExecutor() as pool:  # each waits a while for the answer: all at once
        added, status, start, doctor = pool.map(lambda words: home.run(*words), commands)
    assert f"the daemon (process {daemon.pid}) does not answer" in added.stderr
    facts = json.loads(status.stdout)
    assert (facts["state"], facts["pid"]) == ("hung", daemon.pid)
    assert "does not answer" in failed(start)
    assert [check["ok"] for check in json.loads(doctor.stdout) if check["check"] == "socket"] == [False]
    assert home.json("restart")["pid"] != daemon.pid
    assert [row["id"] for row in home.json("list")] == [json.loads(added.stdout)["id"]]
    daemon.process.wait(timeout=30)


def test_logs_show_what_the_daemon_said(home: Home, daemon: Daemon) -> None:
    """The last lines, or none."""
    lines = home.json("logs", "-n", "1000")["lines"]
    assert any("serves at" in line for line in lines)
    assert len(home.json("logs", "-n", "1")["lines"]) == 1


def test_logs_can_be_followed(home: Home, daemon: Daemon) -> None:
    """What is logged while one looks appears, until one has seen enough."""
    process = subprocess.Popen(
        command("logs", "-f"), env=home.environ, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # a background job ignores it
    )  # fmt: skip
    assert process.stdout
    assert "serves at" in process.stdout.readline()
    daemon.stop()
    assert next(line for line in process.stdout if line.endswith("stopped\n"))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    process.stdout.close()


def test_a_newer_database_is_refused(home: Home, daemon: Daemon) -> None:
    """By the daemon with 78, which no unit restarts, and by every command; the database stays as it is."""
    daemon.stop()
    with sqlite3.connect(home.paths.database) as db:
        db.execute("pragma user_version = 99")
    db.close()
    before = home.paths.database.read_bytes()
    assert "newer recalld" in failed(home.run("run"), 78)
    assert "newer recalld" in failed(home.run("list"))
    assert "ended with code 78" in failed(home.run("start"))
    assert "newer recalld" in home.json("status")["last_error"]
    assert "newer recalld" in "".join(home.json("logs")["lines"])
    assert home.paths.database.read_bytes() == before
    with sqlite3.connect(home.paths.database) as db:  # so that the fixture can look at it
        db.execute("pragma user_version = 1")
    db.close()
