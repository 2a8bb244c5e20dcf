"""The daemon's own composition on a scratch home, with a clock that is moved by hand and without a socket."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recalld import wire
from recalld.config import CaptureConfig, Config, ProjectsConfig
from recalld.embed import Embedder
from recalld.learn import Learner
from recalld.model import Memory
from recalld.service import Service
from recalld.settings import Settings
from recalld.store import changes, jobs, memories
from recalld.store.store import Store
from recalld.verbs import registry
from recalld.verbs.context import here
from recalld.worker import Worker

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""When simulated lives begin."""
TURN = timedelta(seconds=5)
"""From one event to the next; more than extraction waits after a turn."""
BATCH = 500
"""Memories stored in one transaction."""

_NO_NAME = re.compile(r"[^\w .-]")
_EVENTS = {"prompt": "UserPromptSubmit", "stop": "Stop"}


class House:
    """A store, service and worker of their own. now: what their clock shows."""

    def __init__(self, folder: Path, config: Config, environ: Mapping[str, str], now: datetime) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.now = now
        self._projects = 0
        self.store = Store(folder / "memories.db", folder / "backups", self._clock)
        self.service = Service(self.store, _Given(usable(config)), self._clock, folder, lambda: None)
        learner = Learner(self.store, self.service, environ)
        spool = folder / "spool"
        self.worker = Worker(self.store, self.service, learner, "eval", self._clock, spool, self._no_upkeep)

    def project(self, name: str) -> str:
        """The folder of a new project, called `name` as far as a folder can be."""
        self._projects += 1
        called = _NO_NAME.sub("-", name).strip(". ")[:60] or "project"
        path = self.folder / "projects" / str(self._projects) / called
        path.mkdir(parents=True)
        return str(path)

    async def project_id(self, cwd: str) -> int:
        """The project of a folder made by `project`."""
        found = await self.store.write(here, self.service.context("eval"), cwd)
        assert found.project_id is not None
        return found.project_id

    async def hook(self, event: str, **payload: Any) -> None:
        """What a hook of Claude Code would send; returns when all of it is stored."""
        fields = {"hook_event_name": _EVENTS[event], **payload}
        request = wire.Request("hook", event, {}, json.dumps(fields).encode())
        await self.service.hook(request)
        await self.service.drain()

    async def turn(self, cwd: str, session: str, prompt_id: str, prompt: str, answer: str) -> str | None:
        """A turn is said, and what is worth keeping is learnt from it; why that failed, where it did."""
        common = {"session_id": session, "cwd": cwd, "prompt_id": prompt_id}
        await self.hook("prompt", **common, prompt=prompt)
        self.now += TURN
        await self.hook("stop", **common, last_assistant_message=answer)
        return await self.learn()

    async def learn(self) -> str | None:
        """Work off what was said; why that failed, where it did."""
        self.now += TURN
        await self.worker.step()
        return await self.store.read(jobs.last_error)

    async def call(self, verb: str, **arguments: Any) -> Any:
        """What a command does. Raises RecalldError."""
        return await registry.call(self.store, self.service.context("cli"), verb, arguments)

    async def keep(self, items: Sequence[tuple[Memory, int]]) -> None:
        """Store memories as they are, each in the project of this number, as an import does: none is merged away."""
        for start in range(0, len(items), BATCH):
            await self.store.act("import", None, False, _insert, items[start : start + BATCH])

    async def stored(self) -> list[Memory]:
        """All memories that still have a text, in the order they came."""
        return await self.store.read(_stored)

    def _clock(self) -> datetime:
        return self.now

    async def _no_upkeep(self) -> None:
        """Upkeep is done when the case says that days pass."""


@contextlib.asynccontextmanager
async def house(
    folder: Path, config: Config, embedder: Embedder, environ: Mapping[str, str], now: datetime = START
) -> AsyncIterator[House]:
    """A house for the length of a block, in a new folder."""
    opened = House(folder, config, environ, now)
    try:
        model_id = await opened.store.write(changes.use_model, embedder.name, embedder.dim)
        opened.store.vectors = changes.Vectors(model_id, embedder)
        yield opened
    finally:
        await opened.service.drain()
        await opened.store.close()


def usable(config: Config) -> Config:
    """`config` without what would keep a case from being heard: switches, and the owner's own projects."""
    return msgspec.structs.replace(
        config,
        memory=msgspec.structs.replace(config.memory, enabled=True),
        capture=CaptureConfig(),
        projects=ProjectsConfig(),
    )


class _Given(Settings):
    """Settings without a file behind them."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.error = None

    @property
    def current(self) -> Config:
        return self._config


def _insert(db: apsw.Connection, items: Sequence[tuple[Memory, int]]) -> None:
    for memory, project_id in items:
        memories.insert(db, memory, project_id)


def _stored(db: apsw.Connection) -> list[Memory]:
    seqs = [row[0] for row in db.execute("select seq from memories where status <> 'deleted' order by seq")]
    rows = memories.by_seq(db, seqs)
    return [rows[seq] for seq in seqs]
