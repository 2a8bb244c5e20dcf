"""A transcript that became quiet and a file in the spool are told of, whatever the system lets us watch."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from watchdog.observers import Observer

from recalld import watch
from recalld.watch import Watch, sweep
from recalld.watch.sweep import Sweep

PATIENCE_S = 30.0


class Seen:
    """What the watch called back with, in the loop's own thread."""

    def __init__(self) -> None:
        self.quiet: list[Path] = []
        self.spooled: list[Path] = []
        self.thread = threading.current_thread()
        self.changed = asyncio.Event()

    def on_quiet(self, path: Path) -> None:
        assert threading.current_thread() is self.thread
        self.quiet.append(path)
        self.changed.set()

    def on_spool(self, path: Path) -> None:
        self.spooled.append(path)
        self.changed.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not true():
                self.changed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), 0.05)


@contextlib.asynccontextmanager
async def watching(home: Path, **times: float) -> AsyncIterator[tuple[Watch, Seen]]:
    seen = Seen()
    settings = {"quiet_s": 0.1, "poll_s": 0.05, "sweep_s": 60.0} | times
    watcher = Watch(
        home / "projects", home / "spool", asyncio.get_running_loop(), seen.on_quiet, seen.on_spool, **settings
    )
    watcher.start()
    try:
        yield watcher, seen
    finally:
        watcher.stop()


def transcript(home: Path, name: str = "s1.jsonl", folder: str = "-home-dev-shop") -> Path:
    path = home / "projects" / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"{}\n")
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "projects").mkdir()
    (tmp_path / "spool").mkdir()
    return tmp_path


def no_watches(code: int) -> Callable[..., None]:
    def start(_: Any) -> None:
        raise OSError(code, os.strerror(code))

    return start


@pytest.fixture(params=["inotify", "polling"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each promise holds with the system's help and without."""
    if request.param == "polling":
        monkeypatch.setattr(Observer, "start", no_watches(errno.EMFILE))
    return str(request.param)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_a_transcript_is_told_of_once_it_is_quiet(home: Path, mode: str) -> None:
    """One that is new in a new folder, and again when it has grown."""

    async def scenario() -> None:
        async with watching(home) as (watcher, seen):
            await seen.until(lambda: watcher.mode == mode)
            path = transcript(home)
            await seen.until(lambda: seen.quiet == [path])
            transcript(home)
            await seen.until(lambda: seen.quiet == [path, path])

    run(scenario())


def test_a_transcript_still_growing_is_not_told_of(home: Path, mode: str) -> None:
    """Many writes within the quiet time give one call, after the last of them."""

    async def scenario() -> None:
        async with watching(home, quiet_s=0.4) as (watcher, seen):
            await seen.until(lambda: watcher.mode == mode)
            path, written, held_up = transcript(home), time.monotonic(), False
            for _ in range(14):
                await seen.until(lambda written=written: time.monotonic() > written + 0.05)  # type: ignore[misc]
                before, written = written, time.monotonic()
                transcript(home)
                held_up |= time.monotonic() - before > 0.3  # on a busy machine it was quiet indeed
            assert held_up or seen.quiet == []
            await seen.until(lambda: seen.quiet[-1:] == [path])
            assert held_up or time.monotonic() - written >= 0.3

    run(scenario())


def test_a_spooled_hook_is_told_of_when_its_name_appears(home: Path, mode: str) -> None:
    """Written under another name and renamed, as the hook does; the unfinished one is not told of."""

    async def scenario() -> None:
        async with watching(home) as (watcher, seen):
            await seen.until(lambda: watcher.mode == mode)
            unfinished, finished = home / "spool" / "1-2.tmp", home / "spool" / "1-2.hook"
            unfinished.write_bytes(b"hook stop\n{}")
            unfinished.rename(finished)
            await seen.until(lambda: finished in seen.spooled)
            assert set(seen.spooled) == {finished}

    run(scenario())


def test_what_was_written_before_the_start_is_told_of(home: Path, mode: str) -> None:
    """A transcript of today and a spooled hook; a transcript of last week is history."""
    recent, old = transcript(home, "recent.jsonl"), transcript(home, "old.jsonl")
    os.utime(old, (time.time() - 7 * 86400,) * 2)
    spooled = home / "spool" / "1-2.hook"
    spooled.write_bytes(b"x")

    async def scenario() -> None:
        async with watching(home) as (_, seen):
            await seen.until(lambda: seen.quiet == [recent] and spooled in seen.spooled)

    run(scenario())


def test_folders_made_after_the_start_are_picked_up(tmp_path: Path, mode: str) -> None:
    """Claude Code's folder and the spool may come later, and the first may be replaced."""

    async def scenario() -> None:
        async with watching(tmp_path, sweep_s=0.1) as (watcher, seen):
            path = transcript(tmp_path)
            await seen.until(lambda: path in seen.quiet and watcher.mode == mode)
            (tmp_path / "projects").rename(tmp_path / "gone")
            again = transcript(tmp_path, "s2.jsonl")
            await seen.until(lambda: again in seen.quiet and watcher.mode == mode)
            (tmp_path / "spool").mkdir()
            (tmp_path / "spool" / "3.hook").write_bytes(b"x")
            await seen.until(lambda: bool(seen.spooled))

    run(scenario())


def test_only_sessions_are_told_of(home: Path, mode: str) -> None:
    """Neither what sub-agents write, nor other files; a link to the folder keeps the name the hooks use."""
    real = home / "elsewhere"
    (home / "projects").rename(real)
    (home / "projects").symlink_to(real)

    async def scenario() -> None:
        async with watching(home) as (watcher, seen):
            await seen.until(lambda: watcher.mode == mode)
            transcript(home, "agent-a1.jsonl")
            transcript(home, "notes.md")
            transcript(home, "agent-b2.jsonl", "-home-dev-shop/s1/subagents")
            wanted = transcript(home)
            await seen.until(lambda: wanted in seen.quiet)
            assert set(seen.quiet) == {wanted}

    run(scenario())


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOSPC])
def test_without_watches_it_polls_and_says_so(code: int, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B96: the limits of inotify are shared with other programs: reaching them costs seconds, not transcripts."""
    monkeypatch.setattr(Observer, "start", no_watches(code))

    async def scenario() -> None:
        async with watching(home) as (watcher, seen):
            path = transcript(home)
            await seen.until(lambda: path in seen.quiet)
            modes = [watcher.mode]
        assert [*modes, watcher.mode] == ["polling", "off"]

    run(scenario())


def test_very_many_folders_take_no_watches(home: Path) -> None:
    """B96: 5,000 project folders are polled: no inotify watch is spent on them, and a new transcript is found."""
    for number in range(5000):
        (home / "projects" / f"-home-dev-{number}").mkdir()

    async def scenario() -> None:
        async with watching(home, poll_s=0.3) as (watcher, seen):
            path = transcript(home, folder="-home-dev-4321")
            await seen.until(lambda: path in seen.quiet)
            assert watcher.mode == "polling"

    run(scenario())


def test_the_newest_transcripts_are_followed_and_no_more_than_the_bound(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those beyond it are not told of at start, and not looked at again and again."""
    monkeypatch.setattr(sweep, "MAX_FOLLOWED", 3)
    paths = [transcript(home, f"{number}.jsonl", f"-home-dev-{number}") for number in range(8)]
    for age, path in enumerate(paths):
        os.utime(path, (time.time() - 60 * (age + 1),) * 2)
    known = Sweep(home / "projects")
    assert {path for path, _ in known.look(())} == set(paths[:3])
    assert [known.look(()) for _ in range(sweep.RELIST)] == [[]] * sweep.RELIST
    transcript(home, "7.jsonl", "-home-dev-7")
    found = [known.look(()) for _ in range(sweep.RELIST)]
    assert [path for changes in found for path, _ in changes] == [paths[7]]


def test_a_tree_that_outgrows_the_bound_is_polled_from_then_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MAX_FOLDERS", 20)

    async def scenario() -> None:
        async with watching(home, sweep_s=0.1) as (watcher, seen):
            await seen.until(lambda: watcher.mode == "inotify")
            for number in range(30):
                transcript(home, folder=f"-home-dev-{number}")
            await seen.until(lambda: watcher.mode == "polling" and len(set(seen.quiet)) == 30)

    run(scenario())


def test_renames_swaps_and_deletions_end_neither_the_thread_nor_the_news(home: Path, mode: str) -> None:
    """B97: atomic saves, a swap of two names, a folder in a file's place, a file gone again at once."""

    async def scenario() -> None:
        async with watching(home) as (watcher, seen):
            await seen.until(lambda: watcher.mode == mode)
            one, two = transcript(home, "one.jsonl"), transcript(home, "two.jsonl")
            for _ in range(30):
                one.rename(one.with_suffix(".x"))
                two.rename(one)
                one.with_suffix(".x").rename(two)
                saved = one.with_suffix(".new")
                saved.write_bytes(b"{}\n")
                saved.replace(one)
                transcript(home, "short.jsonl").unlink()
                (one.parent / "folder.jsonl").mkdir()
                (one.parent / "folder.jsonl").rmdir()
                (one.parent / os.fsdecode(b"\xff.jsonl")).write_bytes(b"")
            late = transcript(home, "late.jsonl")
            await seen.until(lambda: {one, two, late} <= set(seen.quiet))

    run(scenario())


def test_a_transcript_that_vanishes_hides_no_other(home: Path) -> None:
    """B97: gone between two looks, or a folder in its place; what changed beside it is found all the same."""
    one, two, three = (transcript(home, f"{name}.jsonl") for name in ("one", "two", "three"))
    known = Sweep(home / "projects")
    assert {path for path, _ in known.look(())} == {one, two, three}
    one.unlink()
    two.unlink()
    two.mkdir()
    transcript(home, "three.jsonl")
    assert three in [path for path, _ in known.look((one, two))]
    transcript(home, "three.jsonl")
    assert three in [path for path, _ in known.look(())]


def test_a_hook_that_names_a_transcript_counts_as_a_change(home: Path, mode: str) -> None:
    """Also one too old to be followed; a path outside of the folder is none of ours."""
    old = transcript(home)
    os.utime(old, (0, 0))

    async def scenario() -> None:
        async with watching(home) as (watcher, seen):
            watcher.touch(home / "elsewhere.jsonl")
            watcher.touch(old)
            await seen.until(lambda: seen.quiet == [old])

    run(scenario())


def test_an_observer_that_died_is_replaced(home: Path) -> None:
    async def scenario() -> None:
        async with watching(home, sweep_s=0.1) as (watcher, seen):
            await seen.until(lambda: watcher.mode == "inotify")
            first = watcher._observer
            assert first is not None
            first.stop()
            await seen.until(lambda: watcher._observer not in (None, first) and watcher.mode == "inotify")
            path = transcript(home)
            await seen.until(lambda: path in seen.quiet)

    run(scenario())


def test_events_that_do_not_come_are_noticed_and_polling_takes_over(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network's file system sends none, and an observer may look alive and be deaf."""
    monkeypatch.setattr(watch, "LATE_S", 0.0)

    async def scenario() -> None:
        async with watching(home, sweep_s=0.1) as (watcher, seen):
            await seen.until(lambda: watcher.mode == "inotify")
            assert watcher._observer is not None
            watcher._observer.unschedule_all()
            path = transcript(home)
            await seen.until(lambda: watcher.mode == "polling" and path in seen.quiet)

    run(scenario())


def test_stopping_leaves_no_thread_behind(home: Path) -> None:
    """Also when the loop it tells has gone before it."""
    before = threading.active_count()

    async def scenario() -> Watch:
        async with watching(home) as (watcher, seen):
            await seen.until(lambda: watcher.mode == "inotify")
        return watcher

    assert asyncio.run(scenario()).mode == "off"
    assert threading.active_count() <= before + 1
