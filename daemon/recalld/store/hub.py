"""What is shared with the hub: streams, how far each memory has come, and what waits to be sent.

Triggers note every memory that changes, whoever changed it (see migrations/0003_hub.sql); `verbs/hub_send.py` decides
which of them leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from recalld import __version__
from recalld.hubwire import ORG
from recalld.model import Memory, Scope
from recalld.store import memories, meta

JOINED = "hub:joined"
"""Key of `meta`: who this device is at the hub, as JSON."""
KEY = "hub:seal_key"
"""Key of `meta`: what the member's own stream is sealed with, in hex."""
SKIPPED = "hub:skipped"
"""Key of `meta`: rows that could not be taken in, as JSON of `Skipped`."""
KEPT_SKIPPED = 100
MARK = "hub:mark"
"""Key of `meta`: a sign of what the hub knew when this device was in step with it last."""


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """Who this device is at the hub."""

    org_id: str
    org: str
    member_id: str
    member: str
    role: str
    device_id: str
    device: str


def joined(db: apsw.Connection) -> Joined | None:
    """Who this device is at the hub; None where it has joined none."""
    found = meta.get(db, JOINED)
    return None if found is None else msgspec.json.decode(found, type=Joined)


def join(db: apsw.Connection, who: Joined) -> None:
    """Be this device of that member from now on. What is the organisation's is taken in; nothing is sent yet."""
    meta.put(db, JOINED, msgspec.json.encode(who).decode())
    db.execute(
        "insert into hub_streams (stream, sends, announced) values (?, 0, 1) on conflict do nothing",
        (ORG,),
    )


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `hub_streams`."""

    stream: str
    project_id: int | None
    sends: bool
    announced: bool
    delete_mine: bool
    cursor: int

    @property
    def receives(self) -> bool:
        """Whether what others put there is taken in; to be a member is enough for what is the organisation's."""
        return self.sends or self.stream == ORG

    @property
    def place(self) -> tuple[Scope, int | None]:
        """The scope and the project of its memories here."""
        scope = Scope(self.stream.partition(":")[0])
        return scope, self.project_id if scope is Scope.PROJECT else None


def streams(db: apsw.Connection) -> list[Stream]:
    """All streams that are shared or taken, and those whose end is to be announced."""
    rows: Sequence[tuple[Any, ...]] = db.execute(
        "select stream, project_id, sends, announced, delete_mine, cursor from hub_streams order by stream"
    ).fetchall()
    return [
        Stream(stream=row[0], project_id=row[1], sends=bool(row[2]), announced=bool(row[3]), delete_mine=bool(row[4]),
               cursor=row[5])
        for row in rows
    ]  # fmt: skip


def stream(db: apsw.Connection, name: str) -> Stream | None:
    """The stream of this name."""
    return next((one for one in streams(db) if one.stream == name), None)


def share(db: apsw.Connection, name: str, project_id: int | None) -> None:
    """From now on changes in this stream go to the hub; what is said of them before stays here."""
    if not db.execute("select sends from hub_streams where stream = ?", (name,)).get:
        items = "(select memory from hub_items where stream = ?)"
        for table in ("hub_items", "hub_sent"):
            db.execute(f"update {table} set steps = null where memory in {items}", (name,))
    db.execute(
        """insert into hub_streams (stream, project_id, sends, announced) values (?1, ?2, 1, 0)
           on conflict do update set project_id = ?2, sends = 1, announced = 0, delete_mine = 0""",
        (name, project_id),
    )
    enqueue_all(db, name)


def unshare(db: apsw.Connection, name: str, *, delete_mine: bool) -> None:
    """From now on changes in this stream stay here."""
    db.execute("update hub_streams set sends = 0, announced = 0, delete_mine = ? where stream = ?", (delete_mine, name))


def announced(db: apsw.Connection, name: str) -> None:
    """The hub knows what this device shares. What the member has taken along begins anew when it is shared again."""
    if db.execute("select delete_mine from hub_streams where stream = ?", (name,)).get:
        db.execute("delete from hub_items where stream = ?", (name,))
        move_cursor(db, name, 0)
        if name.startswith("user:"):
            db.execute("delete from meta where key = ?", (KEY,))  # nothing is sealed any more
    db.execute("update hub_streams set announced = 1, delete_mine = 0 where stream = ?", (name,))


def move_cursor(db: apsw.Connection, name: str, cursor: int) -> None:
    """The stream was taken in up to there."""
    db.execute("update hub_streams set cursor = ? where stream = ?", (cursor, name))


def forget_project(db: apsw.Connection, project_id: int) -> None:
    """Before a project is purged: the team keeps what is its own; it is not shared any more."""
    db.execute("delete from hub_items where memory in (select id from memories where project_id = ?)", (project_id,))
    db.execute("delete from hub_sent where memory in (select id from memories where project_id = ?)", (project_id,))
    db.execute(
        "update hub_streams set sends = 0, announced = 0, cursor = 0, project_id = null where project_id = ?",
        (project_id,),
    )


def filed(db: apsw.Connection, known: Sequence[Stream], memory: Memory, now_in: str | None) -> Stream | None:
    """The stream that a memory belongs to by its place; of several (merged projects) the one it is in already."""
    place = memory.scope, memories.project_of(db, memory.id)
    fitting = [one for one in known if one.place == place]
    return next((one for one in fitting if one.stream == now_in), fitting[0] if fitting else None)


def enqueue(db: apsw.Connection, memory_id: str) -> None:
    """Have the memory looked at when things are sent next; one that was refused stays so."""
    db.execute("insert or ignore into hub_outbox (memory) values (?)", (memory_id,))


def enqueue_all(db: apsw.Connection, name: str) -> None:
    """Have all memories of a stream looked at, those too that were refused."""
    wanted = stream(db, name)
    if wanted is not None:
        db.execute(
            """insert into hub_outbox (memory) select id from memories where scope = ? and project_id is ?
               union select memory from hub_items where stream = ?
               on conflict (memory) do update set refused = null""",
            (*wanted.place, name),
        )


def enqueue_known(db: apsw.Connection, name: str) -> None:
    """Have those memories of a stream looked at that the hub has."""
    db.execute("insert or ignore into hub_outbox (memory) select memory from hub_items where stream = ?", (name,))


def dequeue(db: apsw.Connection, memory_id: str) -> None:
    """There is nothing of this memory to send."""
    db.execute("delete from hub_outbox where memory = ?", (memory_id,))


def refuse(db: apsw.Connection, memory_id: str, reason: str) -> None:
    """The hub does not take it; it waits for another change."""
    db.execute("update hub_outbox set refused = ? where memory = ?", (reason, memory_id))


def retry(db: apsw.Connection) -> None:
    """What was refused is tried once more: the member may do more than before."""
    db.execute("update hub_outbox set refused = null where refused is not null")


def seal(db: apsw.Connection, key: str, name: str) -> None:
    """From now on the stream is sealed with `key`: all of it is sent once more, and read once more."""
    meta.put(db, KEY, key)
    db.execute("update hub_items set base = null where stream = ?", (name,))
    db.execute("delete from hub_sent where memory in (select memory from hub_items where stream = ?)", (name,))
    move_cursor(db, name, 0)
    enqueue_all(db, name)


def begin_anew(db: apsw.Connection) -> None:
    """All is read once more, and sent where the hub lacks it: it was restored from a backup, or this program is newer."""
    skip(db, {})
    db.execute("update hub_items set version = 0, base = null")
    db.execute("delete from hub_sent")
    db.execute("update hub_streams set cursor = 0, announced = iif(sends, 0, announced)")
    for one in streams(db):
        if one.sends:
            enqueue_all(db, one.stream)


def waits(db: apsw.Connection, memory_id: str) -> tuple[bool, str | None]:
    """Whether the memory is in the outbox, and why the hub refused it."""
    row = db.execute("select refused from hub_outbox where memory = ?", (memory_id,)).fetchone()
    return (False, None) if row is None else (True, row[0])


def outbox(db: apsw.Connection, after: int, limit: int) -> list[tuple[int, str]]:
    """The next (number, memory) that wait and were not refused."""
    rows: Sequence[Any] = db.execute(
        "select n, memory from hub_outbox where n > ? and refused is null order by n limit ?", (after, limit)
    ).fetchall()
    return list(rows)


def refused(db: apsw.Connection) -> list[tuple[str, str]]:
    """What the hub did not take, and why."""
    rows: Sequence[Any] = db.execute(
        "select memory, refused from hub_outbox where refused is not null order by n"
    ).fetchall()
    return list(rows)


class Skipped(msgspec.Struct, frozen=True):
    """Rows that could not be taken in: id and reason. program: the version that could not."""

    rows: dict[str, str]
    program: str

    @property
    def outgrown(self) -> bool:
        """Whether another version, this one, has not tried them yet."""
        return bool(self.rows) and self.program != __version__


def skipped(db: apsw.Connection) -> Skipped:
    """The rows that could not be taken in."""
    found = meta.get(db, SKIPPED)
    return Skipped({}, __version__) if found is None else msgspec.json.decode(found, type=Skipped)


def skip(db: apsw.Connection, rows: dict[str, str]) -> None:
    """Note the rows that could not be taken in, the last ones only."""
    kept = Skipped(rows=dict(list(rows.items())[-KEPT_SKIPPED:]), program=__version__)
    meta.put(db, SKIPPED, msgspec.json.encode(kept).decode())


def leave(db: apsw.Connection) -> None:
    """Forget the hub; memories stay as they are."""
    for table in ("hub_streams", "hub_items", "hub_sent", "hub_outbox"):
        db.execute(f"delete from {table}")
    db.execute("delete from meta where key glob 'hub:*'")


def identity(db: apsw.Connection, project_id: int) -> str | None:
    """What others know a project by: its remote, else the name that was given by hand."""
    found: str | None = db.execute(
        """select identity from project_identities where project_id = ? and (identity glob 'remote:*' or identity glob 'name:*')
           order by identity glob 'name:*', identity limit 1""",
        (project_id,),
    ).get
    return found


def held(db: apsw.Connection, one: Stream) -> int:
    """How many memories of the stream's place are here, but for deleted ones."""
    return int(
        db.execute(
            "select count(*) from memories where scope = ? and project_id is ? and status <> 'deleted'", one.place
        ).get
    )


def waiting(db: apsw.Connection) -> int:
    """How many changes wait that are of a place that is shared, or that the hub knows."""
    return int(
        db.execute(
            """select count(*) from hub_outbox o left join memories m on m.id = o.memory where o.refused is null and (
                   exists (select 1 from hub_items where memory = o.memory) or exists (
                       select 1 from hub_streams s where s.sends and iif(m.scope = 'project', s.project_id = m.project_id,
                           s.stream = m.scope or s.stream glob m.scope || ':*')))"""
        ).get
    )
