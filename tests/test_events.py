"""The four events through the daemon's own composition: each turn once, each memory once a session, nothing foreign."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from claude_data import AWS_KEY, DB_URL, hook_payloads, put_transcript
from recalld import embed, service, wire
from recalld.learn import Learner
from recalld.service import Service
from recalld.settings import Settings
from recalld.store import changes, jobs, meta, turns
from recalld.store.changes import Vectors
from recalld.store.store import Store, utc_now
from recalld.verbs import registry
from recalld.worker import Worker

EMBEDDER = embed.load("builtin", Path())
EVENTS = {"SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop", "SessionEnd": "session-end"}


class House:
    """A store, service and worker on a scratch home, without a socket; `ahead` moves the clock.

    extract: the settings under [extract]. environ, deadline_s: for the model.
    """

    def __init__(
        self,
        home: Path,
        config: str = "",
        extract: str = 'backend = "rules"',
        environ: Mapping[str, str] | None = None,
        deadline_s: float = 60.0,
    ) -> None:
        (home / "config.toml").write_text(f"[extract]\n{extract}\n{config}")
        self.home = home
        self.ahead = timedelta()
        settings = Settings(home / "config.toml")
        self.store = Store(home / "memories.db", home, self.now)
        self.service = Service(self.store, settings, self.now, home, lambda: None)
        learner = Learner(self.store, self.service, environ or {}, deadline_s)
        (home / "spool").mkdir()
        self.store.vectors = Vectors(1, EMBEDDER)
        self.worker = Worker(self.store, self.service, learner, "run", self.now, home / "spool", self._nothing)

    async def _nothing(self) -> None:
        pass

    def now(self) -> datetime:
        return utc_now() + self.ahead

    async def send(self, payload: dict[str, Any], **values: str) -> dict[str, Any]:
        request = wire.Request(
            "hook", EVENTS.get(payload["hook_event_name"], "other"), values, json.dumps(payload).encode()
        )
        return dict(json.loads(await self.service.hook(request)))

    async def prompt(self, text: str, prompt_id: str, session: str = "s1", cwd: str = "", **more: Any) -> str:
        """The context given to Claude for a prompt."""
        payload = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": cwd or str(self.home / "shop"),
                   "prompt": text, "prompt_id": prompt_id, **more}  # fmt: skip
        reply = await self.send(payload)
        return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))

    async def stop(self, prompt_id: str, answer: str = "Done.", session: str = "s1") -> None:
        payload = {"hook_event_name": "Stop", "session_id": session, "cwd": str(self.home / "shop"),
                   "prompt_id": prompt_id, "last_assistant_message": answer}  # fmt: skip
        assert await self.send(payload) == {}

    async def start(self, session: str = "s1", source: str = "startup", cwd: str = "") -> dict[str, Any]:
        return await self.send({"hook_event_name": "SessionStart", "session_id": session, "source": source,
                                "cwd": cwd or str(self.home / "shop")})  # fmt: skip

    async def call(self, verb: str, **arguments: Any) -> Any:
        return await registry.call(self.store, self.service.context("cli"), verb, arguments)

    async def add(self, text: str, **more: Any) -> Any:
        return await self.call("add", text=text, **{"cwd": str(self.home / "shop")} | more)

    async def learn(self) -> None:
        self.ahead += timedelta(seconds=5)
        await self.worker.step()

    async def turns(self) -> list[tuple[str, str]]:
        rows = await self.store.read(
            lambda db: db.execute("select prompt_id, prompt from turns order by turn_id").fetchall()
        )
        return [tuple(row) for row in rows]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    # No hook waits here, and the machine may be busy.
    monkeypatch.setattr(service, "DEADLINE_S", dict.fromkeys(service.DEADLINE_S, 20.0))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    def with_house(work: Callable[[House], Awaitable[Any]], config: str = "", **model: Any) -> Any:
        async def whole() -> Any:
            house = House(tmp_path, config, **model)
            await house.store.write(changes.use_model, EMBEDDER.name, EMBEDDER.dim)
            try:
                return await work(house)
            finally:
                await house.service.drain()
                await house.store.close()

        return asyncio.run(whole())

    return with_house


def placed(payload: dict[str, Any], home: Path) -> dict[str, Any]:
    """A recorded input as if recorded in `home`."""
    return dict(json.loads(json.dumps(payload).replace("/home/dev", str(home))))


def test_every_recorded_hook_input_captures_each_human_turn_once_and_nothing_else(run: Any, tmp_path: Path) -> None:
    """B82 among them: replayed twice over, in order, as a double registration and a later repeat would do; no secret is kept."""

    async def work(house: House) -> None:
        for _ in range(2):
            for payload in hook_payloads():
                for _ in range(2):
                    await house.send(placed(payload, tmp_path))
        prompts = dict.fromkeys(
            (p["prompt_id"], p["prompt"]) for p in hook_payloads() if p["hook_event_name"] == "UserPromptSubmit"
        )
        said = await house.turns()
        assert [pid for pid, _ in said] == [pid for pid, _ in prompts]
        text = json.dumps(said)
        assert AWS_KEY not in text
        assert DB_URL not in text

    run(work)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("long-session", 8), ("forked", 3), ("after-clear", 1), ("worktree", 1), ("subfolder", 1), ("human-answers", 4),
     ("subagent-a66b1", 0), ("subagent-ab789", 0)],
)  # fmt: skip
def test_every_recorded_transcript_gives_its_human_turns_once(
    run: Any, tmp_path: Path, name: str, expected: int
) -> None:
    """B68: else what a sub-agent was told counts as the user's word."""

    async def work(house: House) -> None:
        path = put_transcript(name, tmp_path)
        house.ahead = datetime(2026, 1, 1, tzinfo=utc_now().tzinfo) - utc_now()
        await house.send({"hook_event_name": "SessionStart", "session_id": name, "source": "startup",
                          "cwd": str(tmp_path / "shop"), "transcript_path": str(path)})  # fmt: skip
        await house.store.write(lambda db: db.execute("update sessions set started_at = '2020-01-01T00:00:00.000Z'"))
        for _ in range(2):
            session = await house.store.read(turns.session, name)
            await house.worker._learner.read_transcript(session, house.now(), final=True)
            await house.store.write(lambda db: db.execute("update sessions set transcript_offset = 0"))
        assert len(await house.turns()) == expected
        assert (await house.store.read(jobs.counts)).ready == expected

    run(work)


def test_what_a_person_answers_inside_a_turn_is_part_of_it(run: Any, tmp_path: Path) -> None:
    async def work(house: House) -> None:
        path = put_transcript("human-answers", tmp_path)
        for payload in hook_payloads():
            if payload["session_id"].startswith("7eb4a653"):
                await house.send(placed(payload, tmp_path) | {"transcript_path": str(path)})
        await house.learn()
        known = " ".join(memory.content for memory in await house.call("list", cwd=str(tmp_path / "shop")))
        assert "Redis" in known

    run(work)


def test_a_turn_without_a_stop_is_ended_by_the_next_prompt(run: Any) -> None:
    """B59: else a turn that the user broke off is not captured when the next one begins."""

    async def work(house: House) -> None:
        await house.prompt("We decided to use pnpm for everything here.", "p1")
        await house.prompt("thanks", "p2")
        await house.stop("p2")
        await house.learn()
        states = await house.store.read(lambda db: db.execute("select prompt_id, state from turns").fetchall())
        assert dict(states) == {"p1": "interrupted", "p2": "ended"}
        assert "pnpm" in " ".join(memory.content for memory in await house.call("list", cwd=str(house.home / "shop")))

    run(work)


def test_a_memory_is_given_once_a_session_until_it_is_compacted(run: Any) -> None:
    """B54: else the same memory is given with each prompt."""

    async def work(house: House) -> None:
        memory = await house.add("The orders database is PostgreSQL 16.")
        asked = "which database do the orders use?"
        assert memory.id[:8] in await house.prompt(asked, "p1")
        assert await house.prompt(asked, "p2") == ""
        assert memory.id[:8] in await house.prompt(asked, "p3", session="s2")
        await house.start(source="compact")
        assert (
            await house.store.read(lambda db: db.execute("select count(*) from injections where session_id = 's1'").get)
            == 3
        )

    run(work)


def test_a_double_registration_answers_once(run: Any) -> None:
    async def work(house: House) -> None:
        await house.add("Never force-push to main.", pin=True)
        first, second = await asyncio.gather(house.start(), house.start())
        assert sorted(map(bool, (first, second))) == [False, True]
        asked = "may I force-push to main?"
        given = await asyncio.gather(house.prompt(asked, "p1", "s9"), house.prompt(asked, "p1", "s9"))
        assert sorted(map(bool, given)) == [False, True]

    run(work)


def test_another_project_of_the_same_name_gets_nothing(run: Any, tmp_path: Path) -> None:
    """B39: else two folders of one name share their memories."""

    async def work(house: House) -> None:
        await house.add("The orders database is PostgreSQL 16.")
        other = tmp_path / "elsewhere" / "shop"
        (other / ".git").mkdir(parents=True)
        (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        asked = "which database do the orders use?"
        assert await house.prompt(asked, "p1", "s2", cwd=str(other)) == ""
        assert "PostgreSQL" not in json.dumps(await house.start("s3", cwd=str(other)))
        assert "PostgreSQL" in await house.prompt(asked, "p2", "s1")

    run(work)


def test_private_text_and_our_own_blocks_are_never_stored(run: Any) -> None:
    async def work(house: House) -> None:
        await house.prompt("remember that we use pnpm <private>and my salary is 1</private>", "p1")
        await house.stop("p1", 'ok <recalld-memory project="x">\n- [fact] marmalade (m-1)\n</recalld-memory>')
        stored = await house.store.read(lambda db: str(db.execute("select prompt, answer from turns").fetchall()))
        assert "salary" not in stored
        assert "marmalade" not in stored
        assert "pnpm" in stored

    run(work)


@pytest.mark.parametrize(("mode", "injected", "captured"), [("on", True, 1), ("inject", True, 0), ("off", False, 0)])
def test_runs_that_no_person_types_follow_the_headless_setting(
    run: Any, mode: str, injected: bool, captured: int
) -> None:
    async def work(house: House) -> None:
        await house.add("The orders database is PostgreSQL 16.")
        payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(house.home / "shop"),
                   "prompt": "which database do the orders use?", "prompt_id": "p1"}  # fmt: skip
        reply = await house.send(payload, entrypoint="sdk-cli")
        assert bool(reply) is injected
        assert len(await house.turns()) == captured

    run(work, f'[capture]\nheadless = "{mode}"\n')


def test_an_excluded_folder_is_left_alone(run: Any) -> None:
    async def work(house: House) -> None:
        await house.add("Never force-push.", scope="user", pin=True)
        assert await house.start() == {}
        assert await house.prompt("may I force-push?", "p1") == ""
        assert await house.turns() == []

    run(work, '[projects]\nexclude = ["*/shop"]\n')


def test_a_pause_stops_injection_and_capture(run: Any) -> None:
    async def work(house: House) -> None:
        await house.store.write(meta.put, meta.PAUSED, "2026")
        await house.add("The orders database is PostgreSQL 16.")
        assert await house.prompt("which database do the orders use?", "p1") == ""
        await house.stop("p1")
        assert await house.turns() == []

    run(work)


def test_a_spooled_turn_arrives_with_its_own_time_and_interrupts_nothing(run: Any) -> None:
    async def work(house: House) -> None:
        shop = str(house.home / "shop")
        spooled = [
            ("prompt", {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": shop, "prompt_id": "p1",
                        "prompt": "We decided to use pnpm for everything here."}),
            ("stop", {"hook_event_name": "Stop", "session_id": "s1", "cwd": shop, "prompt_id": "p1",
                      "last_assistant_message": "ok"}),
        ]  # fmt: skip
        for number, (event, payload) in enumerate(spooled):
            file = house.home / "spool" / f"{number}-1.hook"
            file.write_bytes(f"hook {event} entrypoint=cli\n".encode() + json.dumps(payload).encode())
        (house.home / "spool" / "2-1.hook").write_bytes(b"hook stop\n{broken")
        await house.prompt("and what now", "p2")
        await house.worker.take_spool()
        await house.worker.take_spool()
        assert [pid for pid, _ in await house.turns()] == ["p2", "p1"]
        assert await house.store.read(turns.open_turns, "s1") == ["p2"]
        assert list((house.home / "spool").iterdir()) == []
        await house.learn()
        assert "pnpm" in " ".join(memory.content for memory in await house.call("list", cwd=shop))

    run(work)


@pytest.mark.parametrize(
    "statement",
    ["update memories set tags = '[1, null, {}]'", "update memories set tags = '{\"a\": 1}', aliases = 'null'",
     "update memories set content = cast(x'ff41' as text)", "update memories set last_seen = datetime('now')",
     "update memories set last_seen = 'yesterday', first_seen = '', created_at = '12'",
     "delete from memories", "delete from projects", "delete from memories; insert into memories (id, scope, type,"
     " content, source, origin, confidence, status, first_seen, last_seen, created_at, updated_at) values"
     " ('m-' || hex(randomblob(10)), 'user', 'fact', 'we use Kafka', 'me', 'user', 1, 'active', '2026', '2026', '', '')",
     "update memories set scope = 'user', project_id = null", "update memories set status = 'archived', pinned = 1"],
)  # fmt: skip
def test_whatever_the_owner_does_with_plain_sqlite_the_daemon_goes_on(run: Any, statement: str) -> None:
    async def work(house: House) -> None:
        await house.add("The orders database is PostgreSQL 16.")
        await house.prompt("We decided to use pnpm for everything here.", "p0")
        db = sqlite3.connect(house.home / "memories.db")
        db.executescript(statement.replace("hex(", "lower(hex(").replace("(10))", "(10)))"))
        db.close()
        await house.prompt("which database do the orders use?", "p1")
        await house.stop("p1")
        await house.start("s2")
        await house.add("The cache is Valkey.")
        await house.learn()
        assert await house.call("search", query="valkey", cwd=str(house.home / "shop"))
        assert await house.call("list", project="all", status="all")
        assert (await house.store.read(jobs.counts)).done == 2
        assert await house.store.read(lambda db: db.execute("select count(*) from pragma_foreign_key_check").get) == 0

    run(work)


def test_what_was_deleted_is_in_no_file_any_more(run: Any) -> None:
    """Not in the memory, its vector and history, nor in the turns that said it, nor in receipts, nor in the WAL."""

    async def work(house: House) -> None:
        await house.prompt("We decided to call the vault marmalade.", "p1")
        await house.stop("p1", "The vault is called marmalade, noted.")
        await house.learn()
        await house.prompt("what is the vault called?", "p2")
        await house.stop("p2", "ok")
        await house.learn()
        (memory,) = await house.call("list", cwd=str(house.home / "shop"))
        await house.call("edit", id=memory.id, text="The vault is called marmalade today.")
        await house.call("delete", ids=[memory.id])
        left = b"".join(path.read_bytes() for path in house.home.glob("memories.db*"))
        assert b"marmalade" not in left.lower()
        assert (await house.call("search", query="vault", cwd=str(house.home / "shop"))) == []

    run(work)


def test_the_id_of_a_memory_cannot_be_changed_by_hand(run: Any) -> None:
    async def work(house: House) -> None:
        await house.add("The orders database is PostgreSQL 16.")
        db = sqlite3.connect(house.home / "memories.db")
        with pytest.raises(sqlite3.IntegrityError, match="the id of a memory cannot change"):
            db.execute("update memories set id = 'm-0123456789abcdef0123'")
        db.close()

    run(work)


def test_nothing_but_a_hooks_own_file_is_taken_from_the_spool(run: Any) -> None:
    async def work(house: House) -> None:
        spool = house.home / "spool"
        (spool / "1-1.hook").mkdir()
        os.mkfifo(spool / "2-1.hook")
        (spool / "3-1.hook").symlink_to("/dev/zero")
        (spool / "4-1.hook").write_bytes(b"\xff" * 1000)
        await house.worker.take_spool()
        assert sorted(file.name for file in spool.iterdir()) == ["1-1.hook", "2-1.hook", "3-1.hook"]

    run(work)


def test_what_was_spooled_is_dropped_while_paused(run: Any) -> None:
    async def work(house: House) -> None:
        payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(house.home / "shop"),
                   "prompt_id": "p1", "prompt": "We decided to use pnpm."}  # fmt: skip
        (house.home / "spool" / "1-1.hook").write_bytes(b"hook prompt entrypoint=cli\n" + json.dumps(payload).encode())
        await house.store.write(meta.put, meta.PAUSED, "2026")
        await house.worker.take_spool()
        assert await house.turns() == []
        assert list((house.home / "spool").iterdir()) == []

    run(work)


def test_a_new_folder_where_a_moved_project_was_gets_none_of_its_memories(run: Any, tmp_path: Path) -> None:
    async def work(house: House) -> None:
        await house.add("The orders database is PostgreSQL 16.")
        (tmp_path / "shop").rename(tmp_path / "moved")
        assert "PostgreSQL" in json.dumps(await house.start("s2", cwd=str(tmp_path / "moved")))
        (tmp_path / "shop").mkdir()
        assert "PostgreSQL" not in json.dumps(await house.start("s3"))

    run(work)


def test_ten_deliveries_of_one_stop_make_one_job(run: Any) -> None:
    """B77: else one Stop that is delivered ten times is learnt from ten times."""

    async def work(house: House) -> None:
        await house.prompt("We decided to use pnpm.", "p1")
        await asyncio.gather(*(house.stop("p1") for _ in range(10)))
        await house.learn()
        await house.stop("p1")
        assert await house.store.read(jobs.counts) == jobs.Counts(done=1)

    run(work)


def test_undo_takes_back_what_was_learnt_last(run: Any) -> None:
    async def work(house: House) -> None:
        shop = str(house.home / "shop")
        await house.prompt("We decided to use pnpm for everything here.", "p1")
        await house.stop("p1")
        await house.learn()
        undone = await house.call("undo")
        assert [memory.content for memory in undone.removed]
        assert await house.call("list", cwd=shop) == []

    run(work)


def test_a_deleted_memory_is_not_learnt_again_but_may_be_added_by_hand(run: Any) -> None:
    async def work(house: House) -> None:
        shop = str(house.home / "shop")
        for number in (1, 2):
            await house.prompt("We decided to use pnpm for everything here.", f"p{number}")
            await house.stop(f"p{number}")
            await house.learn()
            known = await house.call("list", cwd=shop)
            assert len(known) == (1 if number == 1 else 0)
            if known:
                await house.call("delete", ids=[known[0].id])
        await house.add("We use pnpm for everything here.")
        assert len(await house.call("list", cwd=shop)) == 1

    run(work)


def test_a_real_hook_process_speaks_what_the_service_understands(run: Any, tmp_path: Path) -> None:
    """The request bytes of hooks/hook.py, caught in the spool, are taken in as they are."""

    async def work(house: House) -> None:
        payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(tmp_path / "shop"),
                   "prompt_id": "p1", "prompt": "订单库用 PostgreSQL 😀"}  # fmt: skip
        hook = Path(__file__).parents[1] / "hooks" / "hook.py"
        await asyncio.to_thread(
            subprocess.run, ["python3", "-I", "-S", hook, "prompt", tmp_path / "none.sock"],
            input=json.dumps(payload).encode(), env={"RECALLD_HOME": str(tmp_path)}, check=True,
        )  # fmt: skip
        await house.worker.take_spool()
        assert await house.turns() == [("p1", "订单库用 PostgreSQL 😀")]

    run(work)


def test_the_owner_is_told_of_pinned_memories_that_find_no_room(run: Any) -> None:
    async def work(house: House) -> None:
        for number in range(30):
            text = f"Rule {number}: " + " ".join(f"word{number}x{part}" for part in range(40))
            await house.add(text, pin=True)
        assert "pinned ones do not fit" in (await house.start())["systemMessage"]

    run(work)
