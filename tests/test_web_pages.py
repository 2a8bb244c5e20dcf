"""Pages of a large store: nothing twice, nothing left out, nothing sorted that an index has in order already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import PATIENCE_S
from recalld.model import Scope, Status, Type, new_id
from recalld.store import memories
from recalld.store.connection import open_writer, transaction
from recalld.store.memories import FEW, ORDERS, Filter
from recalld.store.migrate import migrate
from recalld.store.store import Store

MANY = FEW + 500


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    """A store with MANY memories of two projects and of the user, many of them last seen at the same moment."""
    folder: Path = tmp_path_factory.mktemp("pages")
    opened = open_writer(folder / "memories.db")
    migrate(opened, folder)
    with transaction(opened):
        for number, name in ((1, "shop"), (2, "bank")):
            opened.execute("insert into projects values (?, ?, '2026-01-01', '2026-01-01')", (number, name))
        for number in range(MANY):
            project = (None, 1, 2)[number % 3]
            at = f"2026-01-{number % 27 + 1:02}T00:00:00.000Z"
            opened.execute(
                """insert into memories (id, scope, project_id, type, content, tags, source, origin, confidence, status,
                       hit_count, first_seen, last_seen, created_at, updated_at)
                   values (?, ?, ?, ?, ?, ?, 'cli', 'user', 1, ?, ?, ?, ?, ?, ?)""",
                (new_id(), Scope.PROJECT if project else Scope.USER, project, Type.FACT if number % 2 else Type.LESSON,
                 f"Fact {number}.", '["area:x"]' if number % 47 == 1 else "[]",
                 Status.ACTIVE if number % 10 else Status.ARCHIVED, number % 7, at, at, at, at),
            )  # fmt: skip
    yield opened
    opened.close()


FILTERS = {
    "all": Filter(statuses=tuple(Status)),
    "in force": Filter(),
    "one project": Filter(projects=(1,)),
    "few": Filter(projects=(2,), type=Type.LESSON, statuses=(Status.ARCHIVED,)),
    "tag": Filter(tag="area:x"),
}


@pytest.mark.parametrize("sort", ORDERS)
@pytest.mark.parametrize("name", FILTERS)
def test_pages_come_to_the_whole_in_order(db: apsw.Connection, sort: str, name: str) -> None:
    order, wanted = ORDERS[sort], FILTERS[name]
    total = memories.count(db, wanted)
    seen: list[tuple[Any, str]] = []
    while page := memories.page(db, wanted, order, seen[-1] if seen else None, 97, total):
        seen += [(getattr(one, order.column), one.id) for one in page]
    assert len(seen) == total > 0
    assert seen == sorted(set(seen), reverse=order.descending)
    assert {one for _, one in seen} == {one.id for one in memories.listing(db, wanted)}


@pytest.mark.parametrize("sort", ORDERS)
def test_a_page_of_many_is_read_and_not_sorted(db: apsw.Connection, sort: str) -> None:
    """Else each page would cost as much as all of them."""
    asked: list[str] = []

    def note(cursor: Any, statement: str, bindings: Any) -> bool:
        asked.append(statement)
        return True

    db.exec_trace = note
    try:
        memories.page(
            db, Filter(projects=(1, 2)), ORDERS[sort], ("2026-01-05" if sort != "used" else 3, "m-0"), 5, MANY
        )
    finally:
        db.exec_trace = None
    (statement,) = asked
    inner = statement[statement.index("(select m.seq") + 1 : statement.rindex("limit ?") + len("limit ?")]
    plan = " ".join(str(row[3]) for row in db.execute(f"explain query plan {inner}", ("active", 1, 2, "x", "m-0", 5)))
    assert ORDERS[sort].index in plan
    assert "TEMP B-TREE" not in plan


def test_what_only_looks_keeps_no_hook_waiting(tmp_path: Path) -> None:
    """B14: what hooks read and write goes on while somebody looks at a whole store."""

    async def work() -> None:
        store = Store(tmp_path / "memories.db", tmp_path)
        begun, over = threading.Event(), threading.Event()

        def look(db: apsw.Connection) -> bool:
            begun.set()
            return over.wait(PATIENCE_S)

        looking = asyncio.ensure_future(store.look(look))
        assert await asyncio.to_thread(begun.wait, PATIENCE_S)
        try:
            async with asyncio.timeout(PATIENCE_S / 2):
                assert await store.read(lambda db: db.execute("select 1").get) == 1
                await store.write(lambda db: db.execute("insert into meta values ('a', 'b')").get)
            assert not looking.done()
        finally:
            over.set()
            assert await looking
            await store.close()

    asyncio.run(work())
