"""The processes that the daemon keeps: one at a time, as the settings say, never in a hurry, and gone when it goes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import json
import os
import signal
import socket
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub_homes import children, done, home_of, inside, said
from pg import Hub, hub, server
from recalld.cli import calls, hub_link
from recalld.config import Config, HubConfig
from recalld.doors.child_process import ChildProcess
from recalld.doors.hub_process import HubProcess
from recalld.hub.link import linked
from recalld.settings import Settings
from web_house import alive, until

__all__ = ["hub"]

SCRIPT = """
    import os, sys, time
    def note(what):
        with open({log!r}, "a") as file:
            file.write(f"{{what}} {{os.getpid()}} {{time.monotonic()}}\\n")
    note("begins")
    print("serves", flush=True)
    print("a library's word", flush=True)
    if {short}:
        sys.exit("it is too short")
    while os.read(0, 100):
        pass
    note("ends")
"""


class Example(ChildProcess):
    """A child of its own kind, which follows the DSN as the hub's does."""

    name = "the example"
    module = "example_child"
    pauses_s = (0.2, 0.4)

    def wanted(self, config: Config) -> HubConfig | None:
        return config.hub if config.hub.dsn else None

    def heard(self, line: str) -> bool:
        if line == "serves":
            self.state, self.error = "serving", None
        return line == "serves"


@contextlib.contextmanager
def kept(folder: Path, *, short: bool) -> Iterator[tuple[Any, Path, Path]]:
    """`run(coroutine)` beside a kept example; its config file, and the log of its processes."""
    log, config = folder / "log", folder / "config.toml"
    log.touch()
    (folder / "example_child.py").write_text(textwrap.dedent(SCRIPT).format(log=str(log), short=short))
    config.write_text("")
    child = Example(Settings(config), {"PYTHONPATH": str(folder)})

    def run(what: Any) -> None:
        async def both() -> None:
            keeping = asyncio.ensure_future(child.keep())
            try:
                await asyncio.wait_for(what(child), 60)
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)

        asyncio.run(both())

    yield run, config, log


def notes(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()]


async def becomes(child: ChildProcess, state: str) -> None:
    while child.behind or child.state != state:
        await asyncio.sleep(0.02)


def test_it_is_there_while_the_settings_want_it_and_anew_when_they_change(tmp_path: Path) -> None:
    """Each ends in order before the next begins: there are never two."""
    with kept(tmp_path, short=False) as (run, config, log):

        async def life(child: ChildProcess) -> None:
            await becomes(child, "off")
            for dsn in ("one", "two", ""):
                config.write_text(f'[hub]\ndsn = "{dsn}"\n')
                await becomes(child, "serving" if dsn else "off")
            config.write_text('[hub]\ndsn = "three"\n')
            await becomes(child, "serving")

        run(life)
        told = [what for what, *_ in notes(log)]
        assert told == ["begins", "ends"] * 3
        pids = [pid for _, pid, _ in notes(log)]
        assert all(pids[at] == pids[at + 1] for at in range(0, 6, 2)) and len(set(pids)) == 3


def test_one_that_ends_at_once_is_begun_again_after_ever_longer_pauses(tmp_path: Path) -> None:
    """And what it said last is the reason that is told."""
    with kept(tmp_path, short=True) as (run, config, log):
        config.write_text('[hub]\ndsn = "one"\n')

        async def life(child: ChildProcess) -> None:
            while len(notes(log)) < 4:
                await asyncio.sleep(0.05)
            await becomes(child, "failed")
            assert child.error == "it is too short"

        run(life)
        begun = [float(at) for what, _, at in notes(log)]
        gaps = [after - before for before, after in itertools.pairwise(begun)]
        assert gaps[0] >= 0.8 * 0.2 and all(gap >= 0.8 * 0.4 for gap in gaps[1:])


def test_a_line_without_an_end_does_not_stop_it(tmp_path: Path) -> None:
    """It is cut, and what is said after it is heard."""
    with kept(tmp_path, short=False) as (run, config, _):
        script = tmp_path / "example_child.py"
        endless = 'print("x" * 300_000, flush=True)\nprint("serves"'
        script.write_text(script.read_text().replace('print("serves"', endless))
        config.write_text('[hub]\ndsn = "one"\n')
        run(lambda child: becomes(child, "serving"))


def test_nothing_is_told_of_the_hub_before(tmp_path: Path) -> None:
    """When it was in step last, and what waited, were another hub's."""
    config = tmp_path / "config.toml"
    config.write_text('[hub]\ndsn = "host=nowhere.invalid"\n')
    child = HubProcess(Settings(config), {})

    async def life() -> None:
        keeping = asyncio.ensure_future(child.keep())
        await becomes(child, "starting")
        assert child.heard(
            '{"state": "synced", "last_sync_at": "2026-01-01T00:00:00.000Z", "outbox": 7, "error": null}'
        )
        assert child.report["outbox"] == 7
        config.write_text("")
        await becomes(child, "off")
        assert child.report == {"state": "off", "last_sync_at": None, "outbox": None, "error": None}
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(asyncio.wait_for(life(), 60))


# The hub's own process ------------------------------------------------------------------------------------------------


def test_a_home_without_a_hub_has_no_process_for_it(tmp_path: Path) -> None:
    home = home_of(tmp_path / "laptop")
    daemon = home.start_daemon()
    assert (home.client.call("status")["hub"]["state"], children(daemon.pid)) == ("off", [])
    daemon.stop()


def test_a_killed_process_comes_back_and_there_is_never_a_second(hub: Hub, tmp_path: Path) -> None:
    """It follows the settings, without a restart, and ends with the daemon that was killed."""
    home = home_of(tmp_path / "laptop")
    daemon = home.start_daemon()
    done(home, "hub", "join", text=hub.owner)
    until(lambda: home.client.call("status")["hub"]["state"] == "synced")
    (first,) = children(daemon.pid)
    os.kill(first, signal.SIGKILL)
    until(lambda: children(daemon.pid) not in ([], [first]) and home.client.call("status")["hub"]["state"] == "synced")
    (second,) = children(daemon.pid)
    assert "in step since" in said(home, "status")[1]
    assert home.client.call("status")["hub"]["last_sync_at"]
    done(home, "hub", "leave")
    until(lambda: not alive(second) and home.client.call("status")["hub"]["state"] == "off")
    done(home, "hub", "join", text=hub.owner)
    (third,) = until(lambda: children(daemon.pid))
    daemon.process.kill()
    daemon.process.communicate()
    until(lambda: not alive(third))


def test_a_change_here_or_there_is_told_within_seconds(hub: Hub, tmp_path: Path) -> None:
    """Also one that plain sqlite3 made, which tells nobody; and nothing is asked of the hub while nothing happens."""
    import sqlite3

    ((role,),) = hub.query("select pg_role from recalld.members where name = 'olga'")
    hub.query(f"alter role {role} set log_statement = 'all'")
    log = hub.server.folder / "log"
    begins = log.stat().st_size
    home = home_of(tmp_path / "laptop")
    done(home, "hub", "join", text=hub.owner)
    done(home, "hub", "share", "user")
    memory = done(home, "add", "Tea is green.", "--scope", "user")["id"]
    daemon = home.start_daemon()
    try:
        until(lambda: hub.query("select count(*) from recalld.memories") == [(1,)])
        until(lambda: home.client.call("status")["hub"]["outbox"] == 0)
        begun = time.monotonic()
        with contextlib.closing(sqlite3.connect(home.paths.database)) as db, db:
            db.execute("update memories set content = 'Tea is black.' where id = ?", (memory,))
        until(lambda: "black" in str(hub.query("select body from recalld.memories")))
        assert time.monotonic() - begun < 30  # long before the hub is asked by itself
        until(lambda: not asked(log, 2))  # what it pushed has woken it, too
        again = asked(log, 3)
        assert sum("recalld.mark()" in line for line in again) <= 1  # the cycle of each minute may fall into it
        assert len(again) < 60
        assert "recalld.mark()" in log.read_text()[begins:]  # as each cycle asks
    finally:
        daemon.stop()


def test_what_is_written_behind_a_cycle_is_noticed(hub: Hub, tmp_path: Path) -> None:
    """Also where as much waits as did before it; and whoever finds another process at work is told that it waits."""
    home = home_of(tmp_path / "laptop")
    done(home, "hub", "join", text=hub.owner)
    done(home, "hub", "share", "user")
    told: list[str] = []
    with inside(home), linked(home.paths, hub_link.settings(), calls.ask, lambda: told.append("busy")) as link:
        for number in range(3):
            done(home, "add", f"Tea number {number} is green.", "--scope", "user")
            assert link.waiting()
            link.cycle()
        assert not link.waiting() and told == []
        with open(home.paths.state / "hub.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waits = threading.Thread(target=link.cycle)
            waits.start()
            until(lambda: told == ["busy"])
            assert waits.is_alive()
            fcntl.flock(lock, fcntl.LOCK_UN)
            waits.join(60)
            assert not waits.is_alive()


def asked(log: Path, seconds: float) -> list[str]:
    """What a server that logs statements is asked from now on, for that time."""
    begins = log.stat().st_size
    time.sleep(seconds)
    return [line for line in log.read_text()[begins:].splitlines() if "statement: " in line or "execute <" in line]


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept: list[socket.socket] = []

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    kept.append(listening.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        yield listening.getsockname()[1]
        for one in kept:
            one.close()


@pytest.mark.parametrize("how", ["gone", "silent"])
def test_a_hub_that_is_away_costs_no_process_and_no_hurry(hub: Hub, tmp_path: Path, silent: int, how: str) -> None:
    """B48: it is told in one line, tried again ever less often, and between the tries nothing is left of it."""
    home = home_of(tmp_path / "laptop")
    done(home, "hub", "join", text=hub.owner)
    config = home.paths.config
    config.write_text(config.read_text().replace(f":{server().port}/", f":{1 if how == 'gone' else silent}/"))
    daemon = home.start_daemon()
    try:
        until(lambda: home.client.call("status")["hub"]["state"] == "away")
        told = home.client.call("status")["hub"]
        assert f"127.0.0.1:{1 if how == 'gone' else silent}/" in told["error"] and "\n" not in told["error"]
        (check,) = (one for one in json.loads(said(home, "doctor", "--json")[1]) if one["check"] == "hub")
        assert check["ok"] and "tried again by itself" in check["detail"]
        seen: set[int] = set()
        until_s = time.monotonic() + 4
        empty = 0
        while time.monotonic() < until_s:
            found = children(daemon.pid)
            seen |= {*found}
            empty += not found
            assert len(found) <= 1
            time.sleep(0.05)
        assert empty and len(seen) <= 3
        assert said_once(home.paths.log, told["error"]) == 1
        config.write_text(config.read_text().replace(f":{1 if how == 'gone' else silent}/", f":{server().port}/"))
        until(lambda: home.client.call("status")["hub"]["state"] == "synced")
    finally:
        daemon.stop()


def said_once(folder: Path, line: str) -> int:
    return sum(file.read_text().count(line) for file in folder.iterdir())
