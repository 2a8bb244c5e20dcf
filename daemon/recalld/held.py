"""What a transcript shows was injected into its session: the memory of a resumed or forked one begins with that."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

TAIL_BYTES = 8 * 1024 * 1024
"""Looked at from the end; what stands before has long been compacted away."""

_OURS = b"recalld-memory"
_COMPACTED = b'"compact_boundary"'
_ID = re.compile(rb"\((m-[0-9a-f]{6,20})[),]")


def given_ids(path: Path) -> frozenset[str]:
    """The (shortened) ids of the memories injected since the last compaction; none where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return frozenset()
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return frozenset()
        file.seek(max(0, status.st_size - TAIL_BYTES))
        found: set[str] = set()
        for line in file:
            if _COMPACTED in line:
                found.clear()
            elif _OURS in line:
                found.update(match.decode() for match in _ID.findall(line))
    return frozenset(found)
