"""A small database of the present schema, each table with rows, kept as `tests/data/schema/NNNN.db.gz`.

    python tests/make_schema_fixture.py

Run it once, when a version of the schema is released; the file is never made anew after that: it stands for what people
have. `tests/test_schema.py` opens each of them with the program of its day.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import apsw

from recall_store import NOW, Shelf
from recalld.model import Type, timestamp
from recalld.store import hub, hub_items, injections, memories
from recalld.store.connection import transaction
from recalld.store.injections import Considered, Receipt
from recalld.store.migrate import scripts

FOLDER = Path(__file__).parent / "data" / "schema"
AT = timestamp(NOW)
SENTENCES = (
    "The orders service listens on port 8080.",
    "We decided to deploy with Argo CD.",
    "订单数据库是 PostgreSQL 16。",
    "The nightly export fails when the disk is full.",
)


def fill(shelf: Shelf) -> None:
    """Something in every table, as the program itself would have put it there where it has a way to."""
    db = shelf.db
    ids = [shelf.add(sentence) for sentence in SENTENCES]
    ids.append(shelf.add("I like short answers.", Type.PREFERENCE, project=None))
    gone = shelf.add("The orders service listens on port 9090.")
    shelf.change("update memories set content = '', status = 'deleted' where id = ?", gone)
    shelf.change("update memories set content = 'The orders service listens on port 8081.' where id = ?", ids[0])
    with transaction(db):
        session = {"session_id": "s1", "project_id": 1, "cwd": "/work/shop", "started_at": AT, "last_event_at": AT}
        _put(db, "sessions", session)
        said = {"session_id": "s1", "project_id": 1, "started_at": AT}
        _put(db, "turns", said | {"prompt_id": "p1", "prompt": SENTENCES[0], "answer": "Done.", "state": "ended"})
        _put(db, "turns", said | {"prompt_id": "p2", "prompt": SENTENCES[1], "state": "open"})
        job = {"kind": "extract", "not_before": AT, "created_at": AT}
        _put(db, "jobs", job | {"key": "p1", "state": "done", "finished_at": AT})
        _put(db, "project_identities", {"identity": "remote:example.org/acme/shop", "project_id": 1})
        _put(db, "project_places", {
            "path": "/work/shop", "project_id": 1, "device": 1, "inode": 2, "last_seen_at": AT})  # fmt: skip
        older, newer = sorted(ids[:2])
        _put(db, "related", {"a": older, "b": newer})
        _put(db, "conflicts", {"older": ids[2], "newer": ids[3], "opened_at": AT})
        _put(db, "memory_sources", {"memory": ids[0], "prompt_id": "p1", "seen_at": AT})
        _put(db, "questions", {"memory": ids[3], "asked_at": AT})
        given = Considered(memory=ids[0], score=0.8, similarity=0.7, given=True, reason="relevant")
        injections.record(db, Receipt(
            session_id="s1", project_id=1, prompt_id="p1", event="UserPromptSubmit", query="which port?", at=AT,
            tokens=40, ms=3.0, items=(given,)))  # fmt: skip
        injections.judge(db, ids[0], "useful", 1, NOW)
        hub.join(db, hub.Joined(
            org_id="o", org="acme", member_id="a", member="ann", role="member", device_id="d", device="laptop"))  # fmt: skip
        hub.share(db, "project:remote:example.org/acme/shop", 1)
        hub_items.settle(
            db, ids[0], hub_items.Item(stream="project:remote:example.org/acme/shop", version=1, base="{}", steps=1)
        )
        hub_items.sending(db, ids[1], "project:remote:example.org/acme/shop", b"digest", hub_items.Sent("{}", None))
        _put(db, "usage", {"at": AT, "backend": "anthropic", "model": "stub", "outcome": "ok", "input_tokens": 7})
    # What somebody changed with plain sqlite3 while no daemon ran: it waits to be followed.
    db.execute("update memories set type = 'lesson' where id = ?", (ids[3],))
    assert memories.get(db, gone) is not None


def rows(db: apsw.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables of the schema, but for those of the search indexes."""
    return {
        table: sorted(db.execute(f"select * from {table}"), key=repr) for table in tables(db)
    }  # fmt: skip


def tables(db: apsw.Connection) -> list[str]:
    """The tables of the schema's own, in order; each partition has others, made on first use."""
    names = db.execute("select name from sqlite_schema where type = 'table' order by name")
    made_on_use = ("fts_", "df_", "vec_", "sig_", "sqlite_")
    return [name for (name,) in names if not name.startswith(made_on_use)]


def _put(db: apsw.Connection, table: str, row: dict[str, Any]) -> None:
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    values = [json.dumps(value) if isinstance(value, (list, dict)) else value for value in row.values()]
    db.execute(f"insert into {table} ({columns}) values ({marks})", values)


def make(target: Path) -> None:
    """The fixture. Raises AssertionError where a table stayed empty: then this program has to learn of it."""
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder))
        fill(shelf)
        empty = [table for table, held in rows(shelf.db).items() if not held]
        assert not empty, empty
        shelf.db.execute("vacuum")
        shelf.db.pragma("journal_mode", "delete")
        shelf.db.close()
        target.write_bytes(gzip.compress(shelf.path.read_bytes(), mtime=0))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    made = FOLDER / f"{len(scripts()):04}.db.gz"
    make(made)
    print(made, made.stat().st_size)
