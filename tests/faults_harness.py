"""A daemon that is killed at its n-th commit, before or after it, and what must be true when all is done all the same.

    python tests/faults_harness.py            # each commit of the script below, both ways; exit code 1 for any loss
    python tests/faults_harness.py --every 7  # only each seventh

`SCRIPT` is what one afternoon does: turns in several sessions, memories added, edited, pinned and deleted by hand, the
daily upkeep. Whoever gets no answer does what a person would: hooks spool by themselves, a command is given again.
The kill comes from a wrapper around `store.connection.transaction` in the daemon's own process; no product code knows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from claude_client import until
from conftest import Daemon, Home
from recalld import maintain
from recalld.errors import InputError, RecalldError, UnavailableError
from recalld.store.connection import open_writer, transaction

HOOK = Path(__file__).resolve().parents[1] / "hooks" / "hook.py"
TURNS = 5
SECRET_WORD = "marmalade"
CONFIG = '[extract]\nbackend = "rules"\n'


class Point(NamedTuple):
    """Where the daemon is killed: at its commit number `at` since its start (0: nowhere), `before` or `after` it."""

    at: int
    when: str


class Outcome(NamedTuple):
    """killed: whether the point was reached. wrong: each broken promise in a sentence."""

    point: Point
    killed: bool
    wrong: tuple[str, ...]
    commits: int = 0


class Afternoon:
    """One home, its daemon, and what was asked of it."""

    def __init__(self, home: Home, point: Point) -> None:
        home.recalld.mkdir(exist_ok=True)
        (home.recalld / "config.toml").write_text(CONFIG)
        self.home = home
        self.killed = False
        self.ids: dict[str, str] = {}
        self.daemon: Daemon | None = None
        self._start(sys.executable, __file__, "--daemon", str(point.at), point.when)

    def _start(self, *wrapper: str) -> None:
        try:
            self.daemon = self.home.start_daemon(*wrapper)
        except (AssertionError, UnavailableError):  # killed before it could answer
            self.daemon = None
        self.alive()

    def alive(self) -> None:
        """See to it that a daemon runs: the one that is to be killed, else one that is not."""
        if self.daemon is None or self.daemon.process.poll() is not None:
            self._bury()
            self.daemon = self.home.start_daemon()

    def _bury(self) -> None:
        self.killed = True
        if self.daemon:
            assert self.daemon.process.returncode == -signal.SIGKILL, self.daemon.process.communicate()
            self.daemon.process.communicate()

    def turn(self, number: int) -> None:
        """A prompt and its Stop, through the real hook."""
        said = f"We decided that service {chr(97 + number)}{number} listens on port {7000 + number}."
        common = {"session_id": f"s{number % 2}", "cwd": str(self.home.project), "prompt_id": f"p{number}"}
        self._hook("prompt", {**common, "hook_event_name": "UserPromptSubmit", "prompt": said})
        self._hook("stop", {**common, "hook_event_name": "Stop", "last_assistant_message": "Noted."})

    def _hook(self, event: str, payload: dict[str, Any]) -> None:
        done = subprocess.run(
            [sys.executable, "-I", "-S", HOOK, event, self.home.paths.socket], input=json.dumps(payload).encode(),
            capture_output=True, env=self.home.environ, cwd=self.home.project, timeout=20, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        self._wait_for_death()

    def call(self, verb: str, **arguments: Any) -> Any:
        """A command; given again where no answer came."""
        while True:
            try:
                answer = self.home.client.call(verb, **arguments)
                self._wait_for_death()
                return answer
            except UnavailableError:
                self.alive()

    def _wait_for_death(self) -> None:
        """A daemon that has just been killed after its answer may not be gone yet."""
        if self.daemon and self.daemon.process.poll() is not None:
            self.alive()

    def add(self, name: str, text: str) -> None:
        self.ids[name] = self.call("add", text=text, cwd=str(self.home.project))["id"]

    def settle(self) -> None:
        """Until every turn is learnt."""

        def done() -> bool:
            status = self.call("status")
            return bool(status["spool"] == 0 and status["jobs"]["ready"] + status["jobs"]["running"] == 0)

        until("all turns are learnt", done, 60)

    def close(self) -> int:
        """End the daemon in order; returns how many commits it made, where it was the one that counts."""
        if self.daemon and self.daemon.process.poll() is None:
            self.daemon.stop()
        elif self.daemon:
            self._bury()
        counted = self.home.root / "commits"
        return int(counted.read_text()) if counted.exists() else 0


def _play(day: Afternoon) -> None:
    for number in range(3):
        day.turn(number)
    day.add("cache", "The cache is Redis 6.")
    day.add("vault", f"The vault is called {SECRET_WORD}.")
    day.call("edit", id=day.ids["cache"], text="The cache is Valkey 8.")
    day.turn(3)
    day.settle()
    with contextlib.suppress(InputError):  # given again, it is gone already
        day.call("delete", ids=[day.ids["vault"]])
    day.call("pin", ids=[day.ids["cache"]])
    day.turn(4)
    day.settle()
    day.call("maintain")


def _wrong(home: Home, ids: dict[str, str]) -> Iterator[str]:
    """What is not as it must be, with no daemon at work."""
    db = open_writer(home.paths.database)
    try:
        for check, sound in (("quick_check", ["ok"]), ("foreign_key_check", [])):
            if (said := [row[0] for row in db.execute(f"pragma {check}")]) != sound:
                yield f"{check}: {said}"
        turns = [row[0] for row in db.execute("select prompt_id from turns order by prompt_id")]
        if turns != [f"p{number}" for number in range(TURNS)]:
            yield f"turns: {turns}"
        jobs = list(db.execute("select key, state from jobs where kind = 'extract' order by key"))
        if jobs != [(f"p{number}", "done") for number in range(TURNS)]:
            yield f"jobs: {jobs}"
        known = [row[0] for row in db.execute("select content from memories where status = 'active'")]
        for wanted in (*(str(7000 + number) for number in range(TURNS)), "Valkey 8"):
            if (times := sum(wanted in content for content in known)) != 1:
                yield f"{wanted} is known {times} times: {known}"
        if any("Redis" in content for content in known) or len(known) != TURNS + 1:
            yield f"too much is known: {known}"
        states = dict(db.execute("select id, status || pinned from memories"))
        if (states[ids["vault"]], states[ids["cache"]]) != ("deleted0", "active1"):
            yield f"states: {states}"
        with transaction(db):
            if broken := maintain.repair(db):
                yield f"indexes: {broken}"
        if waiting := db.execute("select count(*) from changes").get:
            yield f"{waiting} changes were not followed"
    finally:
        db.close()
    left = b"".join(path.read_bytes() for path in home.recalld.glob("memories.db*"))
    if SECRET_WORD.encode() in left:
        yield "what was deleted is still in the file"
    if spooled := list(home.paths.spool.iterdir()):
        yield f"spool: {spooled}"


def afternoon(root: Path, point: Point) -> Outcome:
    """Live through the script with a kill at `point`, and look at what is left."""
    day = Afternoon(Home(root), point)
    try:
        _play(day)
        failure: tuple[str, ...] = ()
    except (AssertionError, RecalldError) as error:
        failure = (f"{type(error).__name__}: {error}",)
    finally:
        commits = day.close()
    return Outcome(point, day.killed, failure or tuple(_wrong(day.home, day.ids)), commits)


def points(commits: int, every: int) -> list[Point]:
    """Each `every`-th commit, both ways (one way, by turns, where some are left out)."""
    chosen = range(1, commits + 1, every)
    if every == 1:
        return [Point(at, when) for at in chosen for when in ("before", "after")]
    return [Point(at, ("before", "after")[number % 2]) for number, at in enumerate(chosen)]


def _be_daemon(at: int, when: str) -> None:
    """Serve, and die at the commit."""
    from recalld.store import connection

    plain: Callable[..., Any] = connection.transaction
    count = 0

    @contextlib.contextmanager
    def counted(db: Any, *, durable: bool = False) -> Iterator[None]:
        nonlocal count
        with plain(db, durable=durable):
            yield
            count += 1
            here = count == at
            if here and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
        if here:
            os.kill(os.getpid(), signal.SIGKILL)

    for module in list(sys.modules.values()):
        if module.__dict__.get("transaction") is plain:
            module.transaction = counted  # type: ignore[attr-defined]
    from recalld.cli import foreground
    from recalld.paths import find

    code = foreground.run(find(), debug=False)
    if at == 0:
        (find().data.parent / "commits").write_text(str(count))
    sys.exit(code)


def main() -> int:
    """Run the points and tell what came of them."""
    parser = argparse.ArgumentParser(description="kill the daemon at each of its commits")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th commit")
    parser.add_argument("--daemon", nargs=2, metavar=("AT", "WHEN"), help=argparse.SUPPRESS)
    arguments, _ = parser.parse_known_args()
    if arguments.daemon:
        _be_daemon(int(arguments.daemon[0]), arguments.daemon[1])
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        whole = afternoon(Path(scratch) / "whole", Point(0, "before"))
        print(f"without a kill: {whole.commits} commits, {list(whole.wrong) or 'all as it must be'}")
        todo = points(whole.commits, arguments.every)
        roots = (Path(scratch) / f"{point.at}-{point.when}" for point in todo)
        outcomes = list(pool.map(afternoon, roots, todo))
    for outcome in outcomes:
        for sentence in outcome.wrong:
            print(f"killed {outcome.point.when} commit {outcome.point.at}: {sentence}")
    broken = sum(bool(outcome.wrong) for outcome in outcomes)
    killed = sum(outcome.killed for outcome in outcomes)
    print(f"{len(outcomes)} points, {killed} kills, {broken} with a loss or a double; {time.monotonic() - begun:.0f} s")
    return 1 if broken or whole.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
