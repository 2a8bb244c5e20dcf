"""When a model that cannot be used is asked again: its limit, outage or wrong key concerns every session."""

from __future__ import annotations

import logging
import random
from datetime import datetime, timedelta

import msgspec

from recalld.errors import TransientError, UnavailableError
from recalld.extract import Choice
from recalld.store import jobs

log = logging.getLogger(__name__)

HELD_S = jobs.MAX_WAIT_S / 2
"""How long a model is not asked that cannot be used: a wrong key, no credit, no `claude`."""

JITTER = 0.1
"""A pause is longer than it was asked to be by up to this share, so that not everybody comes back at once."""


class Pause(msgspec.Struct, frozen=True):
    """Until then nobody asks this backend, for this reason."""

    choice: Choice
    until: datetime
    reason: str


class Pauses:
    """The pause that the extraction is in, and how long the next one lasts."""

    def __init__(self) -> None:
        self._pause: Pause | None = None
        self._in_a_row = 0

    def of(self, choice: Choice, now: datetime) -> Pause | None:
        """The pause that this backend is in; one that is longer than any was made by a clock that was wrong."""
        pause, longest = self._pause, now + timedelta(seconds=jobs.MAX_WAIT_S)
        return pause if pause and pause.choice == choice and now < pause.until <= longest else None

    def begin(self, choice: Choice, error: TransientError | UnavailableError, now: datetime) -> float:
        """Ask this backend nothing for a while; returns for how many seconds."""
        wait_s = HELD_S
        if isinstance(error, TransientError):
            wait_s = error.retry_after_s or jobs.BACKOFF_S[min(self._in_a_row, len(jobs.BACKOFF_S) - 1)]
        self._in_a_row += 1
        wait_s = min(wait_s * random.uniform(1, 1 + JITTER), jobs.MAX_WAIT_S)  # noqa: S311
        self._pause = Pause(choice, now + timedelta(seconds=wait_s), str(error))
        log.warning("no model is asked for %.0f s: %s", wait_s, error)
        return wait_s

    def end(self) -> None:
        """The model has answered."""
        self._pause, self._in_a_row = None, 0
