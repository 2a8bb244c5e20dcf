"""Paths as a container sees them, and as this machine does: `[containers] paths` of the config.

A hook in a container says where it works by paths that hold in there alone. They are translated once, where its events
come in, so that everything else knows this machine's paths only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from recalld import wire


def at_home(event: wire.HookEvent, paths: Mapping[str, str], home: Path) -> wire.HookEvent:
    """`event` with the paths of this machine. paths: container's prefix -> this machine's."""
    if not paths:
        return event
    transcript = event.transcript_path and on_host(event.transcript_path, paths, home)
    cwd, top = on_host(event.cwd, paths, home), on_host(event.project_dir, paths, home)
    return msgspec.structs.replace(event, cwd=cwd, project_dir=top, transcript_path=transcript)


def on_host(path: str, paths: Mapping[str, str], home: Path) -> str:
    """What `path` is called here: the longest prefix that it lies in decides; without one it stays as it is."""
    if not path.startswith("/"):
        return path
    if ".." in path.split("/"):  # it would lead out of the folder that is meant
        path = os.path.normpath(path)
    for inside in sorted(paths, key=len, reverse=True):
        folder = inside.rstrip("/")
        if path == folder or path.startswith(f"{folder}/"):
            outside = paths[inside].rstrip("/")
            return (f"{home}{outside[1:]}" if outside[:1] == "~" else outside) + path[len(folder) :] or "/"
    return path
