"""What a transcript shows was injected into its session: the memory of a resumed or forked one begins with that."""

from __future__ import annotations

import os
import re
from pathlib import Path

from recalld.transcript import lines

TAIL_BYTES = 8 * 1024 * 1024
"""Looked at from the end; what stands before has long been compacted away."""

_OURS = b"recalld-memory"
_TAKEN = b"hook_additional_context"
"""The record of what a hook gave the model; what it merely printed stands in another one (`hook_success`)."""
_COMPACTED = b'"compact_boundary"'
_ID = re.compile(rb"\((m-[0-9a-f]{6,20})[),]")


def taken_ids(path: Path) -> frozenset[str]:
    """The (shortened) ids of the memories that Claude Code put before the model. Raises OSError."""
    with lines.open_regular(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        ours = [line for line in file if _TAKEN in line and _OURS in line]
    return frozenset(match.decode() for line in ours for match in _ID.findall(line))


def given_ids(path: Path) -> frozenset[str]:
    """The (shortened) ids of the memories injected since the last compaction; none where it cannot be read."""
    found: set[str] = set()
    try:
        with lines.open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            for line in file:
                if _COMPACTED in line:
                    found.clear()
                elif _OURS in line:
                    found.update(match.decode() for match in _ID.findall(line))
    except OSError:
        return frozenset()
    return frozenset(found)
