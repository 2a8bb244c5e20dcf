"""What a check of `recalld doctor` is, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from recalld.paths import Paths


class Check(NamedTuple):
    """One assumption. detail: what was found, in a sentence. fix: what to do; empty where nothing is to be done."""

    check: str
    ok: bool
    detail: str
    fix: str = ""


class Home(NamedTuple):
    """What all checks look at. status: the daemon's, None where none answers."""

    paths: Paths
    environ: Mapping[str, str]
    status: dict[str, Any] | None


Look = Callable[[Home], tuple[str, str]]
"""Looks at one thing and changes nothing. Returns the detail, and a fix only where something is wrong."""

Mend = Callable[[Home], str]
"""Takes the way out. Returns what was done, in a sentence; empty where nothing was to be done."""
