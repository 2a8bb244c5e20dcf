"""Verbs about past injections."""

from __future__ import annotations

import apsw
import msgspec

from recalld.answers import Explained, Receipts
from recalld.errors import InputError, NotFoundError
from recalld.store import memories, projects, receipts
from recalld.store.injections import Receipt
from recalld.verbs.context import Context, chosen_projects

PAGE = 50
MAX_PAGE = 500


class Injections(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Injections of which project and session (the beginning of its id). before: those older than this number."""

    project: str | None = None
    cwd: str = ""
    session: str | None = None
    before: int | None = None
    limit: int = PAGE


def list_(db: apsw.Connection, context: Context, request: Injections) -> Receipts:
    """A page of receipts, the newest first; `next` is the number to go on before."""
    if not 1 <= request.limit <= MAX_PAGE:
        raise InputError(f"limit {request.limit}: a number from 1 to {MAX_PAGE}")
    chosen = chosen_projects(db, context, request.project, request.cwd)
    found = receipts.page(db, request.session, chosen, request.before, request.limit + 1)
    items = found[: request.limit]
    return Receipts(items=tuple(items), next=items[-1].injection_id if len(found) > request.limit else None)


class Number(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An injection by its number."""

    id: int


def one(db: apsw.Connection, context: Context, request: Number) -> Explained:
    """What an injection gave, what it left out, and why."""
    receipt = receipts.numbered(db, request.id)
    if receipt is None:
        raise NotFoundError(f"no receipt {request.id}; those of the last days are kept")
    return explained(db, receipt)


def explained(db: apsw.Connection, receipt: Receipt) -> Explained:
    """The receipt with the memories that it speaks of, as they are now."""
    ids = {item.memory for item in receipt.items}
    found = {memory_id: memory for memory_id in ids if (memory := memories.get(db, memory_id))}
    return Explained(receipt, found, projects.name(db, receipt.project_id))
