"""What follows from a changed memory: full text, vector, history, tombstone.

Triggers write each change of a row into `changes`, whoever made it. `follow` works them off before its transaction
commits, so that an answer never sees an index that lags behind; a change made with plain `sqlite3` waits for the next
transaction of ours, which the next question starts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from recalld import embed
from recalld.fingerprint import fingerprint
from recalld.model import Scope, Status, timestamp
from recalld.store import meta, search


class Vectors(NamedTuple):
    """The embedding model at hand and its row in `embed_models`."""

    model_id: int
    embedder: embed.Embedder


class _Change(NamedTuple):
    seq: int
    id: str
    action: str
    scope: Scope
    project_id: int | None
    version: int
    content: str
    type: str
    status: str
    row: str | None


class _Row(NamedTuple):
    scope: Scope
    project_id: int | None
    content: str
    tags: str
    aliases: str
    status: str
    version: int


def waiting(db: apsw.Connection) -> bool:
    """Whether someone else changed memories since the last transaction of ours."""
    return bool(db.execute("select exists (select 1 from changes)").get)


def follow(db: apsw.Connection, vectors: Vectors | None, actor: str, batch: str | None, now: datetime) -> None:
    """Bring indexes, history and tombstones up to all waiting changes, and clear these.

    actor: who made the changes, for the history. batch: what undo takes back together.
    Without `vectors` the memory waits for one; see `without_vector`.
    """
    query = """select seq, id, action, scope, project_id, version, content, type, status, row
               from changes order by change_id"""
    changes = [_Change(*row) for row in db.execute(query)]
    if not changes:
        return
    oldest: dict[int, _Change] = {}
    for change in changes:
        oldest.setdefault(change.seq, change)
        _record(db, change, actor, batch, now)
    for seq, change in oldest.items():
        _index(db, seq, change, vectors)
    db.execute("delete from changes")


def _record(db: apsw.Connection, change: _Change, actor: str, batch: str | None, now: datetime) -> None:
    """The history of one change, and its tombstone where the text is gone."""
    if change.action == "delete":
        _bury(db, change, now)
    current = _current(db, change.seq)
    erased = current is not None and current.status == Status.DELETED and change.status != Status.DELETED
    if erased and change.content:
        _forget(db, change, now)
    action = "delete" if erased else change.action
    db.execute(
        """insert into history (memory, version, action, actor, content, type, status, at, batch)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (change.id, change.version, action, actor, "" if erased else change.content, change.type, change.status,
         timestamp(now), batch),
    )  # fmt: skip
    if current is not None and change.action == "update" and current.version == change.version:
        # Plain `sqlite3` does not count versions; a writer who saw the old one must still be refused.
        db.execute("update memories set version = version + 1, updated_at = ? where seq = ?", (timestamp(now), change.seq))


def _bury(db: apsw.Connection, change: _Change, now: datetime) -> None:
    """Put the tombstone of a row that was deleted outright in its place."""
    kept: dict[str, Any] = json.loads(change.row or "{}")
    db.execute(
        """insert or ignore into memories (seq, id, scope, project_id, type, content, source, origin, confidence, status,
               first_seen, last_seen, created_at, updated_at, version)
           values (?, ?, ?, ?, ?, '', ?, ?, 0, 'deleted', ?, ?, ?, ?, ?)""",
        (change.seq, change.id, change.scope, change.project_id, change.type, kept["source"], kept["origin"],
         kept["first_seen"], timestamp(now), kept["created_at"], timestamp(now), change.version + 1),
    )  # fmt: skip


def _forget(db: apsw.Connection, change: _Change, now: datetime) -> None:
    """Take the text out of the history and leave a keyed fingerprint of its terms."""
    earlier = [row[0] for row in db.execute("select content from history where memory = ?", (change.id,))]
    db.execute("update history set content = '' where memory = ?", (change.id,))
    terms, number = fingerprint([change.content, *filter(None, earlier)], meta.secret(db))
    db.execute("insert or replace into tombstones values (?, ?, ?, ?)", (change.id, terms, number, timestamp(now)))
    db.execute("delete from related where a = ? or b = ?", (change.id, change.id))
    db.execute(
        "update conflicts set settled_at = ?, kept = iif(older = ?, 'newer', 'older') "
        "where (older = ? or newer = ?) and settled_at is null",
        (timestamp(now), change.id, change.id, change.id),
    )


def _index(db: apsw.Connection, seq: int, before: _Change, vectors: Vectors | None) -> None:
    """Make the search tables hold the row as it is now, in the partition it is in now."""
    search.remove(db, search.partition(before.scope, before.project_id), seq)
    db.execute("delete from vectors where seq = ?", (seq,))
    row = _current(db, seq)
    if row is None or row.status != Status.ACTIVE:
        return
    place = search.partition(row.scope, row.project_id)
    search.put_text(db, place, seq, row.content, json.loads(row.tags), json.loads(row.aliases))
    if vectors:
        put_vectors(db, vectors, [(seq, place, row.content)])


def put_vectors(db: apsw.Connection, vectors: Vectors, rows: Sequence[tuple[int, str, str]]) -> None:
    """Embed and store the vectors of (seq, partition, content) rows."""
    for seq, place, content in rows:
        search.put_vector(db, place, seq, vectors.embedder.encode(embed.passages(content)))
        db.execute("insert or replace into vectors values (?, ?)", (seq, vectors.model_id))


def without_vector(db: apsw.Connection, model_id: int, limit: int) -> list[tuple[int, str, str]]:
    """Active memories that have no vector of this model yet, as (seq, partition, content)."""
    rows = db.execute(
        """select m.seq, m.scope, m.project_id, m.content from memories m left join vectors v using (seq)
           where m.status = 'active' and v.model_id is not ? limit ?""",
        (model_id, limit),
    )
    return [(seq, search.partition(Scope(scope), project_id), content) for seq, scope, project_id, content in rows]


def _current(db: apsw.Connection, seq: int) -> _Row | None:
    row = db.execute(
        "select scope, project_id, content, tags, aliases, status, version from memories where seq = ?", (seq,)
    ).fetchone()
    return _Row(*row) if row else None


def use_model(db: apsw.Connection, name: str, dim: int) -> int:
    """Make `name` the model whose vectors the tables hold, and return its id; vectors of another one go."""
    db.execute("insert or ignore into embed_models (name, dim) values (?, ?)", (name, dim))
    model_id = int(db.execute("select model_id from embed_models where name = ?", (name,)).get)
    if db.execute("select exists (select 1 from vectors where model_id <> ?)", (model_id,)).get:
        for place in search.partitions(db):
            search.drop_vectors(db, place)
        db.execute("delete from vectors")
    db.execute("update embed_models set dim = ? where model_id = ?", (dim, model_id))
    return model_id
