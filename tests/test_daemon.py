"""The daemon as real processes: one however many start, nothing lost however it ends, the user never waits."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from claude_client import until
from conftest import Daemon, Home, command
from model_stub import ModelStub

HOOK = Path(__file__).parents[1] / "hooks" / "hook.py"


def hook(home: Home, event: str, payload: Any, *start: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return subprocess.run(
        [sys.executable, "-I", "-S", HOOK, event, home.paths.socket, *start], input=data, capture_output=True,
        env={**home.environ, **environ}, cwd=home.project, timeout=20,
    )  # fmt: skip


def said(home: Home, event: str, prompt_id: str, session: str = "s1", **more: str) -> dict[str, str]:
    names = {"prompt": "UserPromptSubmit", "stop": "Stop", "session-start": "SessionStart"}
    return {
        "hook_event_name": names[event],
        "session_id": session,
        "cwd": str(home.project),
        "prompt_id": prompt_id,
        **more,
    }


def take_turn(home: Home, number: int, prompt: str) -> None:
    assert hook(home, "prompt", said(home, "prompt", f"p{number}", prompt=prompt)).returncode == 0
    assert hook(home, "stop", said(home, "stop", f"p{number}", last_assistant_message="Done.")).stdout == b""


def settled(home: Home, done: int) -> bool:
    jobs = home.client.call("status")["jobs"]
    return bool(jobs["done"] == done and jobs["ready"] + jobs["running"] == 0)


def daemons(home: Home) -> list[int]:
    """The processes that run for this home, by their environment."""
    marker = f"RECALLD_HOME={home.recalld}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (
                marker in (folder / "environ").read_bytes().split(b"\0")
                and b"recalld\0run" in (folder / "cmdline").read_bytes()
            ):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_twelve_hooks_at_once_without_a_daemon_leave_one(home: Home) -> None:
    """B07: all of them are silent or answered, none has anything to log as an error."""
    barrier = threading.Barrier(12)
    results: list[subprocess.CompletedProcess[bytes]] = []

    def fire(number: int) -> None:
        barrier.wait()
        results.append(
            hook(
                home, "session-start", said(home, "session-start", "", f"s{number}", source="startup"), *command("run")
            )
        )

    threads = [threading.Thread(target=fire, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(done.returncode, done.stderr) for done in results} == {(0, b"")}
    assert all(isinstance(json.loads(done.stdout or "{}"), dict) for done in results)
    status = until("the daemon serves", lambda: home.json("status")["pid"])
    assert daemons(home) == [status]
    log = (home.paths.log / "recalld.log").read_text()
    assert "ERROR" not in log


def test_daemons_that_lose_the_race_end_quietly(home: Home) -> None:
    """B07: however many are started, one holds the lock."""
    racing = [
        subprocess.Popen(command("run"), env=home.environ, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(6)
    ]
    until("the others have ended", lambda: sum(process.poll() is None for process in racing) == 1)
    assert sorted(process.poll() or 0 for process in racing) == [0] * 6
    left = next(process for process in racing if process.poll() is None)
    assert until("the one serves", lambda: home.json("status")["pid"]) == left.pid
    left.terminate()
    for process in racing:
        process.communicate(timeout=20)


@pytest.mark.timeout(600)
def test_a_kill_in_mid_queue_loses_no_turn_and_doubles_none(home: Home) -> None:
    """Eight turns, a kill -9 after each few are done: every one is extracted, none twice."""
    with ModelStub() as model:
        config = f'[extract]\nbackend = "anthropic"\nbase_url = "{model.url}"\nmax_calls_per_day = 0\n'
        home.recalld.mkdir()
        (home.recalld / "config.toml").write_text(config)
        running = home.start_daemon()
        for number in range(8):
            prompt = f"We decided that service {chr(97 + number % 26)}{number} listens on port {7000 + number}."
            payload = said(home, "prompt", f"p{number}", f"s{number}", prompt=prompt)
            assert hook(home, "prompt", payload).returncode == 0
            hook(home, "stop", said(home, "stop", f"p{number}", f"s{number}", last_assistant_message="ok"))
        for part in (2, 5):
            until(f"{part} turns are done", lambda part=part: home.client.call("status")["jobs"]["done"] >= part)
            running.process.kill()
            running.process.communicate()
            running = home.start_daemon()
        until("all are done", lambda: settled(home, 8), 100)
        known = [memory["content"] for memory in home.json("list", "--limit", "1000")]
        for number in range(8):
            assert sum(str(7000 + number) in content for content in known) == 1, (number, known)
        running.stop()


def test_a_stop_while_nobody_answers_arrives_when_somebody_does(home: Home) -> None:
    take_turn(home, 1, "We decided to use pnpm for everything here.")
    assert len(list(home.paths.spool.glob("*.hook"))) == 2
    running = home.start_daemon()
    until("the spool is taken in", lambda: settled(home, 1))
    assert list(home.paths.spool.iterdir()) == []
    assert "pnpm" in home.run("list").stdout
    running.stop()


def test_a_stop_is_stored_before_its_hook_returns(home: Home) -> None:
    running = home.start_daemon()
    take_turn(home, 1, "We decided to use pnpm for everything here.")
    running.process.kill()
    running.process.communicate()
    running = home.start_daemon()
    until("the turn is learnt", lambda: settled(home, 1))
    running.stop()


@pytest.mark.parametrize("trouble", ["stopped", "hung", "killed"])
def test_a_hook_without_an_answering_daemon_is_silent_and_quick(home: Home, daemon: Daemon, trouble: str) -> None:
    if trouble == "stopped":
        daemon.stop()
    else:
        daemon.process.send_signal(signal.SIGSTOP if trouble == "hung" else signal.SIGKILL)
    try:
        begun = time.monotonic()
        for number in range(5):
            for event in ("prompt", "stop"):
                done = hook(home, event, said(home, event, f"p{number}", prompt="hello", last_assistant_message="x"))
                assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        # The contract is 0.3 s each; the bound is loose since the machine may be busy.
        assert time.monotonic() - begun < 10
    finally:
        if trouble == "hung":
            daemon.process.send_signal(signal.SIGCONT)
        if trouble == "killed":
            daemon.process.communicate()


BROKEN = {
    "empty": b"",
    "not json": b"hello",
    "other json": b"[1, 2, 3]",
    "not utf-8": b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "\xff\xfe", "cwd": "/", "prompt_id": "a"}',
    "lone surrogate": b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "\\ud83d we use pnpm", "cwd": "/", "prompt_id": "b"}',
    "nul": b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "a\\u0000b", "cwd": "/\\u0000", "prompt_id": "c"}',
    "unknown event": b'{"hook_event_name": "Dance", "session_id": "s", "cwd": "/"}',
    "no session": b'{"hook_event_name": "Stop", "cwd": "/"}',
    "deep": b'{"session_id": ' + b"[" * 100_000 + b"}",
    "10 MB": b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "' + b"word " * 2_000_000 + b'", "cwd": "/", "prompt_id": "d"}',
    "numbers": b'{"hook_event_name": 1, "session_id": 2, "prompt": 3, "cwd": 4, "prompt_id": 5}',
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_input_is_survived_in_silence(home: Home, daemon: Daemon, name: str) -> None:
    for event in ("session-start", "prompt", "stop", "session-end", "dance"):
        done = hook(home, event, BROKEN[name])
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == b"" or isinstance(json.loads(done.stdout), dict)
    # Raw, without the hook's judgement, too.
    for event in ("prompt", "stop"):
        home.client.exchange(f"hook {event}\n".encode() + BROKEN[name])
    assert home.client.call("status")["pid"] == daemon.pid
    log = (home.paths.log / "recalld.log").read_text()
    assert "Traceback" not in log


def test_a_request_that_never_ends_holds_nobody_up(home: Home, daemon: Daemon) -> None:
    hanging = []
    for _ in range(50):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.connect(str(home.paths.socket))
        peer.sendall(b"hook prompt\n{")
        hanging.append(peer)
    assert home.client.call("status")["pid"] == daemon.pid
    for peer in hanging:
        peer.close()


def test_a_removed_socket_file_comes_back(home: Home, daemon: Daemon) -> None:
    home.paths.socket.unlink()
    until("the socket is there again", home.paths.socket.exists)
    assert home.client.call("status")["pid"] == daemon.pid


def test_the_socket_and_all_files_are_the_owners_alone(home: Home, daemon: Daemon) -> None:
    take_turn(home, 1, "hello")
    modes = {path: path.stat().st_mode & 0o077 for path in home.recalld.rglob("*")}
    assert {path: mode for path, mode in modes.items() if mode} == {}
    assert home.recalld.stat().st_mode & 0o077 == 0


def test_a_home_of_any_depth_works(tmp_path: Path) -> None:
    deep = Home(tmp_path / ("d" * 100) / ("e" * 100))
    assert deep.run("start").returncode == 0
    assert deep.json("add", "We use pnpm.")["content"] == "We use pnpm."
    take_turn(deep, 1, "which package manager?")
    assert (
        "pnpm" in hook(deep, "session-start", said(deep, "session-start", "", "s2", source="startup")).stdout.decode()
    )
    assert deep.run("stop").returncode == 0


def test_a_daemons_socket_is_handed_over_by_the_service_manager(home: Home) -> None:
    """As systemd does it: descriptor 3, LISTEN_FDS, LISTEN_PID; the socket file stays when the daemon ends."""
    home.recalld.mkdir()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(home.paths.socket))
    listening.listen()
    os.set_inheritable(listening.fileno(), True)
    script = 'exec 3<&"$1"; shift; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", str(listening.fileno()), *command("run")], env=home.environ,
        pass_fds=[listening.fileno()], cwd="/",
    )  # fmt: skip
    assert home.client.call("status")["pid"] == process.pid
    process.terminate()
    assert process.wait(20) == 0
    listening.close()


def test_a_change_of_the_config_applies_without_a_restart(home: Home, daemon: Daemon) -> None:
    home.json("add", "We use pnpm.", "--pin")
    start = said(home, "session-start", "", "s1", source="startup")
    assert "pnpm" in hook(home, "session-start", start).stdout.decode()
    (home.recalld / "config.toml").write_text("[memory]\nenabled = false\n")
    assert hook(home, "session-start", {**start, "session_id": "s2"}).stdout == b""
    (home.recalld / "config.toml").write_text("[memory]\nenabeld = true\n")
    assert hook(home, "session-start", {**start, "session_id": "s3"}).stdout == b""
    assert "config.toml:2: memory.enabeld: unknown key" in home.client.call("status")["last_error"]


def test_start_after_stop_is_never_hurt_by_the_one_that_ends(home: Home) -> None:
    for _ in range(5):
        assert home.run("start").returncode == 0
        assert home.json("status")["pid"]
        assert home.run("stop").returncode == 0
    assert home.json("status")["pid"] is None
