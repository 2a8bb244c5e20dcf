"""The baseline of search: FTS5 with SQLite's own tokenizer and bm25, as memory tools configure it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable

MAX_WORDS = 64
TABLE = "create virtual table plain using fts5 (content, place unindexed, tokenize = 'unicode61')"


def table(contents: Iterable[str]) -> sqlite3.Connection:
    """A full-text index of `contents` in memory; a row's id is its place, from 0."""
    db = sqlite3.connect(":memory:")
    db.execute(TABLE)
    db.executemany("insert into plain (rowid, content) values (?, ?)", enumerate(contents))
    return db


def best(db: sqlite3.Connection, asked: str, limit: int) -> list[int]:
    """The places of the contents that fit best, best first."""
    rows = db.execute(
        "select rowid from plain where plain match ? order by bm25(plain) limit ?", (expression(asked), limit)
    )
    return [row[0] for row in rows]


def expression(asked: str) -> str:
    """Any of the question's words, as FTS5 takes it."""
    words = dict.fromkeys(re.findall(r"\w+", asked.lower()))
    return " OR ".join(f'"{word}"' for word in list(words)[:MAX_WORDS]) or '""'
