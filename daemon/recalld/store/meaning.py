"""Finding memories by meaning: the vectors of each partition.

Vectors are int8 in `vec_...`, a row each, compared exactly: by sqlite-vec where only the nearest are asked for, by numpy
where a prompt is judged and needs the vectors themselves. Which to compare is decided by their signs, one bit a dimension: `sig_...` holds those of 256 memories in a row, which numpy reads at once and keeps as long as
nothing changes. The 100 nearest of 10,000 / 20,000 take 0.3 / 0.5 ms so, 0.2 / 0.3 where they are kept; sorting rows by
Hamming distance in SQL took 0.8 / 1.5, vec0 of sqlite-vec with bits 1.5 / 3.1, with int8 3.2 / 6.4. Plain tables also
filter before they sort, leave no bytes behind under `secure_delete`, and open in any sqlite3.
"""

from __future__ import annotations

import heapq
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from recalld.errors import StoreError
from recalld.store.tables import Hit, edition, exists, listed, owner, renew

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import apsw
    import numpy as np
    from numpy.typing import NDArray

COARSE = 4
"""How many times `limit` the signs alone propose before the exact cosine decides."""
SCALE = 512.0
"""float -> int8. Coordinates of 256-d unit vectors have a deviation of 1/16: 4 deviations fit, the rest is clipped."""
CHUNK_BITS = 4
"""A vector's key is `seq << 4 | passage`: up to 16 vectors a memory."""
BLOCK_BITS = 8
"""The signs of `seq`s that differ only in the last 8 bits share a row."""


def put_vector(db: apsw.Connection, partition: str, seq: int, vector: NDArray[np.float32]) -> None:
    """Store the vector of a memory, or one a passage (rows), in place of earlier ones. Zero rows are left out."""
    import numpy as np

    _make(db, partition)
    _remove(db, partition, seq)
    rows = np.atleast_2d(vector)[: 1 << CHUNK_BITS]
    new = [(seq << CHUNK_BITS | number, row) for number, row in enumerate(rows) if row.any()]
    if not new:
        return
    db.executemany(f"insert into vec_{partition} (key, value) values (?, ?)", ((key, _int8(row)) for key, row in new))
    keys, signs = _signs(db, partition, seq >> BLOCK_BITS)
    keys = np.append(keys, [key for key, _ in new])
    added = np.stack([_bits(row) for _, row in new])
    signs = np.append(signs.reshape(-1, added.shape[1]), added, axis=0)
    _put_signs(db, partition, seq >> BLOCK_BITS, keys, signs)
    renew(db, partition)


def remove_vectors(db: apsw.Connection, partition: str, seq: int) -> None:
    """Take a memory's vectors out."""
    if exists(db, f"vec_{partition}"):
        _remove(db, partition, seq)


def drop_vectors(db: apsw.Connection, partition: str) -> None:
    """Remove a partition's vectors, as a change of model needs; text search goes on."""
    db.execute(f"drop table if exists sig_{partition}")
    db.execute(f"drop table if exists vec_{partition}")
    renew(db, partition)


def sound_vectors(db: apsw.Connection, partition: str) -> bool:
    """Whether the vectors are those that `vectors` tells of, and their signs those of the vectors."""
    told = {
        seq
        for (seq,) in db.execute(
            "select v.seq from vectors v join memories m using (seq) where m.scope = ? and m.project_id is ?",
            owner(partition),
        )
    }
    if not exists(db, f"vec_{partition}") or not exists(db, f"sig_{partition}"):
        return not told
    stored = {key for (key,) in db.execute(f"select key from vec_{partition}")}
    try:
        signed = set(_signs(db, partition)[0].tolist())
    except ValueError:
        return False
    held = {key >> CHUNK_BITS for key in stored}
    # A text without a letter or digit has no vector.
    without = db.execute(
        "select content from memories where seq in (select value from json_each(?))", listed(told - held)
    )
    return stored == signed and held <= told and not any(re.search(r"\w", text) for (text,) in without)


class Near(NamedTuple):
    """What is near a question. seqs: the nearest, best first. cosines, vectors: exact, of all that were looked at."""

    seqs: list[int]
    cosines: dict[int, float]
    vectors: dict[int, NDArray[np.float32]]


def near(
    db: apsw.Connection,
    partition: str,
    vector: NDArray[np.float32],
    limit: int,
    allowed: Collection[int] | None = None,
    beside: Collection[int] = (),
) -> Near:
    """The memories nearest in meaning. `allowed` filters before ranking. beside: others to compare as well."""
    seqs = {key >> CHUNK_BITS for key in _likely(db, partition, vector, limit * COARSE, allowed)}
    cosines, vectors = compare(db, partition, vector, {*seqs, *beside})
    best = heapq.nlargest(limit, filter(cosines.__contains__, seqs), key=cosines.__getitem__)
    return Near(best, cosines, vectors)


def nearest(
    db: apsw.Connection,
    partition: str,
    vector: NDArray[np.float32],
    limit: int,
    allowed: Collection[int] | None = None,
) -> list[Hit]:
    """The memories nearest in meaning, best cosine first. `allowed` filters before ranking."""
    keys = _likely(db, partition, vector, limit * COARSE, allowed)
    rows: Sequence[tuple[Any, ...]] = db.execute(
        f"""select key, vec_distance_cosine(vec_int8(value), vec_int8(?)) from vec_{partition}
            where key in (select value from json_each(?))""",
        (_int8(vector), *listed(keys)),
    ).fetchall() if keys else ()  # fmt: skip
    found: dict[int, float] = {}
    for key, distance in rows:
        found[key >> CHUNK_BITS] = min(distance, found.get(key >> CHUNK_BITS, 2.0))
    best = heapq.nsmallest(limit, ((distance, seq) for seq, distance in found.items()))
    return [Hit(seq, 1.0 - distance) for distance, seq in best]


def _likely(
    db: apsw.Connection, partition: str, vector: NDArray[np.float32], count: int, allowed: Collection[int] | None
) -> list[int]:
    """The keys of so many vectors whose signs are most like those of `vector`. Raises StoreError."""
    import numpy as np

    if not vector.any() or not exists(db, f"sig_{partition}"):
        return []
    keys, signs = _all_signs(db, partition)
    asked = _bits(vector)
    if len(keys) and signs.shape[1] != len(asked):
        raise StoreError(f"stored vectors are not those of the model at hand, which makes {len(vector)} dimensions")
    if allowed is not None:
        keep = np.isin(keys >> CHUNK_BITS, list(allowed))
        keys, signs = keys[keep], signs[keep]
    if len(keys) > count:
        keys = keys[np.argpartition(_distances(signs, asked), count)[:count]]
    return [int(key) for key in keys.tolist()]


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
    if not seqs or not exists(db, f"vec_{partition}"):
        return []
    first, last = f"asked.value << {CHUNK_BITS}", f"(asked.value << {CHUNK_BITS}) | {(1 << CHUNK_BITS) - 1}"
    query = f"""select v.key, v.value from json_each(?) asked
        join vec_{partition} v on v.key between {first} and {last}"""
    return list(db.execute(query, listed(seqs)))


def _unit(rows: Sequence[tuple[int, bytes]], dim: int | None = None) -> NDArray[np.float32]:
    """The stored vectors as rows of length 1. Raises StoreError if they are not of length `dim`."""
    import numpy as np

    table = np.frombuffer(b"".join(value for _, value in rows), dtype=np.int8).reshape(len(rows), -1)
    if dim is not None and table.shape[1] != dim:
        raise StoreError(f"stored vectors have {table.shape[1]} dimensions, the model makes {dim}")
    exact = table.astype(np.float32)
    exact /= np.sqrt(np.einsum("ij,ij->i", exact, exact))[:, None]
    return exact


def _by_memory(
    rows: Sequence[tuple[int, bytes]], table: NDArray[np.float32], vector: NDArray[np.float32]
) -> dict[int, float]:
    """The cosine of each memory, of its passages the best."""
    values = (table @ (vector / float((vector @ vector) ** 0.5))).tolist()
    best: dict[int, float] = {}
    for (key, _), value in zip(rows, values, strict=True):
        seq = key >> CHUNK_BITS
        if value > best.get(seq, -2.0):
            best[seq] = value
    return best


def _firsts(rows: Sequence[tuple[int, bytes]], table: NDArray[np.float32]) -> dict[int, NDArray[np.float32]]:
    found: dict[int, NDArray[np.float32]] = {}
    for (key, _), row in zip(rows, table, strict=True):
        found.setdefault(key >> CHUNK_BITS, row)
    return found


def _make(db: apsw.Connection, partition: str) -> None:
    db.execute(
        f"create table if not exists vec_{partition} (key integer primary key, value blob not null) strict;"
        f"create table if not exists sig_{partition}"
        " (block integer primary key, keys blob not null, signs blob not null) strict"
    )


def _remove(db: apsw.Connection, partition: str, seq: int) -> None:
    first = seq << CHUNK_BITS
    db.execute(f"delete from vec_{partition} where key between ? and ?", (first, first | (1 << CHUNK_BITS) - 1))
    if db.changes():
        keys, signs = _signs(db, partition, seq >> BLOCK_BITS)
        keep = keys >> CHUNK_BITS != seq
        _put_signs(db, partition, seq >> BLOCK_BITS, keys[keep], signs[keep])
        renew(db, partition)


def _distances(signs: NDArray[np.uint8], asked: NDArray[np.uint8]) -> NDArray[np.int16]:
    """In how many signs each row differs. Flat and by columns: loops over rows of four words are 6 times slower."""
    import numpy as np

    words = signs.view(np.uint64)
    differing = np.bitwise_count(words.ravel() ^ np.tile(asked.view(np.uint64), len(words))).reshape(words.shape)
    distance: NDArray[np.int16] = differing[:, 0].astype(np.int16)
    for column in range(1, differing.shape[1]):
        distance += differing[:, column]
    return distance


def _signs(
    db: apsw.Connection, partition: str, block: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The keys and the signs (rows of bits) of one block, or of all."""
    import numpy as np

    where, values = ("", ()) if block is None else ("where block = ?", (block,))
    rows: list[tuple[bytes, bytes]] = db.execute(  # type: ignore[assignment]
        f"select keys, signs from sig_{partition} {where}", values
    ).fetchall()
    keys = np.frombuffer(b"".join(row[0] for row in rows), dtype=np.int64)
    signs = np.frombuffer(b"".join(row[1] for row in rows), dtype=np.uint8)
    return keys, signs.reshape(len(keys), -1) if len(keys) else signs.reshape(0, 0)


def _all_signs(db: apsw.Connection, partition: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """As `_signs`; kept in memory, 40 bytes a vector of 256 dimensions, as long as nothing changes."""
    if not (name := edition(db, partition)):
        return _signs(db, partition)
    kept = _kept(name)
    if not kept:
        kept.append(_signs(db, partition))
    return kept[0]


@lru_cache(maxsize=4)
def _kept(edition: str) -> list[tuple[NDArray[np.int64], NDArray[np.uint8]]]:
    """The signs that were read since the partition has this content."""
    return []


def _put_signs(
    db: apsw.Connection, partition: str, block: int, keys: NDArray[np.int64], signs: NDArray[np.uint8]
) -> None:
    if len(keys):
        db.execute(
            f"insert or replace into sig_{partition} (block, keys, signs) values (?, ?, ?)",
            (block, keys.tobytes(), signs.tobytes()),
        )
    else:
        db.execute(f"delete from sig_{partition} where block = ?", (block,))


def _bits(row: NDArray[np.float32]) -> NDArray[np.uint8]:
    import numpy as np

    positive = row > 0
    return np.packbits(np.pad(positive, (0, -len(row) % 64)) if len(row) % 64 else positive, bitorder="little")


def _int8(row: NDArray[np.float32]) -> bytes:
    import numpy as np

    return (row * SCALE).round().clip(-127, 127).astype(np.int8).tobytes()
