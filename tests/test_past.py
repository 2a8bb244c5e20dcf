"""The past of Claude Code: each turn once, at the time it was said, in its project, and within the day's caps."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from claude_client import until
from claude_data import transcript
from conftest import Daemon, Home, failed
from recalld import past
from recalld.learn import Learner
from recalld.store import jobs, usage
from recalld.transcript import TranscriptTurn
from test_cli import on_terminal
from test_events import House, run

__all__ = ["run"]

FOLDER = "-work-shop"


def put(home: Home, name: str, session: str = "", cwd: str = "") -> Path:
    """A recorded transcript where Claude Code keeps it, as if recorded in this home."""
    folder = home.claude / "projects" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session or name}.jsonl"
    path.write_bytes(transcript(name).replace(b"/home/dev/shop", (cwd or str(home.project)).encode()))
    return path


def say(home: Home, session: str, *said: tuple[str, str], day: int = 1, cwd: str = "") -> Path:
    """A transcript of plain turns, (prompt, answer) each, added to what is there."""
    folder = home.claude / "projects" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    begun = len(path.read_text().splitlines()) if path.exists() else 0
    with path.open("a") as file:
        for number, (prompt, answer) in enumerate(said, begun):
            common = {"sessionId": session, "cwd": cwd or str(home.project), "gitBranch": "main", "isSidechain": False,
                      "entrypoint": "cli", "timestamp": f"2026-03-{day:02}T10:{number:02}:00.000Z"}  # fmt: skip
            for record in (
                {"type": "user", "promptId": f"{session}-{number}", "uuid": f"{session}-u{number}", "promptSource": "typed",
                 "origin": {"kind": "human"}, "message": {"role": "user", "content": prompt}},
                {"type": "assistant", "uuid": f"{session}-a{number}",
                 "message": {"id": f"{session}-m{number}", "stop_reason": "end_turn",
                             "content": [{"type": "text", "text": answer}]}},
            ):  # fmt: skip
                file.write(json.dumps(common | record) + "\n")
    return path


def turns(home: Home) -> list[tuple[Any, ...]]:
    with sqlite3.connect(home.paths.database) as db:
        found = db.execute(
            "select prompt_id, prompt, started_at, ended_at, state from turns order by started_at"
        ).fetchall()
    db.close()
    return found


def test_the_past_comes_in_once_and_at_its_time(home: Home) -> None:
    """A dry run queues nothing; a second run finds nothing; what is added later is found by the next."""
    say(home, "s1", ("We decided to use pnpm for everything here.", "ok"), ("thanks", "np"))
    say(home, "s2", ("remember that the API listens on port 8080", "Noted."), day=2)
    dry = home.json("import", "transcripts", "--dry-run")
    assert (dry["transcripts"], dry["sessions"], dry["turns"], dry["queued"]) == (2, 2, 3, 0)
    assert home.json("import", "transcripts")["queued"] == 3
    assert [row[:3] for row in turns(home)] == [
        ("s1-0", "We decided to use pnpm for everything here.", "2026-03-01T10:00:00.000Z"),
        ("s1-1", "thanks", "2026-03-01T10:01:00.000Z"),
        ("s2-0", "remember that the API listens on port 8080", "2026-03-02T10:00:00.000Z"),
    ]
    assert all(row[3] < "2026-03-03" for row in turns(home))
    assert home.json("import", "transcripts")["turns"] == 0
    say(home, "s2", ("We use Redis for carts.", "ok"))
    assert home.json("import", "transcripts")["queued"] == 1
    assert home.json("status")["jobs"]["ready"] == 4


def test_the_daemon_learns_from_the_past_at_once(home: Home, daemon: Daemon) -> None:
    """Sessions in the order they were had; what the last one said holds."""
    say(home, "s2", ("We decided to move the API from port 8080 to port 9090.", "ok"), day=5)
    say(home, "s1", ("We decided that the API listens on port 8080.", "ok"), day=2)
    assert home.json("import", "transcripts")["queued"] == 2
    until("both turns are learnt from", lambda: home.json("status")["jobs"]["done"] == 2)
    rows = {row["status"]: row["content"] for row in home.json("list", "--status", "all")}
    assert "9090" in rows["active"]
    assert "8080" in rows["superseded"]


def test_what_was_said_then_is_learnt_as_of_then(run: Any) -> None:
    """So that an old decision does not overrule a newer one."""

    async def work(house: House) -> None:
        shop = str(house.home / "shop")
        await house.add("The API listens on port 8080.")
        said = [
            turn("p1", "remember that the API listens on port 9090", 1),
            turn("p2", "Deploys run on Fridays only.", 2),
        ]
        done = await house.call("past", session_id="s9", cwd=shop, path="/x.jsonl", headless=False, turns=said, read=10)
        assert done.taken == 2
        await house.learn()
        assert (await house.store.read(jobs.counts)).done == 2
        rows = {row.content: row for row in await house.call("list", cwd=shop)}
        assert "The API listens on port 8080." in rows
        assert "9090" not in "".join(rows)
        assert rows["Deploys run on Fridays only."].last_seen.startswith("2026-03-02")
        assert rows["Deploys run on Fridays only."].source_session == "s9"

    run(work)


def turn(prompt_id: str, prompt: str, day: int) -> dict[str, Any]:
    at = f"2026-03-{day:02}T10:00:00.000Z"
    return {"prompt_id": prompt_id, "session_id": "s9", "cwd": "", "branch": None, "prompt": prompt, "prompts": [prompt],
            "answer": "ok", "answers": [], "interrupted": False, "headless": False, "complete": True,
            "started_at": at, "ended_at": at}  # fmt: skip


def test_what_recalld_heard_itself_is_not_taken_again(run: Any) -> None:
    """But what the same session said before recalld was there is."""

    async def work(house: House) -> None:
        shop = str(house.home / "shop")
        await house.prompt("We use Redis for carts.", "live", "s9")
        await house.stop("live", session="s9")
        now = house.now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        late = turn("late", "Said while recalld listened.", 1) | {"started_at": now, "ended_at": now}
        said = [turn("p1", "Deploys run on Fridays only.", 1), turn("live", "We use Redis for carts.", 1), late]
        looked = await house.call("past-look", session_id="s9", cwd=shop, headless=False, turns=said)
        assert looked.new == ("p1",)
        await house.call("past", session_id="s9", cwd=shop, path="/x.jsonl", headless=False, turns=said)
        assert [pid for pid, _ in await house.turns()] == ["live", "p1"]

    run(work)


def test_recorded_transcripts_give_their_human_turns_only(home: Home) -> None:
    """No sub-agents, no copies that a fork made, nothing of the client's own."""
    put(home, "long-session")
    put(home, "human-answers")
    put(home, "subagent-a66b1", "agent-a66b1")
    nested = home.claude / "projects" / FOLDER / "long-session" / "subagents"
    nested.mkdir(parents=True)
    (nested / "x.jsonl").write_bytes(transcript("subagent-ab789"))
    assert home.json("import", "transcripts")["queued"] == 12
    before = len(turns(home))
    put(home, "forked")
    home.json("import", "transcripts")
    prompts = [row[0] for row in turns(home)]
    assert len(set(prompts)) == len(prompts) >= before


def test_what_does_not_belong_is_left_out_and_said_so(home: Home) -> None:
    """A folder that is gone, an excluded one, and what our own extraction asked."""
    say(home, "s1", ("We use Redis for carts.", "ok"), cwd=str(home.root / "gone"))
    say(home, "s2", ('{"memories":[],"turns":[]}', "{}"))
    (home.root / "private").mkdir()
    say(home, "s3", ("We use MySQL.", "ok"), cwd=str(home.root / "private"))
    home.recalld.mkdir(exist_ok=True)
    (home.recalld / "config.toml").write_text(f'[projects]\nexclude = ["{home.root}/private"]\n')
    done = home.json("import", "transcripts")
    assert (done["queued"], done["left_out"]) == (0, {"folder is gone": 1, "folder is excluded": 1})
    assert "left out: 1 turn (folder is gone)" in home.run("import", "transcripts").stdout


def test_one_file_or_folder_may_be_named(home: Home) -> None:
    say(home, "s1", ("We use Redis for carts.", "ok"))
    one = say(home, "s2", ("We use MySQL.", "ok"))
    assert home.json("import", "transcripts", str(one))["queued"] == 1
    assert home.json("import", "transcripts", str(one.parent))["queued"] == 1
    assert "nothing is there" in failed(home.run("import", "transcripts", str(one.parent / "none")))


def test_a_file_that_cannot_be_read_stops_nothing(home: Home) -> None:
    say(home, "s1", ("We use Redis for carts.", "ok"))
    (home.claude / "projects" / FOLDER / "s2.jsonl").mkdir()
    say(home, "s3").write_bytes(b"\xff\x00{broken\n")
    assert home.json("import", "transcripts")["queued"] == 1


def test_the_cost_is_told_before_and_no_is_no(home: Home) -> None:
    """By backend: the rules cost nothing, a key costs dollars."""
    say(
        home,
        "s1",
        *[(f"We decided that the cart service number {n} runs on port {8000 + n}.", "ok") for n in range(20)],
    )
    shown = on_terminal(home, "import", "transcripts", typed="n\n")
    assert "20 new turns" in shown
    assert "costs nothing" in shown
    assert "nothing was imported" in shown
    assert home.json("status")["jobs"]["ready"] == 0
    home.environ["ANTHROPIC_API_KEY"] = "sk-test"
    estimate = home.json("import", "transcripts", "--dry-run")["estimate"]
    assert estimate["backend"].startswith("anthropic ")
    assert estimate["calls"] == 3
    assert 5_000 < estimate["tokens"] < 40_000
    assert 0.001 < estimate["usd"] < 0.1
    assert estimate["days"] == 1


def test_the_past_waits_for_a_day_with_room_and_live_turns_come_first(run: Any) -> None:
    """It may use half of a day's caps; its rules part is done at once."""

    async def work(house: House) -> None:
        shop = str(house.home / "shop")
        (house.home / "config.toml").write_text('[extract]\nbackend = "anthropic"\n')
        call = usage.Call(backend="anthropic", model="claude-haiku-4-5", outcome="ok", cost_usd=0.3)
        await house.store.write(usage.record, call, house.now())
        said = [turn("p1", "We decided to use pnpm for everything here.", 1)]
        await house.call("past", session_id="s9", cwd=shop, path="/x.jsonl", headless=False, turns=said)
        await house.prompt("We use Redis for carts.", "live", "s1")
        await house.stop("live")
        later = datetime.now(UTC).replace(year=2030)
        (claimed,) = await house.store.write(jobs.claim_turns, "me", later, 8)
        assert claimed.key == "live"
        (claimed,) = await house.store.write(jobs.claim_turns, "me", later, 8)
        assert (claimed.key, claimed.payload) == ("p1", {"past": True})
        learner = Learner(house.store, house.service, {"ANTHROPIC_API_KEY": "sk-test"})
        await learner.learn([claimed], house.now())
        state, attempts, why = await house.store.read(
            lambda db: db.execute("select state, attempts, last_error from jobs where key = 'p1'").fetchone()
        )
        assert (state, attempts) == ("ready", 0)
        assert "the imported past waits" in why
        assert "pnpm" in " ".join(row.content for row in await house.call("list", cwd=shop))

    run(work)


def test_a_turn_that_is_not_over_is_left_to_a_later_run() -> None:
    half = TranscriptTurn(**turn("p1", "We use Redis.", 1) | {"complete": False, "answers": ()})
    assert not past.wanted(half)


@pytest.mark.parametrize("verb", ["past", "past-look", "past-offsets"])
def test_the_verbs_know_their_arguments(run: Any, verb: str) -> None:
    from recalld.errors import InputError

    async def work(house: House) -> None:
        with pytest.raises(InputError, match=verb):
            await house.call(verb, nonsense=1)

    run(work)
