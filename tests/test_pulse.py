"""A daemon whose store hangs: it says so, stops feeding the watchdog, and makes room for another."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from claude_client import until
from conftest import Home
from recalld import pulse, system
from recalld.client import Client
from recalld.errors import UnavailableError
from recalld.pulse import Pulse
from recalld.store.store import Store
from test_daemon import settled, take_turn

HANGING = """
import sys, threading
from recalld import chores, pulse
from recalld.cli import foreground
from recalld.paths import find

async def hang(store, settings, paths, arguments):
    if arguments["thread"] == "loop":
        threading.Event().wait(60)
    fn = lambda db: threading.Event().wait(60)
    await (store.write(fn) if arguments["thread"] == "writer" else store.read(fn))

chores.CHORES["hang"] = hang
pulse.STUCK_S, pulse.BEAT_S, pulse.MISSED = 0.2, 0.1, int(sys.argv[1])
sys.exit(foreground.run(find(), debug=False))
"""


def hanging(home: Home, missed: int) -> tuple[str, ...]:
    """A wrapper that makes the daemon one whose threads can be made to hang."""
    script = home.root / "hanging.py"
    script.write_text(HANGING)
    return sys.executable, str(script), str(missed)


def hang(home: Home, thread: str) -> None:
    """Make the thread hang; nobody waits for the answer."""

    def call() -> None:
        with contextlib.suppress(UnavailableError):
            Client(home.paths.socket, timeout_s=60).call("hang", thread=thread)

    threading.Thread(target=call, daemon=True).start()


@pytest.mark.parametrize("thread", ["writer", "reader"])
def test_a_blocked_thread_is_told_by_status_and_the_daemon_replaced(home: Home, thread: str) -> None:
    """B09: status answers though the database does not; the daemon ends itself, the next start serves, the queue is whole."""
    wedged = home.start_daemon(*hanging(home, 40))
    hang(home, thread)
    take_turn(home, 1, "We decided that the API listens on port 8080.")
    facts = until("it says so", lambda: (said := home.client.call("status"))["healthy"] is False and said)
    assert "has not answered" in facts["last_error"]
    assert "does not work" in home.run("status").stdout
    assert wedged.process.wait(30) == pulse.FAILED
    wedged.process.communicate()
    assert home.json("start")["started"] is True
    assert home.json("status")["healthy"] is True
    until("the turn is learnt", lambda: settled(home, 1))
    assert ["8080" in row["content"] for row in home.json("list")] == [True]
    assert "has not answered" in (home.paths.log / "recalld.log").read_text()


def test_a_daemon_whose_loop_hangs_ends_itself(home: Home) -> None:
    """Nobody can ask it any more, so it is its own watchdog where there is no manager."""
    wedged = home.start_daemon(*hanging(home, 10))
    hang(home, "loop")
    assert wedged.process.wait(30) == pulse.FAILED
    wedged.process.communicate()
    assert "the daemon hangs" in (home.paths.log / "recalld.log").read_text()


def test_the_watchdog_is_fed_only_while_both_threads_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long work that is known to be long, a backup or a repair, is no reason to stop."""
    fed: list[str] = []
    monkeypatch.setattr(system, "notify", fed.append)
    monkeypatch.setattr(pulse, "STUCK_S", 0.0)
    monkeypatch.setattr(pulse, "BEAT_S", 0.01)
    ended = threading.Event()

    async def work() -> None:
        store = Store(tmp_path / "memories.db", tmp_path)
        go_on = threading.Event()
        beating = Pulse(store, ended.set)
        keeping = asyncio.ensure_future(beating.keep())
        long = asyncio.ensure_future(store.outside(lambda db: go_on.wait(30)))
        await _while(lambda: len(fed) < 3)
        go_on.set()
        await long
        go_on.clear()
        stuck = asyncio.ensure_future(store.write(lambda db: go_on.wait(30)))
        await asyncio.to_thread(ended.wait, 30)
        count = len(fed)
        await asyncio.sleep(0.05)
        assert len(fed) == count
        assert beating.problem
        go_on.set()
        await stuck
        beating.stop()
        keeping.cancel()
        await store.close()

    asyncio.run(work())
    assert ended.is_set()


async def _while(condition: Any) -> None:
    while condition():
        await asyncio.sleep(0.005)


def test_a_stop_of_the_whole_process_is_no_reason_to_end(home: Home) -> None:
    """A laptop that slept: time has passed, but no beat was left out."""
    serving = home.start_daemon(*hanging(home, 3))
    serving.process.send_signal(signal.SIGSTOP)
    subprocess.run(["sleep", "1"], check=True)
    serving.process.send_signal(signal.SIGCONT)
    assert home.client.call("status")["healthy"] is True
    serving.stop()
