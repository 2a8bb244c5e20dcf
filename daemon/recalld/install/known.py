"""Which settings files our hooks were put into: somebody with several Claude Code folders installs into each."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from recalld import whole_file
from recalld.paths import Paths

NAME = "claude-settings.json"
"""In the state folder: a list of paths."""


def noted(paths: Paths) -> list[Path]:
    """The files that were noted, in the order of their installation; none where the note is gone or broken."""
    try:
        found = json.loads((paths.state / NAME).read_bytes())
    except (OSError, ValueError):
        return []
    return [Path(one) for one in found if isinstance(one, str)] if isinstance(found, list) else []


def note(paths: Paths, file: Path) -> None:
    """Remember that hooks are in `file`."""
    before = noted(paths)
    if file in before:
        return
    with whole_file.written(paths.state / NAME) as kept:
        kept.write(json.dumps([*map(str, before), str(file)]).encode())


def forget(paths: Paths) -> None:
    """Hooks are nowhere any more."""
    with contextlib.suppress(FileNotFoundError):
        (paths.state / NAME).unlink()
