"""What follows from a changed memory: full text, vector, history, tombstone.

Triggers write each change of a row into `changes`, whoever made it. `follow` works them off before its transaction
commits, so that an answer never sees an index that lags behind; a change made with plain `sqlite3` waits for the next
transaction of ours, which the next question starts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import apsw

from recalld import embed
from recalld.errors import StoreError
from recalld.fingerprint import fingerprint
from recalld.model import Scope, Status, timestamp
from recalld.store import conflicts, deletions, digests, memories, meta, search

_MODEL = "embed_model"
"""Where `meta` has the id of the model whose vectors the tables hold."""

log = logging.getLogger(__name__)

DELETED_TEXT = "(deleted)"
"""What stands in a turn in the place of what its owner deleted; an empty text would be filled from the transcript."""

_HANGING = {
    "history": ("memory",), "tombstones": ("memory",), "memory_sources": ("memory",), "questions": ("memory",),
    "related": ("a", "b"), "conflicts": ("older", "newer"),
}  # fmt: skip


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
    Without `vectors` the memory waits for one; see `fill`.
    """
    if not waiting(db):
        return
    _mend(db)
    query = """select seq, id, action, scope, project_id, version, cast(content as blob), type, status, row
               from changes order by change_id"""
    rows: Sequence[tuple[Any, ...]] = db.execute(query).fetchall()
    changes = [_Change._make((*row[:6], _sound(row[6]), *row[7:])) for row in rows]
    oldest: dict[int, _Change] = {}
    for change in changes:
        oldest.setdefault(change.seq, change)
        for summary in _out_of_summaries(db, change, actor, batch, now):
            oldest.setdefault(summary.seq, summary)
        _alone(db, partial(_record, db, change, actor, batch, now))
    for seq, change in oldest.items():
        _alone(db, partial(_index, db, seq, change, vectors))
    db.execute("delete from changes")


def _alone(db: apsw.Connection, step: Callable[[], None]) -> None:
    """Do one step in a savepoint: a row that a foreign hand has made impossible to follow must not stop all others."""
    db.execute("savepoint step")
    try:
        step()
    except (apsw.ConstraintError, apsw.SQLError, StoreError, LookupError, TypeError, ValueError):
        db.execute("rollback to step")
        log.exception("a change of a memory could not be followed")
    finally:
        db.execute("release step")


def _mend(db: apsw.Connection) -> None:
    """Replace bytes that are no UTF-8, which SQLite takes from a plain `update` and nobody can read."""
    for column in ("content", "tags", "aliases"):
        rows: Sequence[tuple[Any, ...]] = db.execute(
            f"select seq, cast({column} as blob) from memories where seq in (select seq from changes)"
        ).fetchall()
        for seq, raw in rows:
            if (text := _sound(raw)).encode() != raw:
                db.execute(f"update memories set {column} = ? where seq = ?", (text, seq))


def _sound(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _record(db: apsw.Connection, change: _Change, actor: str, batch: str | None, now: datetime) -> None:
    """The history of one change, and its tombstone where the text is gone."""
    if change.action == "delete":
        _bury(db, change, now)
    current = _current(db, change.seq)
    if current is None:
        deletions.note(db, change.id, now)
        _clear(db, change.id)
        return
    erased = current.status == Status.DELETED and change.status != Status.DELETED
    if erased:
        deletions.note(db, change.id, now)
    if erased and change.content:
        _forget(db, change, now)
    action = "delete" if erased else change.action
    db.execute(
        """insert into history (memory, version, action, actor, content, type, status, at, batch)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (change.id, change.version, action, actor, "" if erased else change.content, change.type, change.status,
         timestamp(now), batch),
    )  # fmt: skip
    if change.action == "update" and current.version == change.version:
        # Plain `sqlite3` does not count versions; a writer who saw the old one must still be refused.
        db.execute(
            "update memories set version = version + 1, updated_at = ? where seq = ?", (timestamp(now), change.seq)
        )


def _out_of_summaries(
    db: apsw.Connection, change: _Change, actor: str, batch: str | None, now: datetime
) -> list[_Change]:
    """The summaries that lost the sentence of an archived memory, since it is not what it was."""
    if change.status != Status.ARCHIVED or not change.content or change.project_id is None:
        return []
    current = _current(db, change.seq)
    if current is not None and (current.status, current.content) == (Status.ARCHIVED, change.content):
        return []
    erased = current is None or current.status == Status.DELETED
    lost = digests.cut(db, change.project_id, change.content, now, erased=erased)
    for cut in lost:
        memories.note(db, cut.id, "update", actor, now, batch)
    return [
        _Change(
            cut.seq, cut.id, "update", Scope(cut.scope), cut.project_id, cut.version, "", "summary", cut.status, None
        )
        for cut in lost
    ]


def _bury(db: apsw.Connection, change: _Change, now: datetime) -> None:
    """Put the tombstone of a row that was deleted outright in its place, unless its project is gone as well."""
    kept: dict[str, Any] = json.loads(change.row or "{}")
    db.execute(
        """insert or ignore into memories (seq, id, scope, project_id, type, content, source, origin, confidence, status,
               first_seen, last_seen, created_at, updated_at, version)
           select ?1, ?2, ?3, ?4, ?5, '', ?6, ?7, 0, 'deleted', ?8, ?9, ?10, ?9, ?11
           where ?4 is null or exists (select 1 from projects where project_id = ?4)""",
        (change.seq, change.id, change.scope, change.project_id, change.type, kept["source"], kept["origin"],
         kept["first_seen"], timestamp(now), kept["created_at"], change.version + 1),
    )  # fmt: skip


def _clear(db: apsw.Connection, memory_id: str) -> None:
    """Remove what hung on a memory that is gone without a tombstone; plain `sqlite3` minds no foreign keys."""
    for table, columns in _HANGING.items():
        for column in columns:
            db.execute(f"delete from {table} where {column} = ?", (memory_id,))


def _forget(db: apsw.Connection, change: _Change, now: datetime) -> None:
    """Take the text out of the history and leave a keyed fingerprint of its terms."""
    earlier = [row[0] for row in db.execute("select content from history where memory = ?", (change.id,))]
    db.execute("update history set content = '' where memory = ?", (change.id,))
    _forget_sources(db, change.id)
    terms, number = fingerprint([change.content, *filter(None, earlier)], meta.secret(db))
    db.execute("insert or replace into tombstones values (?, ?, ?, ?)", (change.id, terms, number, timestamp(now)))
    db.execute("delete from related where a = ? or b = ?", (change.id, change.id))
    conflicts.settle_against(db, change.id, now)


def _forget_sources(db: apsw.Connection, memory_id: str) -> None:
    """Take the words out of the turns that said it, of those that quote these as context, and of their receipts."""
    said = "(select prompt_id from memory_sources where memory = ?)"
    db.execute(f"update injections set query = '' where prompt_id in {said}", (memory_id,))
    db.execute(
        f"update turns set context = '' where session_id in (select session_id from turns where prompt_id in {said})",
        (memory_id,),
    )
    db.execute(
        f"update turns set prompt = ?, answer = ?, answers = '[]' where prompt_id in {said}",
        (DELETED_TEXT, DELETED_TEXT, memory_id),
    )


def _index(db: apsw.Connection, seq: int, before: _Change, vectors: Vectors | None) -> None:
    """Make the search tables hold the row as it is now, in the partition it is in now."""
    search.remove(db, search.partition(before.scope, before.project_id), seq)
    db.execute("delete from vectors where seq = ?", (seq,))
    row = _current(db, seq)
    if row is None or row.status != Status.ACTIVE:
        return
    place = search.partition(row.scope, row.project_id)
    search.put_text(db, place, seq, row.content, memories.strings(row.tags), memories.strings(row.aliases))
    if vectors:
        put_vectors(db, vectors, [(seq, place, row.content, row.aliases)])


def reindex(db: apsw.Connection, partition: str) -> None:
    """Make a partition's indexes anew from its memories; the vectors follow by `fill`."""
    search.drop(db, partition)
    rows: Sequence[tuple[Any, ...]] = db.execute(
        "select seq, content, tags, aliases from memories where status = 'active' and scope = ? and project_id is ?",
        search.owner(partition),
    ).fetchall()
    for seq, content, tags, aliases in rows:
        search.put_text(db, partition, seq, content, memories.strings(tags), memories.strings(aliases))
        db.execute("delete from vectors where seq = ?", (seq,))


def put_vectors(db: apsw.Connection, vectors: Vectors, rows: Sequence[tuple[int, str, str, str]]) -> None:
    """Embed and store the vectors of (seq, partition, content, aliases as JSON) rows.

    None of a model that is no longer in use.
    """
    if meta.get(db, _MODEL) != str(vectors.model_id):
        return
    for seq, place, content, aliases in rows:
        texts = embed.passages(content, memories.strings(aliases))
        search.put_vector(db, place, seq, vectors.embedder.encode(texts))
        db.execute("insert or replace into vectors values (?, ?)", (seq, vectors.model_id))


def fill(db: apsw.Connection, vectors: Vectors, after: int, limit: int) -> int | None:
    """Give a vector to the first `limit` active memories behind the row number `after` that have none of this model.

    Returns the last one's row number; None where no more are left.
    """
    found: Sequence[tuple[Any, ...]] = db.execute(
        """select m.seq, m.scope, m.project_id, m.content, m.aliases from memories m left join vectors v using (seq)
           where m.seq > ? and m.status = 'active' and v.model_id is not ? order by m.seq limit ?""",
        (after, vectors.model_id, limit),
    ).fetchall()
    rows = [(seq, search.partition(scope, project_id), *texts) for seq, scope, project_id, *texts in found]
    put_vectors(db, vectors, rows)
    return rows[-1][0] if len(rows) == limit else None


def _current(db: apsw.Connection, seq: int) -> _Row | None:
    row = db.execute(
        "select scope, project_id, content, tags, aliases, status, version from memories where seq = ?", (seq,)
    ).fetchone()
    return _Row(*row) if row else None


def use_model(db: apsw.Connection, name: str, dim: int) -> int:
    """Make `name` the model whose vectors the tables hold, and return its id; vectors of another one go."""
    db.execute("insert or ignore into embed_models (name, dim) values (?, ?)", (name, dim))
    model_id = int(db.execute("select model_id from embed_models where name = ?", (name,)).get)
    if meta.get(db, _MODEL) == str(model_id):
        return model_id
    for place in search.partitions(db):
        search.drop_vectors(db, place)
    db.execute("delete from vectors")
    db.execute("update embed_models set dim = ? where model_id = ?", (dim, model_id))
    meta.put(db, _MODEL, str(model_id))
    return model_id
