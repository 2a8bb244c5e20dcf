"""A scratch home: its folders, its store filled with as many memories as are wanted, its daemon as a real process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw

from recalld import embed, paths
from recalld.bench import texts
from recalld.client import Client
from recalld.config import ProjectsConfig
from recalld.errors import RecalldError, UnavailableError
from recalld.model import Memory, Scope, new_id, timestamp
from recalld.paths import Paths
from recalld.project import Place, locate
from recalld.store import changes, memories, projects, search
from recalld.store.store import Store, utc_now

PATIENCE_S = 60.0
BATCH = 2_000
OF_THE_USER = 100
"""So many memories hold everywhere."""
PROJECTS = 20
"""So many other projects share what the one at hand does not have."""
_NOTHING = b"hook nothing\n{}"
"""A request that touches no database."""
CONFIG = '[extract]\nbackend = "rules"\n'


@dataclass(frozen=True)
class Home:
    """A scratch home. here: the folder of the project that is worked in; held: how many memories that has."""

    paths: Paths
    here: Path
    held: int

    @property
    def environ(self) -> dict[str, str]:
        """For the processes of this home: the owner's files stay out of it."""
        own = {"RECALLD_HOME": str(self.paths.data), "CLAUDE_CONFIG_DIR": str(self.paths.data / "claude")}
        return {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")} | own


async def build(folder: Path, size: int, tick: Callable[[int], None]) -> Home:
    """A home whose store holds `size` memories. tick: called with how many have been stored since."""
    home = Home(paths.find({"RECALLD_HOME": str(folder)}), folder / "work" / "here", in_project(size))
    home.paths.ensure()
    home.paths.config.write_text(CONFIG)
    folders = [home.here, *(folder / "work" / f"other{number}" for number in range(PROJECTS))]
    for place in folders:
        place.mkdir(parents=True)
    store = Store(home.paths.database, home.paths.backups)
    try:
        embedder = embed.load(embed.BUILTIN, home.paths.models)
        store.vectors = changes.Vectors(await store.write(changes.use_model, embedder.name, embedder.dim), embedder)
        ids = [await store.write(_project, place) for place in folders]
        for start in range(0, size, BATCH):
            numbers = range(start, min(start + BATCH, size))
            await store.act("import", None, False, _fill, numbers, home.held, ids)
            tick(len(numbers))
        for partition in await store.read(search.partitions):
            while await store.write(search.merge, partition):  # as the daily upkeep leaves it
                pass
    finally:
        await store.close()
    return home


def in_project(size: int) -> int:
    """How many of a store's memories the project at hand has: 10,000 at most, and 20,000 of a million."""
    return min(size - min(OF_THE_USER, size // 10), 20_000 if size >= 1_000_000 else 10_000)


def _project(db: apsw.Connection, folder: Path) -> int:
    place = locate(folder, ProjectsConfig(), folder.parent)
    assert isinstance(place, Place)
    return projects.resolve(db, place, utc_now())


def _fill(db: apsw.Connection, numbers: Sequence[int], held: int, ids: Sequence[int]) -> None:
    now = utc_now()
    for number in numbers:
        content, kind = texts.memory(number)
        said = timestamp(now - timedelta(minutes=number % 400_000))
        of_user = held <= number < held + OF_THE_USER
        project_id = ids[0] if number < held else ids[1 + number % (len(ids) - 1)]
        memories.insert(
            db,
            Memory(
                id=new_id(), scope=Scope.USER if of_user else Scope.PROJECT, type=kind, content=content,
                source="import", confidence=0.9, first_seen=said, last_seen=said, created_at=said, updated_at=said,
            ),
            project_id,
        )  # fmt: skip


class Running:
    """A daemon process of ours. begun: when it was started, as `time.perf_counter` tells."""

    def __init__(self, home: Home) -> None:
        self.begun = time.perf_counter()
        command = [sys.executable, "-m", "recalld", "run"]
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(command, env=home.environ, stdin=null, stdout=null, stderr=null)
        self.client = Client(home.paths.socket)

    def status(self) -> dict[str, Any] | None:
        """What it says of itself; None while it does not answer. Raises UnavailableError where it has ended."""
        if (code := self.process.poll()) is not None:
            raise UnavailableError(f"the daemon ended with code {code} while it was measured")
        try:
            answer: dict[str, Any] = self.client.call("status")
        except RecalldError:
            return None
        return answer

    def until_listening(self) -> None:
        """Return as soon as it answers anything at all. Raises UnavailableError after PATIENCE_S."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.client.exchange(_NOTHING)
            except UnavailableError:
                time.sleep(0.002)
            else:
                return
        raise UnavailableError(f"the daemon did not answer within {PATIENCE_S:.0f} s")

    def until(self, ready: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Its status once `ready(status)`. Raises UnavailableError after PATIENCE_S."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if (status := self.status()) and ready(status):
                return status
            time.sleep(0.02)
        raise UnavailableError(f"the daemon was not ready within {PATIENCE_S:.0f} s")

    def until_model(self) -> dict[str, Any]:
        """Its status once the embedding model is loaded."""
        return self.until(lambda status: status["model"]["state"] == "ready")


@contextlib.contextmanager
def daemon(home: Home) -> Iterator[Running]:
    """A real daemon process of this home for the length of a block."""
    running = Running(home)
    try:
        yield running
    finally:
        running.process.send_signal(signal.SIGTERM)
        try:
            running.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            running.process.kill()
            running.process.wait()
