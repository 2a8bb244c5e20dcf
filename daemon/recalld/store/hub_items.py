"""How far each memory has come at the hub, and what hangs on that."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import apsw
import msgspec

from recalld.carried import Step
from recalld.model import Memory, Scope
from recalld.store import hub, search


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `hub_items`. base: JSON. own: it was withdrawn, and this member had shared it first."""

    stream: str
    version: int
    base: str | None
    steps: int | None
    withdrawn: bool = False
    own: bool = False


def item(db: apsw.Connection, memory_id: str) -> Item | None:
    """What is known of this memory at the hub."""
    row = db.execute(
        "select stream, version, base, steps, withdrawn, own from hub_items where memory = ?", (memory_id,)
    ).fetchone()
    if row is None:
        return None
    return Item(stream=row[0], version=row[1], base=row[2], steps=row[3], withdrawn=bool(row[4]), own=bool(row[5]))


def settle(db: apsw.Connection, memory_id: str, item: Item) -> None:
    """The hub and this device have this in common. Nothing is on its way any more."""
    db.execute(
        "insert or replace into hub_items values (?, ?, ?, ?, ?, ?, ?)", (memory_id, *msgspec.structs.astuple(item))
    )
    db.execute("delete from hub_sent where memory = ?", (memory_id,))


class Sent(msgspec.Struct, frozen=True):
    """A row of `hub_sent`: what is compared of what was sent, and up to which step its history went along."""

    base: str
    steps: int | None


def sending(db: apsw.Connection, memory_id: str, stream: str, digest: bytes, what: Sent) -> None:
    """Note what is about to be sent."""
    db.execute("insert into hub_items (memory, stream) values (?, ?) on conflict do nothing", (memory_id, stream))
    db.execute("insert or replace into hub_sent values (?, ?, ?, ?)", (memory_id, digest, what.base, what.steps))


def sent(db: apsw.Connection, memory_id: str, digest: bytes) -> Sent | None:
    """What was sent under this digest, None where nothing was."""
    row = db.execute("select base, steps from hub_sent where memory = ? and digest = ?", (memory_id, digest)).fetchone()
    return Sent(*row) if row else None


def last_step(db: apsw.Connection, memory_id: str) -> int:
    """The number of the last step of a memory's history."""
    return int(db.execute("select max(history_id) from history where memory = ?", (memory_id,)).get or 0)


def steps(db: apsw.Connection, memory_id: str, after: int, limit: int) -> list[Step]:
    """The last `limit` steps behind `after` that were taken here, oldest first; none of when nobody had confirmed it."""
    rows: Sequence[tuple[Any, ...]] = db.execute(
        """select version, action, actor, content, type, status, at from history where memory = ? and history_id > ?
           and actor not glob 'hub:*' and status <> 'pending' order by history_id desc limit ?""",
        (memory_id, after, limit),
    ).fetchall()
    return [msgspec.convert(dict(zip(Step.__struct_fields__, row, strict=True)), Step) for row in reversed(rows)]


def said_before(db: apsw.Connection, memory_id: str, content: str) -> bool:
    """Whether the memory once said this here: what it says now was written over it."""
    found = db.execute("select exists (select 1 from history where memory = ? and content = ?)", (memory_id, content))
    return bool(found.get)


def unlink(db: apsw.Connection, memory_id: str) -> None:
    """The hub does not have this memory any more; whether it is to go there again is seen at the next sending."""
    for table in ("hub_items", "hub_sent"):
        db.execute(f"delete from {table} where memory = ?", (memory_id,))


def withdraw(db: apsw.Connection, memory_id: str, *, own: bool) -> None:
    """It left its stream at the hub. own: this member had shared it first."""
    db.execute("update hub_items set withdrawn = 1, own = ? where memory = ?", (own, memory_id))


def withdrawn(db: apsw.Connection) -> list[str]:
    """The memories that left their stream, and have not been met in another since."""
    return [str(row[0]) for row in db.execute("select memory from hub_items where withdrawn = 1")]


def alike(db: apsw.Connection, memory: Memory, project_id: int | None) -> list[tuple[str, str]]:
    """Other memories in force in the same place whose sentence may be the same: (id, content)."""
    rows: Sequence[Any] = db.execute(
        """select id, content from memories where scope = ?1 and project_id is ?2 and status = 'active' and local_only = 0
           and substr(lower(content), 1, 32) = substr(lower(?4), 1, 32) and lower(content) = lower(?4) and id <> ?3""",
        (memory.scope, project_id, memory.id, memory.content),
    ).fetchall()
    return list(rows)


def beside(db: apsw.Connection, scope: Scope, project_id: int | None, ids: Collection[str]) -> list[str]:
    """Those of these memories that are of this place, and of no machine's own."""
    return [str(row[0]) for row in db.execute(
        """select id from memories where id in (select value from json_each(?)) and scope = ? and project_id is ?
           and local_only = 0 and status <> 'pending'""",
        (json.dumps(list(ids)), scope, project_id),
    )]  # fmt: skip


def archived_here(db: apsw.Connection, memory_id: str) -> None:
    """It is in the archive by this machine's own calendar, which is nobody else's matter: no change to be sent."""
    db.execute(
        "update hub_items set base = json_set(base, '$.fields.status', 'archived') where memory = ? and base is not null",
        (memory_id,),
    )


def hand_over(db: apsw.Connection, memory_id: str, other: str) -> None:
    """Give a memory's history to another one."""
    db.execute("update history set memory = ? where memory = ?", (other, memory_id))


def forget(db: apsw.Connection, memory_id: str) -> None:
    """Of this memory the hub knows nothing any more, and is to learn nothing."""
    unlink(db, memory_id)
    hub.dequeue(db, memory_id)


def drop(db: apsw.Connection, memory_id: str) -> None:
    """Take a memory out of the store as if it had never been here: no tombstone. To be called with changes followed."""
    row = db.execute("select seq, scope, project_id from memories where id = ?", (memory_id,)).fetchone()
    if row is not None:
        seq, scope, project_id = row
        search.remove(db, search.partition(scope, project_id), seq)
        db.execute("delete from vectors where seq = ?", (seq,))
        db.execute("delete from memories where seq = ?", (seq,))
        db.execute("delete from changes where seq = ?", (seq,))
    forget(db, memory_id)
