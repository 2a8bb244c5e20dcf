"""Whether an answer used a memory is told from what only the memory can have brought in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recall_store import Shelf, embedder
from recalld import used
from recalld.model import Turn
from test_events import House, run  # noqa: F401  # the fixture

CASES = [
    (True, "The orders database is PostgreSQL 16.", "which database do the orders use?", "It is PostgreSQL 16, behind a pooler."),
    (False, "The orders database is PostgreSQL 16.", "which database do the orders use?", "I could not find it in the config; could you tell me?"),
    (True, "We use pnpm, never npm.", "add lodash", "Added with `pnpm add lodash`."),
    (False, "We use pnpm, never npm.", "add lodash", "I added lodash to package.json and imported it in src/cart.ts."),
    (True, "Never force-push to main.", "push my branch please", "Pushed feature/x normally, since force-push to main is not allowed here."),
    (False, "Never force-push to main.", "push my branch please", "Pushed the branch and opened a pull request."),
    (True, "Deployments go through ArgoCD, never by hand.", "how do I get this live?", "Merge to the release branch; ArgoCD picks it up within minutes."),
    (False, "Deployments go through ArgoCD, never by hand.", "fix the typo in the footer", "Fixed the typo in src/footer.tsx."),
    (True, "The rate limit of the public API is 120 requests a minute.", "write the client", "The client waits when it reaches 120 requests a minute."),
    (False, "The rate limit of the public API is 120 requests a minute.", "write the client", "The client sends requests in batches and retries on failure."),
    (True, "订单库用 PostgreSQL 16。", "订单用的什么数据库？", "订单库是 PostgreSQL 16。"),
    (True, "支付回调必须验签。", "写一下支付回调", "好的，回调里先验签，再更新订单状态。"),
    (False, "支付回调必须验签。", "改一下首页标题", "首页标题已经改好了。"),
    (False, "The API is documented in docs/api.md.", "show me the API handlers", "Here are the handlers: create, list and delete."),
    (True, "The API is documented in docs/api.md.", "where do I describe the new endpoint?", "In docs/api.md, next to the others."),
    (True, "Retries with jitter fixed the thundering herd of the mailer.", "the mailer overloads the server at 9", "Spread the retries with jitter, as was done before."),
    (False, "Retries with jitter fixed the thundering herd of the mailer.", "rename the mailer class", "Renamed it to PostOffice in all files."),
    (False, "The user prefers short answers.", "what is a mutex?", "A mutex is a lock that only one thread can hold at a time."),
    (False, "The team meets on Tuesdays in Bremen.", "summarise the diff", "The diff renames two functions and adds tests."),
    (True, "Feature flags live in LaunchDarkly.", "hide the new button for now", "I put it behind a LaunchDarkly flag called new-button."),
    (False, "Feature flags live in LaunchDarkly.", "hide the new button for now", "I commented the button out."),
    (False, "Feature flags live in LaunchDarkly.", "put it behind LaunchDarkly", "It is behind LaunchDarkly now."),
    (True, "The staging cluster is called kiwi.", "deploy this to staging", "kubectl --context kiwi apply -f deploy.yaml is done."),
]  # fmt: skip


@pytest.fixture(scope="module")
def rarity(tmp_path_factory: pytest.TempPathFactory) -> used.Rarity:
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    shelf.add_all(list(dict.fromkeys(content for _, content, _, _ in CASES)))
    return used.Rarity(shelf.db, shelf.place)


@pytest.mark.parametrize(("expected", "content", "prompt", "answer"), CASES)
def test_an_answer_uses_what_nobody_had_said_before(
    rarity: used.Rarity, expected: bool, content: str, prompt: str, answer: str
) -> None:
    turn = Turn(prompt_id="p", session_id="s", prompt=prompt, answer=answer, started_at="")
    assert used.judge([content], turn, rarity, embedder().encode) == [expected]


def test_what_many_memories_say_is_no_sign_of_one(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.add_all([f"Service number {n} of the shop runs in Frankfurt." for n in range(40)])
    turn = Turn(prompt_id="p", session_id="s", prompt="who are we?", answer="A shop in Frankfurt.", started_at="")
    content = "Service number 7 of the shop runs in Frankfurt."
    assert used.judge([content], turn, used.Rarity(shelf.db, shelf.place), embedder().encode) == [False]


async def marks(house: House) -> list[tuple[str, int | None]]:
    """(event, used) of everything given, in order."""
    rows = await house.store.read(
        lambda db: db.execute(
            "select event, used from injection_items join injections using (injection_id) where given = 1 order by 1, 2"
        ).fetchall()
    )
    return [tuple(row) for row in rows]


def test_a_use_is_marked_and_counted_once_an_injection(run: Any) -> None:  # noqa: F811
    """Of what the session start gave, too; an answer that used nothing is noted as such; work repeated counts nothing."""

    async def work(house: House) -> None:
        memory = await house.add("The orders database is PostgreSQL 16.")
        await house.start()
        assert await marks(house) == [("SessionStart", None)]
        await house.prompt("fix the typo in the footer", "p1")
        await house.stop("p1", "Fixed.")
        await house.learn()
        assert await marks(house) == [("SessionStart", 0)]
        for number in (2, 3):
            await house.prompt("which database do the orders use?", f"p{number}")
            await house.stop(f"p{number}", "It is PostgreSQL 16.")
            await house.learn()
            assert await marks(house) == [("SessionStart", 1)]
        await house.store.write(lambda db: db.execute("update jobs set state = 'ready', payload = '{}'"))
        await house.learn()
        assert (await house.call("show", id=memory.id)).useful_count == 1

        assert memory.id[:8] in await house.prompt("which database do the orders use?", "p4", "s2")
        await house.stop("p4", "It is PostgreSQL 16.", "s2")
        await house.learn()
        assert (await house.call("show", id=memory.id)).useful_count == 2
        assert (await house.call("history", id=memory.id))[-1].action == "insert"

    run(work, "[memory]\nsimilarity_threshold = 0.45\n")


def test_what_comes_after_an_answer_or_went_with_a_compaction_was_not_used_by_it(run: Any) -> None:  # noqa: F811
    async def work(house: House) -> None:
        memory = await house.add("The orders database is PostgreSQL 16.")
        await house.prompt("fix the typo in the footer", "p1", "s1")
        await house.stop("p1", "Fixed; by the way you run PostgreSQL 16.", "s1")
        await house.prompt("which database do the orders use?", "p2", "s1")
        await house.learn()
        assert await marks(house) == [("UserPromptSubmit", None)]
        await house.start("s1", "clear")
        await house.store.write(lambda db: db.execute("delete from injections where event = 'SessionStart'"))
        await house.stop("p2", "No idea.", "s1")
        await house.prompt("rename the logo", "p3", "s1")
        await house.stop("p3", "PostgreSQL 16, I guess.", "s1")
        await house.learn()
        assert await marks(house) == [("UserPromptSubmit", 0)]
        assert (await house.call("show", id=memory.id)).useful_count == 0

    run(work, "[memory]\nsimilarity_threshold = 0.45\n")
