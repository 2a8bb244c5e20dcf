"""Many sessions at once, for minutes, against one real daemon; and what must be true meanwhile and afterwards.

    python tests/soak.py                      # 20 sessions, 100 turns a minute, 10 minutes, a model
    python tests/soak.py --backend rules --minutes 2
    python tests/soak.py --growth             # 20,000 turns as fast as they go (--turns), while readers come and go

Real hook processes, as installed; the daemon with the loopback model or the rules alone; readers as a viewer is one, and
a plain `sqlite3` that holds a snapshot again and again. Prints a table; exit code 1 for each broken promise:
no error, each turn captured once, each fact stored once, a bounded WAL and a bounded daemon.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from conftest import Daemon, Home
from model_stub import ModelStub
from recalld.bench.spread import spread
from recalld.errors import RecalldError
from recalld.install import assets, settings

MIB = 1024 * 1024
MOST_WAL = 64 * MIB
REST_WAL = 8 * MIB
"""The promise of the WAL: at all times, and a minute after the last turn."""
MOST_RSS_MIB = 400
MOST_THREADS, MOST_FILES = 40, 200
PROJECTS = 5
FACT_EVERY = 2
"""One turn in so many states something; the others ask about it."""
BARE_EVERY = 10
"""Beside one turn in so many a bare interpreter is measured."""
SAMPLE_S = 0.1
SNAPSHOT_S = 2.0
"""So long the plain reader holds what it sees."""
CONFIG = """[extract]
backend = "{backend}"
base_url = "{url}"
max_usd_per_day = 100000
max_calls_per_day = 1000000
"""
KEY = "sk-" + "ant-test-" + "0" * 8
READER = """
import sqlite3, sys, time
while True:
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    db.execute("begin")
    db.execute("select count(*), sum(length(content)) from memories").fetchall()
    time.sleep(float(sys.argv[2]))
    db.close()
    time.sleep(float(sys.argv[2]) / 4)
"""
EVENTS = {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "stop": "Stop"}


class Plan(NamedTuple):
    """A run. turns: of all sessions. every_s: each session says something so often (0: as soon as it may).

    hooks: through real hook processes, else at the socket. settle_s: so long after the end the WAL must be small.
    """

    sessions: int = 20
    turns: int = 1000
    every_s: float = 12.0
    settle_s: float = 60.0
    backend: str = "anthropic"
    hooks: bool = True


class Run(NamedTuple):
    """What came of it. ms: by event. samples: of the daemon over time. wrong: each broken promise in a sentence.

    asked: calls of the model. late: Stops at the socket that were not answered in time; what was begun goes on, and counts.
    """

    ms: dict[str, list[float]]
    samples: list[Sample]
    facts: int
    asked: int
    late: int
    took_s: float
    drained_s: float
    wal_most: int
    wal_rest: int
    wrong: tuple[str, ...]


class Sample(NamedTuple):
    """The daemon's process at a moment. children: processes that it has at the time."""

    at_s: float
    rss_mib: float
    threads: int
    files: int
    children: int


def name(number: int) -> str:
    """A made-up word for each number, unlike the others."""
    sounds = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    chance = random.Random(number)
    return "".join(chance.choice(sounds) for _ in range(3)) + sounds[number % 70] + sounds[number // 70 % 70]


def fact(number: int) -> str:
    """The sentence that turn `number` states."""
    return f"We decided that the {name(number)} server listens on port {10000 + number} in every region."


class Watched:
    """Looks at the WAL and the daemon's process until told to stop."""

    def __init__(self, home: Home, daemon: Daemon) -> None:
        self.samples: list[Sample] = []
        self.wal_most = 0
        self._wal = home.paths.database.with_name(home.paths.database.name + "-wal")
        self._daemon = daemon
        self._begun = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    @property
    def wal(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            return self._wal.stat().st_size
        return 0

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        sampled = 0.0
        while not self._over.wait(SAMPLE_S):
            self.wal_most = max(self.wal_most, self.wal)
            if (now := time.monotonic() - self._begun) - sampled > 10 * SAMPLE_S or not self.samples:
                sampled = now
                with contextlib.suppress(OSError):
                    self.samples.append(self._sample(now))

    def _sample(self, now: float) -> Sample:
        process = Path(f"/proc/{self._daemon.pid}")
        status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines() if ":\t" in line)
        children = sum(len(path.read_text().split()) for path in process.glob("task/*/children"))
        return Sample(
            round(now, 1), int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), len(os.listdir(process / "fd")), children
        )  # fmt: skip


class Readers:
    """Who looks at memories meanwhile: two as a viewer does, over the socket, and a plain `sqlite3`."""

    def __init__(self, home: Home, stay: bool) -> None:
        self.asked = 0
        self.wrong: list[str] = []
        self._home = home
        self._over = threading.Event()
        self._stopped = False
        self._pause_s = 0.1 if stay else 0.02
        command = [sys.executable, "-c", READER, str(home.paths.database), str(SNAPSHOT_S if stay else SNAPSHOT_S / 4)]
        self._plain = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self._threads = [threading.Thread(target=self._read) for _ in range(2)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if (code := self._plain.poll()) is None:
            self._plain.kill()
            self._plain.wait()
        elif not self._stopped:
            self.wrong.append(f"the plain reader ended with {code}")
        self._stopped = True

    def _read(self) -> None:
        cwd = str(self._home.root / "work" / "p1")
        asked: list[tuple[str, dict[str, Any]]] = [
            ("list", {"project": "all", "limit": 50}), ("search", {"query": "which port does it listen on?", "cwd": cwd}),
            ("stats", {"project": "all"}), ("export", {"project": "all"}), ("why", {"cwd": cwd}), ("status", {}),
        ]  # fmt: skip
        while not self._over.wait(self._pause_s):
            verb, arguments = asked[self.asked % len(asked)]
            self.asked += 1
            try:
                self._home.client.call(verb, **arguments)
            except RecalldError as error:
                if "nothing was injected yet" not in str(error):
                    self.wrong.append(f"{verb}: {error}")


class Sessions:
    """People at work: each session in a thread of its own, its turns through the hooks that an installation has."""

    def __init__(self, home: Home, plan: Plan) -> None:
        self.ms: dict[str, list[float]] = defaultdict(list)
        self.facts: list[int] = []
        self.late = 0
        self._home = home
        self._plan = plan
        interpreter = assets.interpreter()
        entries = settings.entries(interpreter, assets.hook_script(), home.paths.socket)
        self._commands = {event: entries[shown] for event, shown in EVENTS.items()}
        self._bare = [str(interpreter), "-I", "-S", "-c", "pass"]
        self._numbers = iter(range(plan.turns))
        self._lock = threading.Lock()
        for number in range(PROJECTS):
            (home.root / "work" / f"p{number}").mkdir(parents=True)

    def work(self) -> None:
        """Until all turns are said. Raises what a session met."""
        with ThreadPoolExecutor(self._plan.sessions) as pool:
            for done in [pool.submit(self._session, number) for number in range(self._plan.sessions)]:
                done.result()

    def _session(self, session: int) -> None:
        time.sleep(self._plan.every_s * session / self._plan.sessions)
        common = {"session_id": f"s{session}", "cwd": str(self._home.root / "work" / f"p{session % PROJECTS}")}
        self._hook("session-start", common | {"source": "startup", "model": "stub"})
        due = time.monotonic()
        while (number := self._next()) is not None:
            self._turn(common | {"prompt_id": f"p{number}"}, number)
            due += self._plan.every_s
            time.sleep(max(0.0, due - time.monotonic()))

    def _next(self) -> int | None:
        with self._lock:
            return next(self._numbers, None)

    def _turn(self, common: dict[str, Any], number: int) -> None:
        states = number % FACT_EVERY == 0
        before = random.Random(number).choice(self.facts) if self.facts else 0
        said = fact(number) if states else f"On which port does the {name(before)} service listen? ({number})"
        self._hook("prompt", common | {"prompt": said})
        answered = self._hook("stop", common | {"last_assistant_message": "Done, and the tests pass."})
        self.late += not answered
        if states:
            self.facts.append(number)
        if self._plan.hooks and number % BARE_EVERY == 0:
            self._timed("bare interpreter", self._bare, b"")

    def _hook(self, event: str, fields: dict[str, Any]) -> bool:
        payload = json.dumps(fields | {"hook_event_name": EVENTS[event]}).encode()
        if not self._plan.hooks:
            begun = time.perf_counter()
            reply = self._home.client.exchange(f"hook {event} entrypoint=cli\n".encode() + payload)
            self.ms[event].append((time.perf_counter() - begun) * 1000)
            return reply != b""
        entry: dict[str, Any] = dict(self._commands[event])
        self._timed(event, [entry["command"], *entry["args"]], payload)
        return True

    def _timed(self, event: str, command: list[str], payload: bytes) -> None:
        begun = time.perf_counter()
        done = subprocess.run(
            command, input=payload, capture_output=True, env=self._home.environ, timeout=20, check=False
        )
        self.ms[event].append((time.perf_counter() - begun) * 1000)
        assert (done.returncode, done.stderr) == (0, b""), done


def soak(root: Path, plan: Plan, say: Callable[[str], None] = lambda _: None) -> Run:
    """Live through the plan in a home below `root`."""
    home = Home(root)
    home.recalld.mkdir()
    with ModelStub() as model:
        (home.recalld / "config.toml").write_text(CONFIG.format(backend=plan.backend, url=model.url))
        daemon = home.start_daemon(ANTHROPIC_API_KEY=KEY)
        watched, sessions = Watched(home, daemon), Sessions(home, plan)
        readers = Readers(home, stay=plan.every_s > 0)
        begun = time.monotonic()
        try:
            sessions.work()
            took_s = time.monotonic() - begun
            say(f"{plan.turns} turns in {took_s:.0f} s; waiting for the queue")
            _drained(home)
            drained_s = time.monotonic() - begun - took_s
            readers.stop()
            say(
                f"the queue is empty after {drained_s:.0f} s; waiting until the WAL is small, {plan.settle_s:.0f} s at most"
            )
            _until(lambda: watched.wal < REST_WAL, plan.settle_s)
            rest = watched.wal
        finally:
            readers.stop()
            watched.stop()
            daemon.stop()
    wrong = (*_wrong(home, sessions, readers, watched, rest), *_unasked(plan, sessions, model))
    return Run(
        sessions.ms, watched.samples, len(sessions.facts), len(model.extractions), sessions.late, took_s, drained_s,
        watched.wal_most, rest, wrong,
    )  # fmt: skip


def _drained(home: Home) -> None:
    """Until all that was said is learnt; it must go on all the time."""

    def waiting() -> int:
        status = home.client.call("status")
        return int(status["spool"] + status["jobs"]["ready"] + status["jobs"]["running"])

    left = waiting()
    while left:
        before, left = left, 0
        assert _until(lambda: waiting() < before, 120), f"{before} turns wait and none is learnt"  # noqa: B023
        left = waiting()


def _until(ready: Callable[[], bool], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while not (is_so := ready()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return is_so


def _wrong(home: Home, sessions: Sessions, readers: Readers, watched: Watched, rest: int) -> Iterator[str]:
    """Each promise that was broken."""
    log = (home.paths.log / "recalld.log").read_text()
    for line in [line for line in log.splitlines() if " ERROR " in line or "Traceback" in line][:5]:
        yield f"log: {line}"
    yield from readers.wrong[:5]
    with sqlite3.connect(home.paths.database) as db:
        counted = dict(db.execute("select prompt_id, count(*) from turns group by 1"))
        said = {f"p{number}" for number in range(sessions._plan.turns)}
        if counted.keys() != said or set(counted.values()) > {1}:
            yield f"{len(said - counted.keys())} turns were lost, {len(counted.keys() - said)} are nobody's"
        jobs = dict(db.execute("select state, count(*) from jobs where kind = 'extract' group by 1"))
        if jobs.keys() - {"done"}:
            yield f"jobs: {jobs}"
        known = [row[0] for row in db.execute("select content from memories where status = 'active'")]
    db.close()
    words = defaultdict(int)
    for content in known:
        for word in set(content.split()):
            words[word] += 1
    odd = {number: words[name(number)] for number in sessions.facts if words[name(number)] != 1}
    if odd:
        yield f"{len(odd)} of {len(sessions.facts)} facts are not stored exactly once: {dict(list(odd.items())[:5])}"
    if watched.wal_most >= MOST_WAL:
        yield f"the WAL grew to {watched.wal_most / MIB:.1f} MiB"
    if rest >= REST_WAL:
        yield f"the WAL is still {rest / MIB:.1f} MiB"
    most = [max(sample[place] for sample in watched.samples) for place in (1, 2, 3)]
    for found, allowed, what in zip(
        most, (MOST_RSS_MIB, MOST_THREADS, MOST_FILES), ("MiB", "threads", "files"), strict=True
    ):
        if found > allowed:
            yield f"the daemon had {found:.0f} {what}"
    if spooled := len(list(home.paths.spool.iterdir())):
        yield f"{spooled} hooks are left in the spool"


def _unasked(plan: Plan, sessions: Sessions, model: ModelStub) -> Iterator[str]:
    """What the model was never told, though it is there to be asked."""
    told = " ".join(seen.text for seen in model.extractions)
    missing = [number for number in sessions.facts if name(number) not in told]
    if plan.backend != "rules" and missing:
        yield f"the model was not asked about {len(missing)} facts: {missing[:5]}"


def report(run: Run) -> Iterator[str]:
    """The table of a run."""
    yield f"{'ms':<18}{'n':>7}{'p50':>9}{'p95':>9}{'p99':>9}{'most':>9}"
    for event, times in run.ms.items():
        found = spread(times)
        yield f"{event:<18}{found.n:>7}{found.p50:9.1f}{found.p95:9.1f}{found.p99:9.1f}{max(times):9.1f}"
    yield f"{run.took_s:.0f} s of work, {run.facts} facts, the queue empty {run.drained_s:.1f} s later"
    yield f"{run.asked} calls of the model, {run.late} Stops at the socket answered too late"
    yield f"WAL: {run.wal_most / MIB:.1f} MiB at most, {run.wal_rest / MIB:.1f} MiB at rest"
    yield f"{'daemon after s':<18}{'MiB':>7}{'threads':>9}{'files':>9}{'children':>9}"
    for sample in run.samples[:: max(1, len(run.samples) // 12)] + run.samples[-1:]:
        yield f"{sample.at_s:<18}{sample.rss_mib:7.0f}{sample.threads:9}{sample.files:9}{sample.children:9}"
    yield from (f"BROKEN: {sentence}" for sentence in run.wrong)


def plan_of(words: list[str]) -> Plan:
    """The plan that the arguments of the command line ask for."""
    parser = argparse.ArgumentParser(description="many sessions at once against one daemon")
    parser.add_argument("--sessions", type=int, default=20, help="--growth: a fifth of them, which wait for nothing")
    parser.add_argument("--per-minute", type=float, default=100, metavar="N", help="turns of all sessions together")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--backend", choices=("anthropic", "rules"), default="anthropic")
    parser.add_argument("--settle", type=float, default=60, metavar="S", help="until then the WAL must be small again")
    parser.add_argument("--growth", action="store_true", help="--turns at the socket, as fast as they go, rules alone")
    parser.add_argument("--turns", type=int, default=20_000, help="of --growth")
    asked = parser.parse_args(words)
    if asked.growth:
        return Plan(max(1, asked.sessions // 5), asked.turns, 0.0, asked.settle, "rules", hooks=False)
    turns = int(asked.per_minute * asked.minutes)
    return Plan(asked.sessions, turns, 60 * asked.sessions / asked.per_minute, asked.settle, asked.backend)


def main() -> int:
    """Soak, and tell what came of it."""
    plan = plan_of(sys.argv[1:])
    print(f"{plan}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        found = soak(Path(scratch), plan, lambda line: print(line, flush=True))
    print("\n".join(report(found)))
    print(f"load {os.getloadavg()[0]:.1f}")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
