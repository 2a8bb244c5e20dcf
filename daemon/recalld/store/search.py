"""Finding memories by words and by meaning: one small full-text index and one vector table a partition.

A partition is what one question may see as a whole: `user`, `org`, or one project. A shared index would count and scan
the whole store for one project's question. Only active memories are in here; the tables are made on first use.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from recalld import segment
from recalld.errors import StoreError
from recalld.store.meaning import (
    Near,
    compare,
    cosines,
    drop_vectors,
    near,
    nearest,
    put_vector,
    remove_vectors,
    sound_vectors,
    vectors,
)
from recalld.store.tables import Hit, edition, exists, listed, owner, renew

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

__all__ = [
    "Hit",
    "Near",
    "compare",
    "cosines",
    "drop",
    "drop_vectors",
    "frequencies",
    "holds",
    "indexed",
    "lexical",
    "load_vec",
    "merge",
    "near",
    "nearest",
    "owner",
    "partition",
    "partitions",
    "put_text",
    "put_vector",
    "remove",
    "require_vec",
    "seen_from",
    "sound",
    "stemmer",
    "vectors",
]  # fmt: skip

TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")
READ_CHARS = 800
"""So much of a proposed memory's indexed text is read to score it. A memory is a sentence; of a pasted page the beginning
says what it is about (BEAM, R@5 / R@10: 47.8 / 57.2 at 2,400, 50.2 / 58.6 at 800, 49.9 / 58.5 at 400)."""


PAGES = 500
"""Of 4 KiB: about 10 ms."""
MERGED = 2
"""Fewer changes of rows by a merge mean that it found nothing to do (fts5.html, 6.9)."""


def load_vec(db: apsw.Connection) -> None:
    """Load the sqlite-vec extension where it can be; without it nothing is found by meaning, but all by words."""
    with contextlib.suppress(StoreError):
        require_vec(db)


def require_vec(db: apsw.Connection) -> None:
    """Load the sqlite-vec extension. Found without importing its package, which would import numpy. Raises StoreError."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise StoreError("the sqlite-vec package is not installed")
    try:
        db.enable_load_extension(True)
        db.load_extension(str(Path(spec.origin).with_name("vec0")))
        db.enable_load_extension(False)
    except (apsw.Error, AttributeError) as error:  # the latter: an apsw that was built without it
        raise StoreError(f"SQLite cannot load sqlite-vec ({error}); install recalld again") from error


def partition(scope: str, project_id: int | None) -> str:
    """The partition of a memory: `user`, `org`, or `p` and the project's number."""
    return scope if project_id is None else f"p{project_id}"


def seen_from(project_ids: Iterable[int]) -> list[str]:
    """The partitions that a question asked in these projects may see: theirs, then what holds everywhere."""
    return [*(partition("project", number) for number in project_ids), partition("user", None), partition("org", None)]


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
    renew(db, partition)


def remove(db: apsw.Connection, partition: str, seq: int) -> None:
    """Take a memory out of both indexes; nothing of it is left in them."""
    if exists(db, f"fts_{partition}"):
        db.execute(f"delete from fts_{partition} where rowid = ?", (seq,))
    remove_vectors(db, partition, seq)
    renew(db, partition)


def drop(db: apsw.Connection, partition: str) -> None:
    """Remove a whole partition's indexes."""
    db.execute(f"drop table if exists df_{partition}")
    db.execute(f"drop table if exists fts_{partition}")
    drop_vectors(db, partition)
    renew(db, partition)


def partitions(db: apsw.Connection) -> set[str]:
    """The partitions that have any index."""
    rows = db.execute("select name from sqlite_schema where name glob 'fts_*' or name glob 'vec_*'")
    return {name.split("_", 1)[1] for (name,) in rows if name.count("_") == 1}


def holds(db: apsw.Connection, partition: str) -> bool:
    """Whether the partition was ever written to."""
    return exists(db, f"fts_{partition}")


def lexical(
    db: apsw.Connection, partition: str, words: list[str], limit: int, allowed: Collection[int] | None = None
) -> list[Hit]:
    """The memories that hold any of `words`, best bm25 first. `allowed` filters before ranking."""
    if not words or not exists(db, f"fts_{partition}"):
        return []
    where = "" if allowed is None else " and rowid in (select value from json_each(?))"
    rows = db.execute(
        f"select rowid, -bm25(fts_{partition}) as value from fts_{partition}"
        f" where fts_{partition} match ?{where} order by value desc limit ?",
        (segment.match(words), *listed(allowed), limit),
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
    if not seqs or not exists(db, f"fts_{partition}"):
        return {}
    rows = db.execute(
        f"select id, substr(c0, 1, {READ_CHARS}), c1 from fts_{partition}_content"
        " where id in (select value from json_each(?))",
        listed(seqs),
    )
    stems = stemmer(db)
    return {seq: (stems(content), stems(names) if names else []) for seq, content, names in rows}


def frequencies(db: apsw.Connection, partition: str, words: Collection[str]) -> tuple[int, dict[str, int]]:
    """How many memories the partition's index holds, and how many of them hold each of `words` (stems)."""
    if not exists(db, f"fts_{partition}"):
        return 0, {}
    count = int(db.execute(f"select count(*) from fts_{partition}_docsize").get)
    known = _counted(name) if (name := edition(db, partition)) else {}
    if missing := [word for word in words if word not in known]:
        query = f"select term, doc from df_{partition} where term in (select value from json_each(?))"
        rows: list[tuple[str, int]] = db.execute(query, (json.dumps(missing),)).fetchall()  # type: ignore[assignment]
        known.update(dict.fromkeys(missing, 0) | dict(rows))
    return count, {word: known[word] for word in words}


@lru_cache(maxsize=16)
def _counted(edition: str) -> dict[str, int]:
    """How many memories hold each word that was counted since the partition has this content."""
    return {}


def merge(db: apsw.Connection, partition: str) -> bool:
    """Put the parts of the full text's index together, PAGES at a time; whether there may be more to do.

    Each commit of new text leaves a part of its own behind, and a question looks into every one.
    """
    if not exists(db, f"fts_{partition}"):
        return False
    before = db.total_changes()
    db.execute(f"insert into fts_{partition} (fts_{partition}, rank) values ('merge', ?)", (-PAGES,))
    return db.total_changes() - before >= MERGED


def sound(db: apsw.Connection, partition: str) -> bool:
    """Whether the partition's indexes are whole: the full text of exactly the active memories, and their vectors."""
    scope, project_id = owner(partition)
    active = "select seq from memories where status = 'active' and scope = ? and project_id is ?"
    if not exists(db, f"fts_{partition}"):
        return db.execute(f"{active} limit 1", (scope, project_id)).fetchone() is None
    try:
        db.execute(f"insert into fts_{partition} (fts_{partition}) values ('integrity-check')")
        held = f"select id from fts_{partition}_docsize"
        differs = f"select exists ({active} except {held}) or exists ({held} except {active})"
        return not db.execute(differs, (scope, project_id) * 2).get and sound_vectors(db, partition)
    except apsw.Error:
        return False


def _make_text(db: apsw.Connection, partition: str) -> None:
    if exists(db, f"fts_{partition}"):
        return
    db.execute(f"create virtual table fts_{partition} using fts5 (content, names, tokenize = '{' '.join(TOKENIZER)}')")
    db.execute(f"create virtual table df_{partition} using fts5vocab(fts_{partition}, row)")
    db.execute(f"insert into fts_{partition} (fts_{partition}, rank) values ('secure-delete', 1)")
