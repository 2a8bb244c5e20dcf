"""A scratch store for the tests of search and recall: memories come in through the store's own ways."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from recalld import embed
from recalld.model import Memory, Scope, Type, new_id, timestamp
from recalld.store import changes, memories, search
from recalld.store.connection import open_writer, transaction
from recalld.store.migrate import migrate

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


@cache
def embedder() -> embed.Embedder:
    """The built-in model, loaded once."""
    return embed.load(embed.BUILTIN, Path("/nowhere"))


class Shelf:
    """A database with projects 1 and 2. `place` is what a question asked in project 1 sees."""

    place = ("p1", "user", "org")

    def __init__(self, folder: Path, *, with_vectors: bool = True) -> None:
        self.path = folder / "memories.db"
        self.db: apsw.Connection = open_writer(self.path)
        migrate(self.db, folder)
        model = embedder()
        self.vectors: changes.Vectors | None = None
        with transaction(self.db):
            for name in ("shop", "other"):
                self.db.execute("insert into projects (name, created_at, last_seen_at) values (?, '', '')", (name,))
            if with_vectors:
                self.vectors = changes.Vectors(changes.use_model(self.db, model.name, model.dim), model)

    def add(self, content: str, kind: Type = Type.FACT, project: int | None = 1, **fields: Any) -> str:
        """Store a memory (of user scope where `project` is None) and index it; its id."""
        at = timestamp(fields.pop("at", NOW))
        scope = Scope.USER if project is None else Scope.PROJECT
        times = {"first_seen": at, "last_seen": at, "created_at": at, "updated_at": at}
        made = Memory(**{"id": new_id(), "scope": scope, "type": kind, "content": content} | times | fields)
        with transaction(self.db):
            memories.insert(self.db, made, project)
            changes.follow(self.db, self.vectors, "test", None, NOW)
        return made.id

    def add_all(self, contents: Sequence[str], **fields: Any) -> list[str]:
        return [self.add(content, **fields) for content in contents]

    def change(self, statement: str, *values: Any) -> None:
        """Run SQL as its owner might, and let the indexes follow."""
        with transaction(self.db):
            self.db.execute(statement, values)
            changes.follow(self.db, self.vectors, "test", None, NOW)

    def seq(self, memory: str) -> int:
        return int(self.db.execute("select seq from memories where id = ?", (memory,)).get)

    def contents(self, hits: Sequence[search.Hit]) -> list[str]:
        query = "select content from memories where seq = ?"
        return [str(self.db.execute(query, (hit.seq,)).get) for hit in hits]
