"""The embedding model that the configuration names: loaded in the background, exchanged when the setting changes.

While no model is there, or SQLite cannot compare vectors, the store's `vectors` are None: search goes by words, new
memories wait for a vector. Vectors in the store stay as they are until another model really has loaded, so that a
failing one costs nothing, and going back to the one before needs no new ones. No other model ever stands in for one
that fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recalld import embed
from recalld.settings import Settings
from recalld.store import changes, search
from recalld.store.store import Store

log = logging.getLogger(__name__)

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 600.0
"""After a failure; twice as long each time."""
LOOK_S = 60.0
"""A changed setting is looked for so often, and whenever `look` is called."""
LOADING, READY = "loading", "ready"


class Model:
    """Keeps `store.vectors` those of the model in the settings.

    name: of the loaded model, else the one that is wanted. state: LOADING, READY, or why vectors are paused.
    """

    def __init__(self, store: Store, settings: Settings, models: Path, changed: Callable[[], None]) -> None:
        """changed: called when another model has become ready, for what has no vector of it yet."""
        self._store = store
        self._settings = settings
        self._models = models
        self._changed = changed
        self._wanted = self.name = settings.current.embed.model
        self.state = LOADING
        self._due = asyncio.Event()
        self._tried = asyncio.Event()

    def look(self) -> None:
        """The settings may have changed."""
        if self._settings.current.embed.model != self._wanted:
            self._due.set()

    async def first_try(self, patience_s: float) -> None:
        """Wait until loading has succeeded or failed once, or takes too long (a download)."""
        # Not `wait_for`: before Python 3.12 it forgets that it was cancelled where what it waits for comes at that moment.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._tried.wait()

    async def keep(self) -> None:
        """Load what is wanted, again after failures, until cancelled."""
        wait_s = FIRST_WAIT_S
        while True:
            self._due.clear()
            if self.state != READY:
                await self._load()
                self._tried.set()
            failed = self.state not in (READY, LOADING)
            await self._pause(wait_s if failed else LOOK_S)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S) if failed else FIRST_WAIT_S
            if self._settings.current.embed.model != self._wanted:
                self._wanted = self.name = self._settings.current.embed.model
                self._store.vectors, self.state, wait_s = None, LOADING, FIRST_WAIT_S

    async def _load(self) -> None:
        """One try; given up without a result where the setting changes meanwhile."""
        loading: asyncio.Future[Any] = _loaded(self._wanted, self._models)
        changing: asyncio.Future[Any] = asyncio.ensure_future(self._due.wait())
        try:
            await asyncio.wait((loading, changing), return_when=asyncio.FIRST_COMPLETED)
            if loading.done():
                await self._store.read(search.require_vec)
                await self._use(loading.result())
        except Exception as error:  # noqa: BLE001  # whatever files, libraries and the network have to say
            self.state = f"vectors paused: {error}"
            log.warning("vectors are paused, search goes by words: %s", error)
        finally:
            changing.cancel()

    async def _use(self, embedder: embed.Embedder) -> None:
        """From now on vectors are those of `embedder`. A read that began before may still see the others: it ends first."""
        model_id = await self._store.write(changes.use_model, embedder.name, embedder.dim)
        await self._store.read(_nothing)
        self._store.vectors = changes.Vectors(model_id, embedder)
        self.name, self.state = embedder.name, READY
        gc.collect()
        gc.freeze()
        self._changed()

    async def _pause(self, seconds: float) -> None:
        """Until something is due: the end of the pause, or a changed setting."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._due.wait()


def _loaded(name: str, models: Path) -> asyncio.Future[embed.Embedder]:
    """The model, loaded on a thread that nobody waits for: a download that hangs holds up neither a stop nor another model."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[embed.Embedder] = loop.create_future()
    result.add_done_callback(lambda done: done.cancelled() or done.exception())  # given up: nobody else looks

    def settle(outcome: embed.Embedder | Exception) -> None:
        if result.done():
            return
        if isinstance(outcome, Exception):
            result.set_exception(outcome)
        else:
            result.set_result(outcome)

    def run() -> None:
        outcome: embed.Embedder | Exception
        try:
            outcome = embed.load(name, models)
        except Exception as error:  # noqa: BLE001  # told to whoever waits for the result
            outcome = error
        with contextlib.suppress(RuntimeError):  # the loop may be over by now
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name="load-model", daemon=True).start()
    return result


def _nothing(db: object) -> None:
    """Only wait for one's turn."""
