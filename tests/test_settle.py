"""What waits for the owner's word: conflicts, the inbox, and being asked once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recalld.errors import InputError
from recalld.model import Memory, Origin, Status, Type
from recalld.store import conflicts, memories
from test_events import House, run

__all__ = ["run"]

ALL = '[memory]\nconfirm = "all"\n'


async def say(house: House, text: str, prompt_id: str, session: str = "s1") -> None:
    """A turn in which a person says `text`, learnt from."""
    await house.prompt(text, prompt_id, session)
    await house.stop(prompt_id, session=session)
    await house.learn()


async def listed(house: House, verb: str = "list", **more: Any) -> list[Any]:
    found: list[Any] = await house.call(verb, cwd=str(house.home / "shop"), **more)
    return found


async def disagree(house: House) -> tuple[Memory, Memory]:
    """Two memories in open conflict, the older one first."""
    older = await house.add("The API listens on port 8080.")
    newer = await house.add("The API listens on port 9090.")
    await house.store.write(conflicts.add, older.id, newer.id, house.now())
    return older, newer


@pytest.mark.parametrize(("keep", "kept", "gone"), [("A", 0, 1), ("B", 1, 0)])
def test_the_loser_of_a_conflict_is_superseded_by_the_winner(run: Any, keep: str, kept: int, gone: int) -> None:
    """The text of the loser stays; the winner takes over its pin; the conflict does not come back."""

    async def work(house: House) -> None:
        pair = await disagree(house)
        await house.call("pin", ids=[pair[gone].id])
        (conflict,) = await listed(house, "conflicts")
        assert (conflict.older.id, conflict.newer.id) == (pair[0].id, pair[1].id)
        settled = await house.call("resolve", conflict=conflict.conflict_id, keep=keep)
        assert [m.id for m in settled.kept] == [pair[kept].id]
        (loser,) = settled.superseded
        assert (loser.status, loser.superseded_by, loser.content) == (
            Status.SUPERSEDED, pair[kept].id, pair[gone].content,
        )  # fmt: skip
        winner = await house.call("show", id=pair[kept].id)
        assert (winner.pinned, winner.conflicts, winner.supersedes) == (True, (), (loser.id,))
        assert await listed(house, "conflicts") == []
        assert [event.action for event in await house.call("history", id=winner.id)][-1] != ""
        assert "settled" in [event.action for event in await house.call("history", id=winner.id)]
        with pytest.raises(InputError, match="no open conflict"):
            await house.call("resolve", conflict=conflict.conflict_id, keep="A")

    run(work)


def test_both_may_stay(run: Any) -> None:
    """Both hold, are related, and are not asked about again."""

    async def work(house: House) -> None:
        older, newer = await disagree(house)
        (conflict,) = await listed(house, "conflicts")
        await house.call("resolve", conflict=conflict.conflict_id, keep="both")
        await house.store.write(conflicts.add, older.id, newer.id, house.now())
        assert await listed(house, "conflicts") == []
        rows = {row.id: row for row in await listed(house)}
        assert (rows[older.id].related, rows[newer.id].related) == ((newer.id,), (older.id,))
        assert rows[older.id].status == rows[newer.id].status == Status.ACTIVE

    run(work)


def test_what_is_restored_contradicts_what_took_its_place(run: Any) -> None:
    """Both are in force then, and the conflict is open again."""

    async def work(house: House) -> None:
        older, newer = await disagree(house)
        (conflict,) = await listed(house, "conflicts")
        await house.call("resolve", conflict=conflict.conflict_id, keep="B")
        (back,) = await house.call("restore", ids=[older.id])
        assert (back.status, back.superseded_by, back.conflicts) == (Status.ACTIVE, None, (newer.id,))
        assert len(await listed(house, "conflicts")) == 1
        await house.call("resolve", conflict=conflict.conflict_id, keep="A")
        (back,) = await house.call("restore", ids=[newer.id])
        assert back.conflicts == (older.id,)
        assert len(await listed(house, "conflicts")) == 1

    run(work)


def test_what_was_deleted_cannot_be_restored(run: Any) -> None:
    """It is said why, and what can be done."""

    async def work(house: House) -> None:
        memory = await house.add("The API listens on port 8080.")
        await house.call("delete", ids=[memory.id])
        with pytest.raises(InputError, match="gone for good"):
            await house.call("restore", ids=[memory.id])

    run(work)


def test_an_archived_memory_is_found_by_no_search_until_it_is_restored(run: Any) -> None:
    """Out of the index and back into it."""

    async def work(house: House) -> None:
        memory = await house.add("The API listens on port 8080.")
        await house.call("archive", ids=[memory.id])
        assert await listed(house, "search", query="api port") == []
        assert (await house.call("show", id=memory.id)).status is Status.ARCHIVED
        await house.call("restore", ids=[memory.id])
        assert [found.memory.id for found in await listed(house, "search", query="api port")] == [memory.id]

    run(work)


def test_a_pending_memory_counts_only_when_confirmed(run: Any) -> None:
    """It is in no list and no injection before; afterwards it is, as the person's word."""

    async def work(house: House) -> None:
        await say(house, "We decided to use pnpm for everything here.", "p1")
        assert await listed(house) == []
        (waiting,) = await listed(house, "inbox")
        assert waiting.status is Status.PENDING
        (confirmed,) = await house.call("confirm", ids=[waiting.id])
        assert (confirmed.id, confirmed.status, confirmed.origin) == (waiting.id, Status.ACTIVE, Origin.USER)
        assert confirmed.confidence >= 0.9
        assert await listed(house, "inbox") == []
        assert [found.memory.id for found in await listed(house, "search", query="pnpm")] == [waiting.id]
        assert "pnpm" in json.dumps(await house.start("s2"))
        with pytest.raises(InputError, match="does not wait"):
            await house.call("confirm", ids=[waiting.id])

    run(work, ALL)


@pytest.mark.parametrize(
    ("said", "status"),
    [("We decided to move the API from port 8080 to port 9090.", Status.SUPERSEDED),
     ("We decided that the API listens on port 9090.", Status.ACTIVE)],
)  # fmt: skip
def test_what_is_confirmed_is_held_against_what_is_in_force(run: Any, said: str, status: Status) -> None:
    """It takes the place of what it says has changed, and is in conflict with what it only contradicts; not before."""

    async def work(house: House) -> None:
        old = await house.add("The API listens on port 8080.", type="decision")
        await say(house, said, "p1")
        (waiting,) = await listed(house, "inbox")
        assert (await house.call("show", id=old.id)).version == old.version
        assert await listed(house, "conflicts") == []
        (confirmed,) = await house.call("confirm", ids=[waiting.id])
        before = await house.call("show", id=old.id)
        assert before.status is status
        assert before.superseded_by == (confirmed.id if status is Status.SUPERSEDED else None)
        assert len(await listed(house, "conflicts")) == (0 if status is Status.SUPERSEDED else 1)

    run(work, ALL)


def test_what_is_known_already_is_not_stored_twice_by_confirming(run: Any) -> None:
    """The one in force is seen again; the other points to it."""

    async def work(house: House) -> None:
        await say(house, "We decided to use pnpm for everything here.", "p1")
        (waiting,) = await listed(house, "inbox")
        text = waiting.content
        await house.store.write(memories.update, waiting.id, house.now(), content="We decided on bun instead of npm.")
        known = await house.add(text)
        await house.store.write(memories.update, waiting.id, house.now(), content=text)
        (held,) = await house.call("confirm", ids=[waiting.id])
        assert held.id == known.id
        assert [row.id for row in await listed(house)] == [known.id]

    run(work, ALL)


def test_what_was_rejected_is_not_proposed_again(run: Any) -> None:
    """Said once more in another session, it stays away; a person may still add it."""

    async def work(house: House) -> None:
        await say(house, "We decided to use pnpm for everything here.", "p1")
        (waiting,) = await listed(house, "inbox")
        await house.call("reject", ids=[waiting.id])
        await say(house, "We decided to use pnpm for everything here.", "p2", "s2")
        assert await listed(house, "inbox") == []
        assert (await house.call("show", id=waiting.id)).content == ""
        assert (await house.add("We use pnpm for everything here.")).status is Status.ACTIVE

    run(work, ALL)


def test_the_next_prompt_asks_once_and_never_again(run: Any) -> None:
    """Whatever the session, until the end of time; the owner's notice goes on counting."""

    async def work(house: House) -> None:
        await say(house, "We decided to use pnpm for everything here.", "p1")
        (waiting,) = await listed(house, "inbox")
        given = await house.prompt("please look into the failing build of the invoices", "p2")
        assert "waiting for the user's confirmation" in given
        assert f"pnpm for everything here. ({waiting.id[:8]})" in given
        assert given.count("<recalld-memory") == given.count("</recalld-memory>") == 1
        await house.stop("p2")
        for number in range(3, 6):
            assert "waiting" not in await house.prompt("please look into the failing tests too", f"p{number}")
        started = await house.start("s2")
        assert "waiting" not in json.dumps(started.get("hookSpecificOutput", {}))
        assert "1 to confirm" in started["systemMessage"]
        assert (await house.call("show", id=waiting.id)).hit_count == 0

    run(work, ALL)


def test_a_prompt_of_another_conversation_is_not_asked(run: Any) -> None:
    """Nor about what came in by an import; the next session that starts is."""

    async def work(house: House) -> None:
        await house.prompt("please look into the failing build of the invoices", "p0", "s2")
        await say(house, "We decided to use pnpm for everything here.", "p1", "s1")
        other = await house.add("Invoices are PDF files.")
        await house.store.write(memories.update, other.id, house.now(), status=Status.PENDING)
        assert "waiting" not in await house.prompt("please look into the failing tests too", "p2", "s2")
        given = await house.prompt("please look into the failing tests too", "p3", "s1")
        assert "pnpm for everything here." in given and "PDF" not in given
        assert "Invoices are PDF files." in json.dumps(await house.start("s3"))

    run(work, ALL)


def test_a_new_session_asks_and_the_receipt_says_so(run: Any) -> None:
    """With no memory to give, too."""

    async def work(house: House) -> None:
        await say(house, "We decided to use pnpm for everything here.", "p1")
        assert "waiting for the user's confirmation" in json.dumps(await house.start("s2"))
        explained = await house.call("why", session="s2")
        (item,) = explained.receipt.items
        assert (item.given, item.reason) == (False, "asked whether it holds")
        assert explained.receipt.tokens > 0

    run(work, ALL)


def test_nobody_is_asked_where_nobody_types(run: Any) -> None:
    """Nor about another project."""

    async def work(house: House) -> None:
        await say(house, "We decided to use pnpm for everything here.", "p1")
        payload = {"hook_event_name": "SessionStart", "session_id": "s2", "source": "startup",
                   "cwd": str(house.home / "shop")}  # fmt: skip
        assert "waiting" not in json.dumps(await house.send(payload, entrypoint="sdk-cli"))
        (house.home / "other" / ".git").mkdir(parents=True)
        (house.home / "other" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        assert "waiting" not in json.dumps(await house.start("s3", cwd=str(house.home / "other")))
        assert "waiting" in json.dumps(await house.start("s4"))

    run(work, ALL)


def test_many_questions_do_not_flood_an_injection(run: Any) -> None:
    """A few at a time, none lost, each once."""

    async def work(house: House) -> None:
        texts = [
            "The shop sells tea.",
            "Deploys run on Fridays.",
            "Invoices are PDFs.",
            "Logs go to Loki.",
            "Auth is OIDC.",
        ]
        for text in texts:
            memory = await house.add(text)
            await house.store.write(memories.update, memory.id, house.now(), status=Status.PENDING)
        blocks = [json.dumps(await house.start(f"s{number}")) for number in range(4)]
        assert [sum(text in block for text in texts) for block in blocks] == [3, 2, 0, 0]

    run(work)


def test_tags_are_added_removed_counted_and_renamed(run: Any) -> None:
    """Two names become one where the new one is in use."""

    async def work(house: House) -> None:
        first = await house.add("Orders live in PostgreSQL.", tags=["tech:postgres"])
        second = await house.add("Carts live in Redis.", tags=["Tech:Redis", "tech:postgresql", "tech:postgres"])
        tagged = await house.call("tag", id=first.id, add=["Area:Orders", "tech:postgres"], remove=[])
        assert tagged.tags == ("tech:postgres", "area:orders")
        tagged = await house.call("tag", id=second.id, remove=["tech:redis"])
        assert tagged.tags == ("tech:postgresql", "tech:postgres")
        await house.call("tags-rename", old="tech:postgres", new="tech:postgresql", cwd=str(house.home / "shop"))
        counts = await listed(house, "tags")
        assert [(one.tag, one.memories) for one in counts] == [("tech:postgresql", 2), ("area:orders", 1)]
        found = await listed(house, "search", query="postgresql", tag="tech:postgresql")
        assert {one.memory.id for one in found} == {first.id, second.id}
        with pytest.raises(InputError, match="no memory here"):
            await house.call("tags-rename", old="nowhere", new="x", cwd=str(house.home / "shop"))

    run(work)


def test_a_moved_memory_is_found_where_it_went_and_nowhere_else(run: Any) -> None:
    """Its conflict with one that stays behind is over."""

    async def work(house: House) -> None:
        older, newer = await disagree(house)
        other = house.home / "other"
        (other / ".git").mkdir(parents=True)
        (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        await house.add("The other one sells coffee.", cwd=str(other))
        (moved,) = await house.call("move", ids=[newer.id], project="other")
        assert (moved.project, moved.conflicts) == ("other", ())
        assert [one.memory.id for one in await listed(house, "search", query="api port")] == [older.id]
        found = await house.call("search", query="api port", cwd=str(other))
        assert found[0].memory.id == newer.id
        assert older.id not in {one.memory.id for one in found}
        (everywhere,) = await house.call("move", ids=[newer.id], scope="user")
        assert everywhere.project is None
        assert {one.memory.id for one in await listed(house, "search", query="api port")} == {older.id, newer.id}
        with pytest.raises(InputError, match="belongs to no project"):
            await house.call("move", ids=[newer.id], scope="user", project="other")

    run(work)


def test_one_wrong_id_changes_nothing(run: Any) -> None:
    """All of them or none."""

    async def work(house: House) -> None:
        memory = await house.add("The shop sells tea.", type=Type.FACT)
        for verb in ("archive", "restore", "confirm", "reject"):
            with pytest.raises(InputError):
                await house.call(verb, ids=[memory.id, "ffffff"])
        assert (await house.call("show", id=memory.id)).version == memory.version

    run(work)
