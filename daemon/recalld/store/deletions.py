"""Which memories were deleted, in a file beside the database: what a backup must not bring back.

The database says so, too, but the page that does may be the damaged one. The file has times and random ids, no text.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import apsw

from recalld.model import timestamp

NAME = "-deleted"
"""Behind the database's own name, so that it goes where that goes."""


def note(db: apsw.Connection, memory_id: str, now: datetime) -> None:
    """Add a memory that is being deleted. Raises OSError.

    Before its transaction is over: one that fails leaves a line too many, and no deletion is ever missing.
    """
    line = f"{timestamp(now)} {memory_id}\n".encode()
    file = os.open(f"{db.filename}{NAME}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, line)
    finally:
        os.close(file)


def since(database: Path, moment: datetime) -> set[str]:
    """The ids of what was deleted at `moment` or later. Raises OSError."""
    try:
        text = database.with_name(database.name + NAME).read_text("ascii", "replace")
    except FileNotFoundError:
        return set()
    begun = timestamp(moment)
    return {memory_id for at, _, memory_id in (line.partition(" ") for line in text.splitlines()) if at >= begun}
