"""All measurements of a run, and their report."""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from recalld import __version__
from recalld.bench import hooks, minilm, plain, reading, resting, scratch, socket_times
from recalld.bench.reading import Reading
from recalld.bench.resting import Resting
from recalld.bench.socket_times import SocketTimes
from recalld.bench.spread import Spread

SIZES = (1_000, 10_000, 100_000)
QUICK = (1_000,)


class Effort(msgspec.Struct, frozen=True):
    """How often each thing is done."""

    hooks: int = 200
    prompts: int = 500
    dense: int = 100
    turns: int = reading.TURNS
    rest_s: float = resting.REST_S


QUICKLY = Effort(hooks=40, prompts=100, dense=30, turns=100, rest_s=1.0)


class Sized(msgspec.Struct, frozen=True):
    """The times at one size of the store.

    plain, minilm: full text alone and vectors alone, as others have them, in this process (None: not installed).
    """

    memories: int
    in_project: int
    daemon: SocketTimes
    plain: Spread
    minilm: Spread | None
    rss_mib: float | None


class Machine(msgspec.Struct, frozen=True):
    """Where it was measured. load: of one minute, before it began; beyond the number of cores the times are too long."""

    cores: int
    load: float
    system: str
    python: str
    sqlite: str
    recalld: str


class Report(msgspec.Struct, frozen=True):
    """A whole run. hooks: by event, the hook's times and those of the bare interpreter beside it."""

    machine: Machine
    hooks: dict[str, dict[str, Spread]]
    sizes: tuple[Sized, ...]
    resting: Resting
    transcript: Reading


Say = Callable[[str], None]
Tick = Callable[[int], None]


def run(sizes: Sequence[int], effort: Effort, say: Say, tick: Tick) -> Report:
    """Measure everything. say: told what comes next. tick: told how many memories were stored since.

    Raises RecalldError where something did not work that would make the numbers worthless.
    """
    facts, model = _machine(), minilm.find()
    with tempfile.TemporaryDirectory(prefix="recalld-bench-") as folder:
        root = Path(folder)
        sized = []
        measured = None
        for number, size in enumerate(sizes):
            say(f"storing {size:,} memories")
            home = asyncio.run(scratch.build(root / str(size), size, tick))
            if measured is None:
                say("a daemon at rest")
                measured = resting.measure(home, effort.rest_s)
            with scratch.daemon(home) as running:
                running.until_model()
                if number == 0:
                    say("hook processes")
                    hook_times = hooks.measure(home, effort.hooks)
                say(f"prompts at {size:,} memories")
                running.until(lambda status: status["jobs"]["ready"] + status["jobs"]["running"] == 0)
                times = socket_times.measure(home, effort.prompts, partial(resting.cpu_s, running))
                rss = resting.rss_mib(running)
            say(f"what others do at {size:,} memories")
            other = plain.measure(home, effort.prompts, root / str(size))
            dense = minilm.measure(model, home, effort.dense) if model else None
            sized.append(Sized(size, home.held, times, other, dense, rss))
        say("reading a transcript")
        read = reading.measure(root / "transcript.jsonl", effort.turns)
    assert measured is not None
    return Report(facts, hook_times, tuple(sized), measured, read)


def _machine() -> Machine:
    return Machine(
        cores=os.cpu_count() or 1,
        load=round(os.getloadavg()[0], 2),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        recalld=__version__,
    )
