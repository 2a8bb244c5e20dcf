"""Memories with all that hangs on them, out of the database and into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import apsw
import msgspec

from recalld.carried import Carried, Conflict, Place, Project, Step, as_memory
from recalld.fingerprint import TERM_BYTES
from recalld.model import Memory, Scope, Status, timestamp
from recalld.store import memories, meta, places

Rows = Sequence[tuple[Any, ...]]


def page(
    db: apsw.Connection, project_ids: Sequence[int] | None, after: int, limit: int
) -> tuple[list[Carried], int | None]:
    """The next memories behind the row number `after`, and the last one's number; None where no more are left.

    project_ids: with them only these projects' memories and those of user and org scope; None: all.
    """
    seqs = [
        row[0]
        for row in db.execute(
            f"select seq from memories where seq > ? and {_of(project_ids)} order by seq limit ?", (after, limit)
        )
    ]
    found = memories.by_seq(db, seqs)
    return [_carried(db, found[seq]) for seq in seqs], seqs[-1] if len(seqs) == limit else None


def count(db: apsw.Connection, project_ids: Sequence[int] | None) -> int:
    """How many memories `page` will bring in all."""
    return int(db.execute(f"select count(*) from memories where {_of(project_ids)}").get)


def _of(project_ids: Sequence[int] | None) -> str:
    if project_ids is None:
        return "true"
    return f"(project_id is null or project_id in ({', '.join(str(int(number)) for number in project_ids)}))"


def _carried(db: apsw.Connection, memory: Memory) -> Carried:
    stone = db.execute(
        "select lower(hex(fingerprint)), deleted_at from tombstones where memory = ?", (memory.id,)
    ).fetchone()
    sources: Rows = db.execute(
        "select prompt_id, seen_at from memory_sources where memory = ? order by seen_at, prompt_id", (memory.id,)
    ).fetchall()
    fields = {name: getattr(memory, name) for name in Memory.__struct_fields__}
    return Carried(
        **fields,
        project_ref=memories.project_of(db, memory.id),
        sources=tuple(sources),
        history=tuple(Step(**msgspec.structs.asdict(event)) for event in memories.history(db, memory.id)),
        asked_at=db.execute("select asked_at from questions where memory = ?", (memory.id,)).get,
        fingerprint=stone[0] if stone else None,
        deleted_at=stone[1] if stone else None,
    )


def projects(db: apsw.Connection, project_ids: Sequence[int] | None) -> list[Project]:
    """The projects of an export, all or these."""
    rows: Rows = db.execute(
        f"select project_id, name, created_at, last_seen_at from projects where {_of(project_ids)} order by project_id"
    ).fetchall()
    return [
        Project(
            ref=number, name=name, created_at=created_at, last_seen_at=last_seen_at,
            identities=tuple(row[0] for row in db.execute(
                "select identity from project_identities where project_id = ? order by identity", (number,))),
            places=tuple(
                Place(path=row.path, device=row.device, inode=row.inode, first_commit=row.first_commit,
                      last_seen_at=row.last_seen_at)
                for row in sorted(places.rows(db, "project_id = ?", number), key=lambda row: row.path)
            ),
        )
        for number, name, created_at, last_seen_at in rows
    ]  # fmt: skip


def conflicts(db: apsw.Connection, project_ids: Sequence[int] | None) -> list[Conflict]:
    """All conflicts, settled or not, among the memories of an export."""
    rows: Rows = db.execute(
        f"""select older, newer, opened_at, settled_at, kept from conflicts
            where newer in (select id from memories where {_of(project_ids)})
            and older in (select id from memories where {_of(project_ids)}) order by conflict_id"""
    ).fetchall()
    return [Conflict(**dict(zip(Conflict.__struct_fields__, row, strict=True))) for row in rows]


def project_for(db: apsw.Connection, item: Project, *, make: bool) -> int | None:
    """The project here that `item` is: of one identity, or at one place, the very folder. Else a new one if `make`."""
    for identity in item.identities:
        for (number,) in db.execute("select project_id from project_identities where identity = ?", (identity,)):
            return int(number)
    for place in item.places:
        for row in places.rows(db, "path = ?", place.path):
            if (row.device, row.inode) == (place.device, place.inode):
                return row.project_id
    return _new_project(db, item) if make else None


def _new_project(db: apsw.Connection, item: Project) -> int:
    name = places.clean_name(item.name) or "project"
    db.execute(
        "insert into projects (name, created_at, last_seen_at) values (?, ?, ?)",
        (name, item.created_at, item.last_seen_at),
    )
    number = db.last_insert_rowid()
    for identity in item.identities:
        db.execute("insert or ignore into project_identities values (?, ?)", (identity, number))
    for place in item.places:
        db.execute(
            """insert or ignore into project_places (path, project_id, device, inode, first_commit, last_seen_at)
               values (?, ?, ?, ?, ?, ?)""",
            (place.path, number, place.device, place.inode, place.first_commit, place.last_seen_at),
        )
    return number


def same(db: apsw.Connection, item: Carried, project_id: int | None) -> str | None:
    """The id of another memory in force that says the same in the same place, word for word."""
    if item.status is not Status.ACTIVE:
        return None
    found: str | None = db.execute(
        """select id from memories where scope = ? and project_id is ? and status = 'active' and type = ? and content = ?
           limit 1""",
        (item.scope, project_id, item.type, item.content),
    ).get
    return found


def put(db: apsw.Connection, item: Carried, project_id: int | None) -> None:
    """Store a memory as it was. Its history is put in with `put_history`, when its insertion has been followed."""
    memories.insert(db, as_memory(item), project_id if item.scope is Scope.PROJECT else None)
    for prompt_id, seen_at in item.sources:
        db.execute("insert or ignore into memory_sources values (?, ?, ?)", (item.id, prompt_id, seen_at))
    if item.asked_at:
        db.execute("insert or ignore into questions values (?, ?)", (item.id, item.asked_at))


def put_tombstone(db: apsw.Connection, item: Carried, now: datetime, *, readable: bool) -> None:
    """What blocks a deleted memory here, too. readable: its fingerprint is of this store's key."""
    blob = bytes.fromhex(item.fingerprint or "") if readable else b""
    db.execute(
        "insert or ignore into tombstones values (?, ?, ?, ?)",
        (item.id, blob, len(blob) // TERM_BYTES, item.deleted_at or timestamp(now)),
    )


def put_history(db: apsw.Connection, item: Carried) -> None:
    """The memory's own history in the place of the one that its import has made."""
    db.execute("delete from history where memory = ?", (item.id,))
    add_steps(db, item.id, item.history)


def add_steps(db: apsw.Connection, memory_id: str, steps: Iterable[Step]) -> None:
    """Steps at the end of a memory's history."""
    for step in steps:
        db.execute(
            """insert into history (memory, version, action, actor, content, type, status, at)
               values (?, ?, ?, ?, ?, ?, ?, ?)""",
            (memory_id, step.version, step.action, step.actor, step.content, step.type, step.status, step.at),
        )


def put_conflict(db: apsw.Connection, item: Conflict) -> None:
    """A conflict between two memories that are both here; one that is known stays as it is."""
    db.execute(
        """insert or ignore into conflicts (older, newer, opened_at, settled_at, kept)
           select ?1, ?2, ?3, ?4, ?5 where exists (select 1 from memories where id = ?1)
           and exists (select 1 from memories where id = ?2)
           and not exists (select 1 from conflicts where older = ?2 and newer = ?1)""",
        (item.older, item.newer, item.opened_at, item.settled_at, item.kept),
    )


def take_key(db: apsw.Connection, key: str | None, *, write: bool) -> bool:
    """Whether fingerprints under `key` can be read here; a store without tombstones takes the key over."""
    if key is None:
        return False
    if meta.get(db, "secret") == key:
        return True
    if db.execute("select exists (select 1 from tombstones)").get:
        return False
    if write:
        meta.put(db, "secret", key)
    return True
