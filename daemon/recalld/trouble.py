"""What keeps turns from being stored: counted while it lasts, so that `status` and the next session's start tell of it."""

from __future__ import annotations


class Trouble:
    """The turns in a row that the database did not take, though it could be asked; their hooks spool them, if they can."""

    def __init__(self) -> None:
        self._turns = 0
        self._error = ""

    def met(self, error: Exception, waiting: int = 0) -> None:
        """One more turn was not stored; or those `waiting` in the spool could not be, where these are more."""
        self._turns = max(waiting, self._turns if waiting else self._turns + 1)
        self._error = f"{type(error).__name__}: {error}"

    def over(self) -> None:
        """A turn was stored."""
        self._turns = 0

    def report(self) -> str | None:
        """What to tell the owner, None where all is well."""
        if not self._turns:
            return None
        turns = "1 turn" if self._turns == 1 else f"{self._turns} turns"
        kept = "their hooks keep them in the spool, unless that cannot be written either; see `recalld doctor`"
        return f"{turns} could not be stored ({self._error}); {kept}"
