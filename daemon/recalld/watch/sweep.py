"""Finds new and changed transcripts by `stat`, looking at little each time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

# Transcripts whose size is compared at each sweep: the newest ones.
MAX_FOLLOWED = 512
# At the first sweep, transcripts changed within this time count as changed: a turn may have ended while nobody looked.
RECENT_S = 24 * 3600.0
# A folder's own time does not change when a file in it grows, so each sweep also lists one in this many anew.
RELIST = 12

_UNSEEN = (0, -1)


class Sweep:
    """What is known of the transcripts below `root` (`<folder>/<session>.jsonl`) from one sweep to the next."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders: dict[str, int] = {}
        self._followed: dict[Path, tuple[int, int]] = {}
        self._since_ns = 0
        self._round = 0

    def look(self, heard: Iterable[Path]) -> list[tuple[Path, int]]:
        """The transcripts that are new or changed since the last sweep, with their time of change in ns.

        heard: paths that are known to have changed, to be followed whatever their folder shows.
        """
        self._round += 1
        for path in heard:
            if is_transcript(self._root, path):
                self._followed.setdefault(path, _UNSEEN)
        folders = dict(_subfolders(self._root))
        for number, (name, changed_ns) in enumerate(folders.items()):
            if self._folders.get(name) != changed_ns or number % RELIST == self._round % RELIST:
                self._list(self._root / name)
        self._folders = folders
        changed = [path for path in list(self._followed) if self._has_changed(path)]
        self._drop_oldest()
        return [(path, self._followed[path][0]) for path in changed if path in self._followed]

    def _drop_oldest(self) -> None:
        """Keep to the bound; what is older than the ones dropped is not taken up again by a listing."""
        newest_first = sorted(self._followed, key=lambda path: self._followed[path], reverse=True)
        for path in newest_first[MAX_FOLLOWED:]:
            self._since_ns = max(self._since_ns, self._followed.pop(path)[0])

    def _list(self, folder: Path) -> None:
        """Follow the folder's transcripts of late."""
        since_ns = max(time.time_ns() - int(RECENT_S * 1e9), self._since_ns + 1)
        for path in _transcripts(folder):
            state = _state(path)
            if state and state[0] >= since_ns and is_transcript(self._root, path):
                self._followed.setdefault(path, _UNSEEN)

    def _has_changed(self, path: Path) -> bool:
        """Whether a followed transcript is not as last seen; one that is gone is followed no more."""
        state, before = _state(path), self._followed[path]
        if state is None:
            del self._followed[path]
            return False
        self._followed[path] = state
        return state != before


def is_transcript(root: Path, path: Path) -> bool:
    """`root/<folder>/<session>.jsonl`; what sub-agents write lies deeper, or is called `agent-...`."""
    return path.suffix == ".jsonl" and path.parent.parent == root and not path.name.startswith("agent-")


def _transcripts(folder: Path) -> list[Path]:
    """The transcripts in `folder`; none where it cannot be read."""
    try:
        return [folder / name for name in os.listdir(folder) if name.endswith(".jsonl")]
    except OSError:
        return []


def folder_count(root: Path, limit: int) -> int:
    """How many folders a recursive watch of `root` takes; counting ends beyond `limit`."""
    count = 0
    for _, names, _ in os.walk(root):
        count += 1
        if count + len(names) > limit:
            return count + len(names)
    return count


def identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another put in its place; None where there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _state(path: Path) -> tuple[int, int] | None:
    """(time of change in ns, size) of a file; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _subfolders(root: Path) -> Iterator[tuple[str, int]]:
    """The names of the folders in `root`, with their time of change in ns."""
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                try:
                    if entry.is_dir():
                        yield entry.name, entry.stat().st_mtime_ns
                except OSError:
                    continue
    except OSError:
        return
