"""The errors recalld raises, by what the catcher can do about them."""


class RecalldError(Exception):
    """Base of all; its text is one line that a user can act on."""


class ConfigError(RecalldError):
    """The configuration cannot be used: the text names file, line and key."""


class InputError(RecalldError):
    """A request is wrong: an unknown id, an ambiguous prefix, a bad value."""


class NotFoundError(InputError):
    """What a request names is not there."""


class ConflictError(RecalldError):
    """A write was based on an older version of the memory than the stored one."""


class StoreError(RecalldError):
    """The database cannot be opened, read or written."""


class DamagedError(StoreError):
    """The database's file is not what SQLite wrote, or not whole; or one of its indexes is not."""


class UnavailableError(RecalldError):
    """A part is not there (no daemon, no model, no key); doing without it is possible."""


class TransientError(RecalldError):
    """Trying again later may succeed.

    retry_after_s: what the other side asked to wait, in seconds, where it said so.
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class PermanentError(RecalldError):
    """Trying the same again cannot succeed."""
