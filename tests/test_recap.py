"""Where a session stopped, and that nothing is made of what says nothing."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from recalld.model import Origin, Turn, Type
from recalld.recap import where_it_stopped
from test_events import House, run

__all__ = ["run"]


def stopped(answer: str, **more: Any) -> str:
    """The note made of a session's last answer."""
    turn = Turn(
        prompt_id="p", session_id="s", prompt="go on", answer=answer, started_at="2026-01-01T00:00:00.000Z", **more
    )
    found = where_it_stopped(turn)
    return found.content if found else ""


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("The CSV exporter works. The header row is still missing, and 3 of 14 tests fail.",
         "The header row is still missing, and 3 of 14 tests fail."),
        ("Migrated 12 of the 30 screens.\n\nNext step: the checkout screen. The payment form is not yet ported.",
         "Next step: the checkout screen. The payment form is not yet ported."),
        ("Renamed the module. The release is blocked by the failing signature check on macOS.",
         "The release is blocked by the failing signature check on macOS."),
        ("导出模块写好了。还差表头和分页的测试。", "还差表头和分页的测试。"),
    ],
)  # fmt: skip
def test_open_work_is_kept_in_the_words_it_was_told_in(answer: str, kept: str) -> None:
    assert stopped(answer) == kept


@pytest.mark.parametrize(
    "answer",
    [
        "Done. All tests pass.",
        "I added the header row and fixed the import.",
        "You could still need an index later. Let me know if anything is left to do.",
        "What is left to do?",
        "If the build is not yet green, run it again.",
        "No failures remain.",
        "Maybe the cache is still broken.",
        "```\nTODO: the parser is not finished\n```",
        "现在没有待办了。要不要我继续？",
        "",
    ],
)  # fmt: skip
def test_nothing_is_made_of_an_answer_that_leaves_nothing_open(answer: str) -> None:
    assert stopped(answer) == ""


def test_what_was_broken_off_tells_nothing() -> None:
    assert stopped("The header row is still missing in the exporter.", interrupted=True) == ""


async def notes(house: House) -> list[Any]:
    found: list[Any] = await house.call("list", cwd=str(house.home / "shop"), type="progress")
    return found


OPEN = "The header row of the CSV exporter is still missing."


@pytest.mark.parametrize("ended", [True, False])
def test_a_session_that_ends_or_falls_silent_leaves_one_note(run: Any, ended: bool) -> None:
    """Marked as the assistant's, given to the next session, made once however often one looks."""

    async def work(house: House) -> None:
        await house.prompt("write the exporter please", "p1")
        await house.stop("p1", f"Wrote it. {OPEN}")
        await house.learn()
        assert await notes(house) == []
        if ended:
            await house.send({"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": str(house.home / "shop"),
                              "reason": "exit"})  # fmt: skip
        else:
            house.ahead += timedelta(hours=1)
        for _ in range(3):
            await house.learn()
        (note,) = await notes(house)
        assert (note.content, note.type, note.origin, note.source_session) == (
            OPEN, Type.PROGRESS, Origin.ASSISTANT, "s1",
        )  # fmt: skip
        started = json.dumps(await house.start("s2"))
        assert "last time" in started
        assert OPEN in started

    run(work)


def test_the_next_session_replaces_where_the_last_one_stopped(run: Any) -> None:
    async def work(house: House) -> None:
        for number, answer in enumerate((OPEN, "The footer of the CSV exporter is still missing.")):
            await house.prompt("go on with the exporter", f"p{number}", f"s{number}")
            await house.stop(f"p{number}", answer, f"s{number}")
            house.ahead += timedelta(hours=2)
            await house.learn()
        assert [note.content for note in await notes(house)] == ["The footer of the CSV exporter is still missing."]

    run(work)


def test_a_session_that_told_its_own_progress_needs_no_other_note(run: Any) -> None:
    async def work(house: House) -> None:
        memory = await house.add("The exporter is half done.", type="progress")
        await house.store.write(
            lambda db: db.execute("update memories set source_session = 's1' where id = ?", (memory.id,))
        )
        await house.prompt("write the exporter please", "p1")
        await house.stop("p1", f"Wrote it. {OPEN}")
        house.ahead += timedelta(hours=2)
        await house.learn()
        assert [note.id for note in await notes(house)] == [memory.id]

    run(work)


def test_a_note_that_was_deleted_does_not_come_back(run: Any) -> None:
    async def work(house: House) -> None:
        await house.prompt("write the exporter please", "p1")
        await house.stop("p1", OPEN)
        house.ahead += timedelta(hours=2)
        await house.learn()
        await house.call("delete", ids=[note.id for note in await notes(house)])
        await house.start("s1", source="resume")
        house.ahead += timedelta(hours=2)
        await house.learn()
        assert await notes(house) == []

    run(work)
