"""The breaker against sessions without end: a hook of Claude Code that starts Claude Code, whose hook starts another.

Such sessions end turns that nobody was heard to prompt, each under an id of its own, all in one folder.
"""

from __future__ import annotations

from datetime import datetime, timedelta

WINDOW = timedelta(seconds=60)
MAX_SESSIONS = 30
"""So many sessions of one folder may end a turn unprompted within WINDOW.

Twenty terminals that were at work when the daemon came up stay below; a loop is past it at once.
"""


class Breaker:
    """Who ended a turn unprompted of late. dropped: how many turns were not let through since the start."""

    def __init__(self) -> None:
        self._ended: dict[str, dict[str, datetime]] = {}
        self.dropped = 0
        self._last = ""

    def admits(self, cwd: str, session_id: str, now: datetime) -> bool:
        """Whether a turn that this session ended there unprompted may be taken; one that may not is counted.

        A folder is closed as long as the newest MAX_SESSIONS of its sessions lie within WINDOW.
        """
        for folder, sessions in list(self._ended.items()):
            recent = {known: at for known, at in sessions.items() if abs(now - at) < WINDOW}
            self._ended[folder] = recent
            if not recent:
                del self._ended[folder]
        sessions = self._ended.setdefault(cwd, {})
        full = len(sessions) >= MAX_SESSIONS and session_id not in sessions
        if full:
            self.dropped += 1
            self._last = f"{cwd} at {now:%Y-%m-%d %H:%M} UTC"
            del sessions[next(iter(sessions))]  # the newest ones count: while the storm lasts, the folder is closed
        sessions[session_id] = now
        return not full

    def report(self) -> str | None:
        """What was dropped and where last; None while nothing was."""
        if not self.dropped:
            return None
        return f"{self.dropped} turns of sessions that nobody prompted were dropped, last in {self._last}"
