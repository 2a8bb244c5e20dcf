"""What both indexes of a partition share."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, NamedTuple

from recalld.store import meta

if TYPE_CHECKING:
    from collections.abc import Collection

    import apsw


_EDITION = "edition:"


class Hit(NamedTuple):
    """A found memory. value: bm25, larger is better, comparable inside a partition only; or the cosine, -1..1."""

    seq: int
    value: float


def owner(partition: str) -> tuple[str, int | None]:
    """The scope and project_id of a partition's memories."""
    return ("project", int(partition[1:])) if partition[0] == "p" else (partition, None)


def exists(db: apsw.Connection, table: str) -> bool:
    """Whether the table was made yet."""
    return db.table_exists("main", table)


def edition(db: apsw.Connection, partition: str) -> str:
    """What the present content of a partition's indexes is called; it never has this name again. '' if never written."""
    return meta.get(db, _EDITION + partition) or ""


def renew(db: apsw.Connection, partition: str) -> None:
    """Name a partition's content anew, as whoever changes it has to; a rollback takes back the name with the change."""
    meta.put(db, _EDITION + partition, secrets.token_hex(8))


def listed(numbers: Collection[int] | None) -> tuple[str, ...]:
    """The parameter for `in (select value from json_each(?))`; none for None."""
    return () if numbers is None else (json.dumps(list(numbers)),)
