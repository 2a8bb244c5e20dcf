"""The store: one way in for every change, whoever makes it; nothing lost, nothing doubled, nothing left behind."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recalld import embed, maintain
from recalld.errors import ConflictError, InputError
from recalld.model import Answer, Memory, Scope, Status, Turn, Type, new_id, timestamp
from recalld.store import changes, jobs, memories, search, turns
from recalld.store.connection import open_writer, transaction
from recalld.store.migrate import NewerDatabaseError, migrate, scripts
from recalld.store.store import Store

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def memory(content: str, **fields: Any) -> Memory:
    at = timestamp(NOW)
    given = {"id": new_id(), "scope": Scope.USER, "type": Type.FACT, "content": content}
    return Memory(**given | {"first_seen": at, "last_seen": at, "created_at": at, "updated_at": at} | fields)


def with_store(home: Path, work: Callable[[Store], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        store = Store(home / "memories.db", home, lambda: NOW)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def plain(home: Path, statement: str) -> None:
    """Change the database as its owner would with the plain program: no extension, no function of ours."""
    with sqlite3.connect(home / "memories.db") as db:
        db.execute(statement)
    db.close()


def found(db: Any, word: str) -> list[int]:
    return [hit.seq for hit in search.lexical(db, "user", [word], 10)]


def test_the_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        await store.write(memories.insert, memory("we use PostgreSQL"), None)
        assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("memories.db*")} == {0o600}

    with_store(tmp_path, work)


def test_a_change_with_plain_sqlite_is_followed_by_search_version_and_history(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        old = await store.write(memories.insert, memory("we use PostgreSQL"), None)
        plain(tmp_path, "update memories set content = 'we use MariaDB'")
        assert await store.read(found, "mariadb")
        assert not await store.read(found, "postgresql")
        now = await store.read(memories.find, old.id)
        assert (now.content, now.version) == ("we use MariaDB", 2)
        last = (await store.read(memories.history, old.id))[-1]
        assert (last.content, last.actor) == ("we use PostgreSQL", "sqlite3")

    with_store(tmp_path, work)


def test_a_row_deleted_with_plain_sqlite_becomes_a_tombstone_without_its_text(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        old = await store.write(memories.insert, memory("the vault is called marmalade"), None)
        plain(tmp_path, "delete from memories")
        assert not await store.read(found, "marmalade")
        now = await store.read(memories.get, old.id)
        assert now is not None
        assert (now.status, now.content) == (Status.DELETED, "")
        assert await store.read(lambda db: db.execute("select count(*) from tombstones").get) == 1

    with_store(tmp_path, work)
    assert b"marmalade" not in b"".join(path.read_bytes() for path in tmp_path.glob("memories.db*"))


def test_no_text_of_an_erased_memory_is_left_in_any_file(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        old = await store.write(memories.insert, memory("the vault is called marmalade"), None)
        await store.write(memories.update, old.id, NOW, content="the vault is called quincejelly")
        await store.write(memories.erase, old.id, NOW)

    with_store(tmp_path, work)
    left = b"".join(path.read_bytes() for path in tmp_path.glob("memories.db*"))
    assert b"marmalade" not in left
    assert b"quincejelly" not in left


def test_a_stale_version_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        old = await store.write(memories.insert, memory("port 8080"), None)
        await store.write(memories.update, old.id, NOW, version=1, content="port 8081")
        with pytest.raises(ConflictError, match="version 1"):
            await store.write(memories.update, old.id, NOW, version=1, content="port 9999")
        assert (await store.read(memories.find, old.id)).content == "port 8081"

    with_store(tmp_path, work)


def test_a_failed_transaction_leaves_no_trace(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        def half(db: Any) -> None:
            memories.insert(db, memory("half done"), None)
            raise ValueError("stop")

        with pytest.raises(ValueError, match="stop"):
            await store.write(half)
        assert await store.read(memories.listing, memories.Filter()) == []

    with_store(tmp_path, work)


def test_an_id_may_be_shortened_until_it_is_ambiguous(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        for last in "ab":
            await store.write(memories.insert, memory("x " + last, id="m-" + "1" * 19 + last), None)
        assert (await store.read(memories.find, "1" * 19 + "a")).content == "x a"
        with pytest.raises(InputError, match="several"):
            await store.read(memories.find, "m-11")
        with pytest.raises(InputError, match="no memory"):
            await store.read(memories.find, "m-22")
        for bad in ("", "m-", "%", "m-zz", "m-1%"):
            with pytest.raises(InputError, match="no memory id"):
                await store.read(memories.find, bad)

    with_store(tmp_path, work)


def test_sixteen_processes_on_an_empty_folder_make_one_schema(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from recalld.store.connection import open_writer;"
        "from recalld.store.migrate import migrate; h = Path(sys.argv[1]); migrate(open_writer(h / 'm.db'), h)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stderr=subprocess.PIPE) for _ in range(16)
    ]
    assert [(p.wait(), p.communicate()[1]) for p in running] == [(0, b"")] * 16
    with sqlite3.connect(tmp_path / "m.db") as db:
        assert db.execute("pragma user_version").fetchone() == (len(scripts()),)
    db.close()


def test_a_newer_database_is_refused_untouched(tmp_path: Path) -> None:
    db = open_writer(tmp_path / "m.db")
    migrate(db, tmp_path)
    db.pragma("user_version", 99)
    with pytest.raises(NewerDatabaseError, match=re.escape("newer recalld (schema 99")):
        migrate(db, tmp_path)
    assert db.pragma("user_version") == 99


def _turn(db: Any, prompt_id: str, session: str = "s1") -> None:
    turns.touch_session(db, session, turns.Where(cwd="/w"), None, False, NOW)
    turns.open_turn(
        db, Turn(prompt_id=prompt_id, session_id=session, prompt="p " + prompt_id, started_at=timestamp(NOW)),
        turns.Where(cwd="/w"),
    )  # fmt: skip
    jobs.enqueue(db, "extract", prompt_id, NOW)


def test_a_job_is_queued_once_and_claimed_with_its_session(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        for prompt_id, session in (("a", "s1"), ("b", "s2"), ("c", "s1"), ("a", "s1")):
            await store.write(_turn, prompt_id, session)
        first = await store.write(jobs.claim_turns, "run1", NOW, 8)
        assert [job.key for job in first] == ["a", "c"]
        assert [job.key for job in await store.write(jobs.claim_turns, "run1", NOW, 8)] == ["b"]
        assert await store.write(jobs.claim_turns, "run1", NOW, 8) == []
        await store.write(jobs.finish, [job.job_id for job in first], NOW)
        await store.write(_turn, "a", "s1")
        assert await store.read(jobs.counts) == jobs.Counts(ready=0, running=1, done=2, dead=0)

    with_store(tmp_path, work)


def test_what_was_left_running_is_taken_back_whatever_the_clock_says(tmp_path: Path) -> None:
    """B73: else what was at work when the daemon died is never done."""

    async def work(store: Store) -> None:
        await store.write(_turn, "a")
        assert await store.write(jobs.take_back) == 0
        await store.write(jobs.claim_turns, "run1", NOW, 8)
        assert await store.write(jobs.take_back) == 1
        long_ago = NOW - timedelta(days=2)
        assert len(await store.write(jobs.claim_turns, "run2", long_ago, 8)) == 1

    with_store(tmp_path, work)


def test_a_job_waits_longer_after_each_failure_and_is_dead_after_the_last(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        await store.write(_turn, "a")
        at = NOW
        for pause in (*jobs.BACKOFF_S, None):
            claimed = await store.write(jobs.claim_turns, "run", at, 8)
            await store.write(jobs.fail, claimed, at, "no answer")
            if pause:
                assert await store.write(jobs.claim_turns, "run", at + timedelta(seconds=pause - 1), 8) == []
                at += timedelta(seconds=pause)
        assert (await store.read(jobs.counts)).dead == 1
        assert await store.read(jobs.last_error) == "no answer"
        assert await store.write(jobs.revive, at) == 1
        assert len(await store.write(jobs.claim_turns, "run", at, 8)) == 1

    with_store(tmp_path, work)


def test_a_pause_that_was_asked_for_costs_no_attempt(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        await store.write(_turn, "a")
        at = NOW
        for _ in range(jobs.MAX_ATTEMPTS * 2):
            claimed = await store.write(jobs.claim_turns, "run", at, 8)
            await store.write(jobs.fail, claimed, at, "busy", wait_s=30.0)
            at += timedelta(seconds=30)
        assert (await store.read(jobs.counts)).ready == 1

    with_store(tmp_path, work)


def test_a_turn_keeps_what_is_known_of_it(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        await store.write(_turn, "a")
        await store.write(turns.fill_turn, "a", prompt="other", answer="first", answers=(Answer("q", "x"),))
        await store.write(turns.fill_turn, "a", answer="second")
        await store.write(turns.end_turn, "a", NOW, interrupted=True)
        await store.write(turns.end_turn, "a", NOW)
        (stored,) = await store.read(turns.load, ["a"])
        assert (stored.turn.prompt, stored.turn.answer, stored.turn.interrupted) == ("p a", "first", False)
        assert stored.turn.answers == (Answer("q", "x"),)

    with_store(tmp_path, work)


def test_every_table_is_strict_and_every_foreign_key_holds(tmp_path: Path) -> None:
    db = open_writer(tmp_path / "m.db")
    migrate(db, tmp_path)
    assert [name for name, strict in db.execute("select name, strict from pragma_table_list where type = 'table'")
            if not strict and not name.startswith("sqlite_")] == []  # fmt: skip
    with transaction(db):
        memories.insert(db, memory("x"), None)
    assert list(db.execute("pragma foreign_key_check")) == []


@pytest.mark.parametrize(
    "damage",
    ["delete from vec_user", "drop table vec_user", "update sig_user set keys = x'00'", "drop table fts_user",
     "delete from fts_user_data", "update vec_user set key = key + 1600"],
)  # fmt: skip
def test_a_damaged_index_is_noticed_and_made_anew_without_a_new_version(tmp_path: Path, damage: str) -> None:
    embedder = embed.load("builtin", tmp_path)

    async def work(store: Store) -> None:
        model = await store.write(changes.use_model, embedder.name, embedder.dim)
        store.vectors = changes.Vectors(model, embedder)
        old = await store.write(memories.insert, memory("we use PostgreSQL"), None)
        assert await store.write(maintain.repair) == ()
        await store.write(lambda db: db.execute(damage))
        assert await store.write(maintain.repair) == ("user",)
        await store.write(changes.fill, store.vectors, 0, 100)
        assert await store.read(found, "postgresql")
        assert await store.read(search.nearest, "user", embedder.encode(["database"])[0], 5)
        assert await store.write(maintain.repair) == ()
        assert (await store.read(memories.find, old.id)).version == 1

    with_store(tmp_path, work)
