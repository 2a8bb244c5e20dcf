"""Checks of the machine: folders, disk, interpreter, clock, watches."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat

from recalld import maintain
from recalld.doctor.check import Home
from recalld.errors import StoreError
from recalld.install import around, assets, setup
from recalld.store.connection import open_reader, translated
from recalld.store.store import utc_now

FREE_BYTES = 200 * 1024 * 1024
"""Room for the database, its WAL, and a backup of a store of usual size."""


def check_folders(home: Home) -> tuple[str, str]:
    """Whether all folders are the owner's alone and can be written to."""
    paths = home.paths
    for folder in dict.fromkeys((paths.data, paths.config_dir, paths.state, paths.runtime)):
        if not folder.exists():
            continue
        status = folder.stat()
        if status.st_uid != os.getuid():
            return f"{folder} belongs to user {status.st_uid}, not to you", f"chown it to you, or remove it: {folder}"
        if not os.access(folder, os.W_OK):
            return f"{folder} cannot be written to", f"mount it for writing, or chmod 700 {folder}"
        if stat.S_IMODE(status.st_mode) & 0o077:
            return f"{folder} can be read by others (mode {stat.S_IMODE(status.st_mode):o})", f"chmod 700 {folder}"
    return f"{paths.data} and the others are yours alone", ""


def mend_folders(home: Home) -> str:
    """Shut the folders to others."""
    paths = home.paths
    for folder in (paths.data, paths.config_dir, paths.state, paths.runtime):
        if folder.exists() and folder.stat().st_uid == os.getuid():
            folder.chmod(0o700)
    return "they are yours alone now"


def check_disk(home: Home) -> tuple[str, str]:
    """Whether there is room for the database."""
    folder = next(part for part in (home.paths.data, *home.paths.data.parents) if part.exists())
    free = shutil.disk_usage(folder).free
    detail = f"{free / 2**30:.1f} GiB are free for {home.paths.data}"
    return detail, "free some space: nothing can be remembered on a full disk" if free < FREE_BYTES else ""


def check_interpreter(home: Home) -> tuple[str, str]:
    """Whether the hook's interpreter is there and new enough."""
    return f"{setup.check_interpreter(assets.interpreter())} runs the hook", ""


def check_clock(home: Home) -> tuple[str, str]:
    """Whether the clock is right, as far as the stored times tell."""
    now, path, count = utc_now(), home.paths.database, 0
    if path.exists():
        # Too old or damaged: other checks tell.
        with contextlib.suppress(StoreError), translated(path), contextlib.closing(open_reader(path)) as db:
            count = maintain.ahead(db, now)
    return around.clock(now, count)


def check_watches(home: Home) -> tuple[str, str]:
    """Whether transcripts can be watched."""
    return around.watches(str((home.status or {}).get("watch", "off")))
