"""The verb that tells what sessions were handed of late, for `recalld doctor` to see whether Claude Code took it."""

from __future__ import annotations

import apsw
import msgspec

from recalld.store import receipts
from recalld.store.receipts import Handed
from recalld.verbs.context import Context

NEWEST = 10


class Latest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many at most."""

    limit: int = NEWEST


def handed(db: apsw.Connection, context: Context, request: Latest) -> list[Handed]:
    """The newest injections of all projects whose turn is over, so that the transcript must show them by now."""
    return receipts.handed(db, request.limit)
