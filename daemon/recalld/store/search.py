"""Finding memories by words and by meaning: one small full-text index and one vector table a partition.

A partition is what one question may see as a whole: `user`, `org`, or one project. A shared index would count and scan
the whole store for one project's question. Only active memories are in here; the tables are made on first use.

Vectors lie in plain tables: `vec_...` holds int8 values, `sig_...` their signs, 32 bytes each. Sorting by the signs'
Hamming distance and rescoring the best with the exact cosine took 0.8 ms at 10,000 and 1.5 ms at 20,000 vectors, where
vec0 took 3.6 and 7.0 for the same 200 neighbours. A plain table also filters before it sorts, leaves no bytes behind
under `secure_delete`, and opens in any sqlite3.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw

from recalld import segment
from recalld.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")
COARSE = 4
"""How many times `limit` the signs alone propose before the exact cosine decides."""
READ_CHARS = 2_400
"""So much of a proposed memory's indexed text is read to score it; a memory is a sentence, only pasted pages are longer."""
SCALE = 512.0
"""float -> int8. Coordinates of 256-d unit vectors have a deviation of 1/16: 4 deviations fit, the rest is clipped."""
CHUNK_BITS = 4
"""A row's key is `seq << 4 | passage`: up to 16 vectors a memory."""


class Hit(NamedTuple):
    """A found memory. value: bm25, larger is better, comparable inside a partition only; or the cosine, -1..1."""

    seq: int
    value: float


def load_vec(db: apsw.Connection) -> None:
    """Load the sqlite-vec extension. Found without importing its package, which would import numpy."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise StoreError("the sqlite-vec package is not installed")
    db.enable_load_extension(True)
    try:
        db.load_extension(str(Path(spec.origin).with_name("vec0")))
    finally:
        db.enable_load_extension(False)


def partition(scope: str, project_id: int | None) -> str:
    """The partition of a memory: `user`, `org`, or `p` and the project's number."""
    return scope if project_id is None else f"p{project_id}"


def put_text(
    db: apsw.Connection, partition: str, seq: int, content: str, tags: Sequence[str], aliases: Sequence[str]
) -> None:
    """Index the words of a memory, in place of what was there for `seq`."""
    _make_text(db, partition)
    names = " ".join((*(tag.rpartition(":")[2] for tag in tags), *aliases))
    db.execute(f"delete from fts_{partition} where rowid = ?", (seq,))
    db.execute(
        f"insert into fts_{partition} (rowid, content, names) values (?, ?, ?)",
        (seq, segment.index_text(content), segment.index_text(names)),
    )


def put_vector(db: apsw.Connection, partition: str, seq: int, vector: NDArray[np.float32]) -> None:
    """Store the vector of a memory, or one a passage (rows), in place of earlier ones. Zero rows are left out."""
    import numpy as np

    rows = np.atleast_2d(vector)[: 1 << CHUNK_BITS]
    _make_vectors(db, partition)
    _remove_vectors(db, partition, seq)
    for number, row in enumerate(rows):
        if row.any():
            key = seq << CHUNK_BITS | number
            db.execute(f"insert into vec_{partition} (key, value) values (?, ?)", (key, _int8(row)))
            db.execute(f"insert into sig_{partition} (key, bits) values (?, ?)", (key, _bits(row)))


def remove(db: apsw.Connection, partition: str, seq: int) -> None:
    """Take a memory out of both indexes; nothing of it is left in them."""
    if _exists(db, f"fts_{partition}"):
        db.execute(f"delete from fts_{partition} where rowid = ?", (seq,))
    if _exists(db, f"vec_{partition}"):
        _remove_vectors(db, partition, seq)


def drop(db: apsw.Connection, partition: str) -> None:
    """Remove a whole partition's indexes."""
    db.execute(f"drop table if exists df_{partition}")
    db.execute(f"drop table if exists fts_{partition}")
    drop_vectors(db, partition)


def drop_vectors(db: apsw.Connection, partition: str) -> None:
    """Remove a partition's vectors, as a change of model needs; text search goes on."""
    db.execute(f"drop table if exists sig_{partition}")
    db.execute(f"drop table if exists vec_{partition}")


def partitions(db: apsw.Connection) -> set[str]:
    """The partitions that have any index."""
    rows = db.execute("select name from sqlite_schema where name glob 'fts_*' or name glob 'vec_*'")
    return {name.split("_", 1)[1] for (name,) in rows if name.count("_") == 1}


def lexical(
    db: apsw.Connection, partition: str, words: list[str], limit: int, allowed: Collection[int] | None = None
) -> list[Hit]:
    """The memories that hold any of `words`, best bm25 first. `allowed` filters before ranking."""
    if not words or not _exists(db, f"fts_{partition}"):
        return []
    where = "" if allowed is None else " and rowid in (select value from json_each(?))"
    rows = db.execute(
        f"select rowid, -bm25(fts_{partition}) as value from fts_{partition}"
        f" where fts_{partition} match ?{where} order by value desc limit ?",
        (segment.match(words), *_listed(allowed), limit),
    )
    return [Hit(*row) for row in rows]


def stemmer(db: apsw.Connection | None = None) -> Callable[[str], list[str]]:
    """A function from pre-segmented text to its words as the index holds them: lower case, no accents, no endings.

    Without `db` on a connection of its own; a stemmer belongs to the thread of its connection.
    """
    tokenize = (db or apsw.Connection(":memory:")).fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))

    def stems(indexed: str) -> list[str]:
        text = indexed.encode("utf-8", "replace")
        return tokenize(text, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)  # type: ignore[return-value]

    return stems


def indexed(db: apsw.Connection, partition: str, seqs: Collection[int]) -> dict[int, tuple[list[str], list[str]]]:
    """The stems of the content and of the names (tags, aliases) of each memory of `seqs` that is in the index."""
    if not seqs or not _exists(db, f"fts_{partition}"):
        return {}
    rows = db.execute(
        f"select rowid, substr(content, 1, {READ_CHARS}), names from fts_{partition}"
        " where rowid in (select value from json_each(?))",
        _listed(seqs),
    )
    stems = stemmer(db)
    return {seq: (stems(content), stems(names) if names else []) for seq, content, names in rows}


def frequencies(db: apsw.Connection, partition: str, words: Iterable[str]) -> tuple[int, dict[str, int]]:
    """How many memories the partition's index holds, and how many of them hold each of `words` (stems)."""
    if not _exists(db, f"fts_{partition}"):
        return 0, {}
    count = int(db.execute(f"select count(*) from fts_{partition}_docsize").get)
    query = f"select doc from df_{partition} where term = ?"
    return count, {word: int(db.execute(query, (word,)).get or 0) for word in words}


def sound(db: apsw.Connection, partition: str) -> bool:
    """Whether the partition's full-text index is whole and holds exactly the active memories."""
    scope, project_id = ("project", int(partition[1:])) if partition[0] == "p" else (partition, None)
    active = "select seq from memories where status = 'active' and scope = ? and project_id is ?"
    if not _exists(db, f"fts_{partition}"):
        return db.execute(f"{active} limit 1", (scope, project_id)).fetchone() is None
    try:
        db.execute(f"insert into fts_{partition} (fts_{partition}) values ('integrity-check')")
        held = f"select id from fts_{partition}_docsize"
        differs = f"select exists ({active} except {held}) or exists ({held} except {active})"
        return not db.execute(differs, (scope, project_id) * 2).get
    except apsw.Error:
        return False


def nearest(
    db: apsw.Connection,
    partition: str,
    vector: NDArray[np.float32],
    limit: int,
    allowed: Collection[int] | None = None,
) -> list[Hit]:
    """The memories nearest in meaning, best cosine first. `allowed` filters before ranking."""
    if not vector.any() or not _exists(db, f"vec_{partition}"):
        return []
    where = "" if allowed is None else f"where key >> {CHUNK_BITS} in (select value from json_each(?))"
    rows: list[tuple[int, bytes]] = db.execute(  # type: ignore[assignment]
        f"""with near as materialized (
                select key from sig_{partition} {where}
                order by vec_distance_hamming(vec_bit(bits), vec_bit(?)) limit ?)
            select key, value from near join vec_{partition} using (key)""",
        (*_listed(allowed), _bits(vector), limit * COARSE),
    ).fetchall()
    if not rows:
        return []
    found = _by_memory(rows, _unit(rows, len(vector)), vector)
    return sorted((Hit(*pair) for pair in found.items()), key=lambda hit: (-hit.value, hit.seq))[:limit]


def compare(
    db: apsw.Connection, partition: str, vector: NDArray[np.float32], seqs: Collection[int]
) -> tuple[dict[int, float], dict[int, NDArray[np.float32]]]:
    """The exact cosine, and the first vector, of each memory of `seqs` that has one."""
    rows = _stored(db, partition, seqs)
    if not rows or not vector.any():
        return {}, {}
    table = _unit(rows, len(vector))
    return _by_memory(rows, table, vector), _firsts(rows, table)


def cosines(
    db: apsw.Connection, partition: str, vector: NDArray[np.float32], seqs: Collection[int]
) -> dict[int, float]:
    """The exact cosine of each memory of `seqs` that has a vector."""
    return compare(db, partition, vector, seqs)[0]


def vectors(db: apsw.Connection, partition: str, seqs: Collection[int]) -> dict[int, NDArray[np.float32]]:
    """The first vector, of length 1, of each memory of `seqs` that has one."""
    rows = _stored(db, partition, seqs)
    return _firsts(rows, _unit(rows)) if rows else {}


def _stored(db: apsw.Connection, partition: str, seqs: Collection[int]) -> list[tuple[int, bytes]]:
    """The (key, int8 vector) rows of `seqs`."""
    if not seqs or not _exists(db, f"vec_{partition}"):
        return []
    first, last = f"asked.value << {CHUNK_BITS}", f"(asked.value << {CHUNK_BITS}) | {(1 << CHUNK_BITS) - 1}"
    query = f"""select v.key, v.value from json_each(?) asked
        join vec_{partition} v on v.key between {first} and {last}"""
    return list(db.execute(query, _listed(seqs)))


def _unit(rows: Sequence[tuple[int, bytes]], dim: int | None = None) -> NDArray[np.float32]:
    """The stored vectors as rows of length 1. Raises StoreError if they are not of length `dim`."""
    import numpy as np

    table = np.frombuffer(b"".join(value for _, value in rows), dtype=np.int8).reshape(len(rows), -1)
    if dim is not None and table.shape[1] != dim:
        raise StoreError(f"stored vectors have {table.shape[1]} dimensions, the model makes {dim}")
    exact = table.astype(np.float32)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    return exact


def _by_memory(
    rows: Sequence[tuple[int, bytes]], table: NDArray[np.float32], vector: NDArray[np.float32]
) -> dict[int, float]:
    """The cosine of each memory, of its passages the best."""
    values = (table @ (vector / float((vector @ vector) ** 0.5))).tolist()
    best: dict[int, float] = {}
    for value, (key, _) in sorted(zip(values, rows, strict=True)):
        best[key >> CHUNK_BITS] = value
    return best


def _firsts(rows: Sequence[tuple[int, bytes]], table: NDArray[np.float32]) -> dict[int, NDArray[np.float32]]:
    found: dict[int, NDArray[np.float32]] = {}
    for (key, _), row in zip(rows, table, strict=True):
        found.setdefault(key >> CHUNK_BITS, row)
    return found


def _make_text(db: apsw.Connection, partition: str) -> None:
    if _exists(db, f"fts_{partition}"):
        return
    db.execute(f"create virtual table fts_{partition} using fts5 (content, names, tokenize = '{' '.join(TOKENIZER)}')")
    db.execute(f"create virtual table df_{partition} using fts5vocab(fts_{partition}, row)")
    db.execute(f"insert into fts_{partition} (fts_{partition}, rank) values ('secure-delete', 1)")


def _make_vectors(db: apsw.Connection, partition: str) -> None:
    db.execute(
        f"create table if not exists vec_{partition} (key integer primary key, value blob not null) strict;"
        f"create table if not exists sig_{partition} (key integer primary key, bits blob not null) strict"
    )


def _remove_vectors(db: apsw.Connection, partition: str, seq: int) -> None:
    first = seq << CHUNK_BITS
    for table in (f"vec_{partition}", f"sig_{partition}"):
        db.execute(f"delete from {table} where key between ? and ?", (first, first | (1 << CHUNK_BITS) - 1))


def _exists(db: apsw.Connection, table: str) -> bool:
    return db.table_exists("main", table)


def _listed(numbers: Collection[int] | None) -> tuple[str, ...]:
    return () if numbers is None else (json.dumps(list(numbers)),)


def _bits(row: NDArray[np.float32]) -> bytes:
    import numpy as np

    return np.packbits(row > 0, bitorder="little").tobytes()


def _int8(row: NDArray[np.float32]) -> bytes:
    import numpy as np

    return (row * SCALE).round().clip(-127, 127).astype(np.int8).tobytes()
