"""Tells when a transcript has become quiet, and when a hook has left something in the spool.

A sweep over the folders by `stat` finds everything by itself; `watchdog` only makes it quick, so that sweeps can be
rare. Where the system gives no watches, or the tree would take too many of them, the sweeps become frequent instead.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recalld.paths import spooled
from recalld.watch.sweep import Sweep, folder_count, identity, is_transcript

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver

log = logging.getLogger(__name__)

QUIET_S = 30.0
POLL_S = 5.0
SWEEP_S = 60.0
RETRY_S = 600.0

# A recursive watch costs one inotify watch a folder; the limit (8,192 on older kernels) is shared with the editor.
MAX_FOLDERS = 1000
# A change this old that only a sweep saw shows that events are lost: a full queue, a file system that sends none (a
# network's, a container's mount), a thread of the observer's that died unseen.
LATE_S = 3.0

Mode = Literal["inotify", "polling", "off"]


class Watch:
    """Watches `root` (`projects/<folder>/<session>.jsonl`) and the `spool` folder; either may not exist yet.

    `on_transcript(path)` and `on_spool(path)` are called in `loop`: the first when a transcript that changed has been
    quiet for `quiet_s`, the second for each `.hook` file at once and again at each sweep until it is gone. Both may
    come for something already known. `mode` says how changes are seen; `inotify` stands for the system's own way on
    macOS too.
    """

    def __init__(
        self,
        root: Path,
        spool: Path,
        loop: asyncio.AbstractEventLoop,
        on_transcript: Callable[[Path], object],
        on_spool: Callable[[Path], object],
        *,
        quiet_s: float = QUIET_S,
        poll_s: float = POLL_S,
        sweep_s: float = SWEEP_S,
    ) -> None:
        self.mode: Mode = "off"
        self._root, self._spool, self._loop = root, spool, loop
        self._on_transcript, self._on_spool = on_transcript, on_spool
        self._quiet_s, self._poll_s, self._sweep_s = quiet_s, poll_s, sweep_s
        self._thread = threading.Thread(target=self._run, name="recalld-watch", daemon=True)
        self._wake = threading.Condition()
        self._stopping = False
        self._quiet_at: dict[Path, float] = {}
        self._observer: BaseObserver | None = None
        self._observed: tuple[tuple[int, int] | None, ...] = ()
        self._retry_at = 0.0
        self._connected_ns = 0
        self._heard: set[Path] = set()
        self._new_folders = 0
        self._known = Sweep(root)

    def start(self) -> None:
        """Begin in a thread of its own."""
        self.mode = "polling"
        self._thread.start()

    def stop(self) -> None:
        """End; nothing is called afterwards, except what already waits in the loop."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join(5)
        self.mode = "off"

    def touch(self, path: Path) -> None:
        """`path` changed just now (any thread): a hook that names a transcript says so, too."""
        if not is_transcript(self._root, path):
            return
        with self._wake:
            if path not in self._quiet_at:
                self._wake.notify()
            self._quiet_at[path] = time.monotonic() + self._quiet_s

    def _run(self) -> None:
        sweep_at = 0.0
        while True:
            with self._wake:
                now = time.monotonic()
                wait = min(sweep_at, *self._quiet_at.values()) - now if self._quiet_at else sweep_at - now
                if wait > 0 and not self._stopping:
                    self._wake.wait(wait)
                if self._stopping:
                    break
                now = time.monotonic()
                quiet = [path for path, at in self._quiet_at.items() if at <= now]
                for path in quiet:
                    del self._quiet_at[path]
            for path in quiet:
                self._tell(self._on_transcript, path)
            if now >= sweep_at:
                self._sweep_safely()
                sweep_at = time.monotonic() + (self._sweep_s if self.mode == "inotify" else self._poll_s)
        self._disconnect()

    def _tell(self, callback: Callable[[Path], object], path: Path) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, path)
        except RuntimeError:  # The loop is closed: nobody is left to tell.
            self._stopping = True

    def _sweep_safely(self) -> None:
        try:
            self._reconnect()
            self._sweep()
        except Exception:
            log.exception("a sweep over the transcripts failed")

    # Seeing changes as the system tells of them -----------------------------------------------------------------

    def _reconnect(self) -> None:
        """Watch the folders that exist now; those made, removed or replaced since are taken up anew."""
        present = (identity(self._root), identity(self._spool))
        if self._observer is not None and (present != self._observed or not self._is_healthy()):
            self._disconnect()
        if self._observer is not None or present[0] is None or time.monotonic() < self._retry_at:
            return
        try:
            self._connect()
            self._observed, self._connected_ns, self.mode = present, time.time_ns(), "inotify"
        except (
            OSError,
            RuntimeError,
            ImportError,
        ) as error:  # No watches (ENOSPC), descriptors (EMFILE) or threads left.
            self._poll_for_now(str(error))

    def _poll_for_now(self, reason: str) -> None:
        log.warning("transcripts are polled: %s", reason)
        self._disconnect()
        self._retry_at = time.monotonic() + RETRY_S

    def _connect(self) -> None:
        if folder_count(self._root, MAX_FOLDERS) > MAX_FOLDERS:
            raise OSError(f"more than {MAX_FOLDERS} folders below {self._root}")
        # Imported here: 10-34 ms that nothing else waits for.
        from watchdog import events
        from watchdog.observers import Observer

        # Without `opened` and `closed`: our own reading would wake us.
        kinds: list[type[FileSystemEvent]] = [
            events.FileCreatedEvent,
            events.FileModifiedEvent,
            events.FileMovedEvent,
            events.DirCreatedEvent,
            events.DirMovedEvent,
        ]
        # Of a folder made while it is being looked through; where warnings are errors it would end watchdog's thread.
        warnings.filterwarnings("ignore", message="Callback with id", category=RuntimeWarning)
        self._new_folders = 0
        self._observer = observer = Observer()
        observer.schedule(self._handler(self._root), str(self._root.resolve()), recursive=True, event_filter=kinds)
        if self._spool.is_dir():
            observer.schedule(self._handler(self._spool), str(self._spool.resolve()), event_filter=kinds)
        observer.start()

    def _handler(self, folder: Path) -> FileSystemEventHandler:
        from watchdog.events import FileSystemEventHandler

        watch, real = self, folder.resolve()

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                watch._new_folders += event.is_directory
                for name in (event.src_path, event.dest_path):
                    # As the hooks name it, which is not the real path where the folder is a link.
                    path = Path(os.fsdecode(name))
                    watch._seen(folder / path.relative_to(real) if path.is_relative_to(real) else path)

        return Handler()

    def _seen(self, path: Path) -> None:
        if path.parent == self._spool and path.suffix == ".hook":
            self._tell(self._on_spool, path)
        else:
            self._heard.add(path)
            self.touch(path)

    def _is_healthy(self) -> bool:
        """Whether all of the observer's threads live and the tree has not outgrown its bound."""
        if self._new_folders and folder_count(self._root, MAX_FOLDERS) > MAX_FOLDERS:
            return False
        self._new_folders = 0
        observer = self._observer
        return observer is not None and observer.is_alive() and all(one.is_alive() for one in observer.emitters)

    def _disconnect(self) -> None:
        observer, self._observer = self._observer, None
        self.mode = "polling"
        if observer is None:
            return
        try:
            observer.unschedule_all()
            if observer.is_alive():
                observer.stop()
                observer.join(2)
        except Exception:
            log.debug("the observer did not stop cleanly", exc_info=True)

    # Seeing changes by looking ----------------------------------------------------------------------------------

    def _sweep(self) -> None:
        for path in spooled(self._spool):
            self._tell(self._on_spool, path)
        heard, self._heard = self._heard, set()
        found = self._known.look(heard)
        for path, _ in found:
            self.touch(path)
        late_ns = time.time_ns() - int(LATE_S * 1e9)
        if self.mode == "inotify" and any(self._connected_ns < at < late_ns for path, at in found if path not in heard):
            self._poll_for_now("the system did not tell of a change")
