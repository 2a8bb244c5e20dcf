"""The verb that tells what is known of past injections, for `recalld tune`."""

from __future__ import annotations

import apsw
import msgspec

from recalld.store import labels
from recalld.store.labels import Asked
from recalld.verbs.context import Context

PROMPTS = 5_000


class Labels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many prompts back at most."""

    limit: int = PROMPTS


def labels_(db: apsw.Connection, context: Context, request: Labels) -> list[Asked]:
    """The newest prompts whose memories were used, not used, praised or missed; of all projects, as the threshold is."""
    return labels.history(db, request.limit)
