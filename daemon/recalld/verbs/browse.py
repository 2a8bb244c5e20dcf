"""Verbs for whoever shows memories page by page, and wants to know when to look again."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Literal

import apsw
import msgspec

from recalld.answers import Listed, Revision
from recalld.errors import InputError
from recalld.store import memories
from recalld.store.memories import ORDERS
from recalld.verbs.context import Context
from recalld.verbs.see import List, chosen

PAGE = 50
MAX_PAGE = 500

Sort = Literal["newest", "oldest", "used"]


class Browse(List, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memories, in which order. cursor: what the page before said is next; the first page without one."""

    pinned: bool | None = None
    sort: Sort = "newest"
    cursor: str | None = None
    limit: int = PAGE


def browse(db: apsw.Connection, context: Context, request: Browse) -> Listed:
    """A page of memories. What is stored meanwhile shifts nothing: a page begins behind the last memory of the other."""
    if not 1 <= request.limit <= MAX_PAGE:
        raise InputError(f"limit {request.limit}: a number from 1 to {MAX_PAGE}")
    wanted = msgspec.structs.replace(chosen(db, context, request), pinned=request.pinned)
    order = ORDERS[request.sort]
    after = _place(request.cursor, request.sort) if request.cursor else None
    total = memories.count(db, wanted)
    found = memories.page(db, wanted, order, after, request.limit + 1, total) if total else []
    items, more = found[: request.limit], len(found) > request.limit
    cursor = _cursor(request.sort, getattr(items[-1], order.column), items[-1].id) if more else None
    return Listed(items=tuple(items), next_cursor=cursor, total=total)


def _cursor(sort: Sort, value: Any, memory_id: str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((sort, value, memory_id))).decode().rstrip("=")


def _place(cursor: str, sort: Sort) -> tuple[str | int, str]:
    """What `_cursor` was made of. Raises InputError."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        of, value, memory_id = msgspec.json.decode(raw, type=tuple[str, str | int, str])
    except (ValueError, binascii.Error, msgspec.DecodeError) as error:
        raise InputError("the cursor is none that a page was given with; begin without one") from error
    if of != sort or isinstance(value, int) != (sort == "used") or value == (1 << 63):
        raise InputError(f"the cursor belongs to another order than {sort}; begin without one")
    return value, memory_id


class Now(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to say."""


def revision(db: apsw.Connection, context: Context, request: Now) -> Revision:
    """Three numbers at the ends of indexes; equal as long as nothing that is shown has changed."""
    steps, receipts, projects = db.execute(
        """select (select coalesce(max(history_id), 0) from history),
                  (select coalesce(max(injection_id), 0) from injections),
                  (select count(*) from projects)"""
    ).get
    return Revision(memories=steps, receipts=receipts, projects=projects)
