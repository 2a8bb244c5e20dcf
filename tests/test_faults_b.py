"""Faults that others met, each as its whole kind, where no other test file is the place for it."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from claude_client import until
from conftest import Daemon, Home, command
from model_house import known, queue, say, wait
from recalld import calling, maintain, query
from recalld.config import KeepConfig
from recalld.install import assets, settings
from recalld.install.running import holder
from recalld.store import jobs, turns, usage
from test_daemon import hook, said, settled, take_turn
from test_events import House, run
from test_hook import EVENTS, Hook, serving
from test_project import git, repository
from test_recursion import start

__all__ = ["run"]


def sql(home: Home, statement: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(home.paths.database) as db:
        found = db.execute(statement).fetchall()
    db.close()
    return found


def notice(home: Home, session: str) -> str:
    """The line that the user is shown at the start of a session."""
    done = hook(home, "session-start", said(home, "session-start", "", session, source="startup"))
    return str(json.loads(done.stdout or b"{}").get("systemMessage", ""))


def records(path: Path, *written: dict[str, Any], session: str = "s1", cwd: str = "/") -> None:
    """Add to a transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    common = {"sessionId": session, "cwd": cwd, "isSidechain": False, "entrypoint": "cli"}
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(common | record, ensure_ascii=False) + "\n" for record in written)


@contextmanager
def zone(name: str) -> Iterator[None]:
    """This process lives in that time zone."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


# What cannot be stored ------------------------------------------------------------------------------------------------


def test_turns_that_cannot_be_queued_wait_in_the_spool_and_are_told_of(home: Home) -> None:
    """B73: each Stop is spooled, status and the next session count them, also after a restart; mended, all are learnt."""
    running = home.start_daemon()
    sql(home, "create trigger no before insert on jobs begin select raise(abort, 'no such luck'); end")
    for number in range(3):
        take_turn(home, number, f"We decided that service {'abc'[number]}{number} listens on port {7000 + number}.")
    kept = [file.read_bytes() for file in home.paths.spool.glob("*.hook")]
    assert sum(request.startswith(b"hook stop ") for request in kept) == 3
    assert str(home.client.call("status")["trouble"]).startswith("3 turns could not be stored (StoreError: ")
    assert "3 turns could not be stored" in home.run("status").stdout
    assert "3 turns could not be stored" in home.run("doctor").stdout.replace("\n", " ")
    assert "3 turns could not be stored" in notice(home, "s2")
    running.stop()
    running = home.start_daemon()
    until("the new daemon knows as well", lambda: home.client.call("status")["trouble"])
    assert "3 turns could not be stored" in notice(home, "s3")
    sql(home, "drop trigger no")
    until("all are learnt", lambda: settled(home, 3))
    assert home.client.call("status")["trouble"] is None
    assert "could not" not in notice(home, "s4")
    assert list(home.paths.spool.glob("*.hook")) == []
    running.stop()


def test_a_column_that_is_gone_costs_no_turn(home: Home) -> None:
    """B73: the turns wait in the spool until the next start, which completes the schema and says so."""
    running = home.start_daemon()
    sql(home, "alter table jobs drop column payload")
    take_turn(home, 1, "We decided to use pnpm for everything here.")
    assert "1 turn could not be stored" in str(home.client.call("status")["trouble"])
    running.stop()
    running = home.start_daemon()
    assert "jobs.payload" in str(home.client.call("status")["rescued"])
    until("the turn is learnt", lambda: settled(home, 1))
    running.stop()


def test_a_session_start_that_fails_tells_of_the_turns_that_failed(home: Home, daemon: Daemon) -> None:
    """B73: also where nothing at all can be stored."""
    sql(home, "alter table sessions rename to gone")
    take_turn(home, 1, "We decided to use pnpm for everything here.")
    assert "1 turn could not be stored" in notice(home, "s2")
    sql(home, "alter table gone rename to sessions")
    until("the turn is learnt", lambda: settled(home, 1))


# Whether it reaches the model -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", [True, False])
def test_doctor_tells_whether_claude_code_takes_what_it_is_given(home: Home, daemon: Daemon, taken: bool) -> None:
    """B52: an answer in a shape that the client does not know is printed, exits with 0, and reaches no model."""
    home.json("add", "The orders database is PostgreSQL 16.")
    for number in range(20):  # on a busy machine a hook is late, and what was chosen is not given to that session again
        path = home.claude / "projects" / "-shop" / f"s{number}.jsonl"
        more = {"session": f"s{number}", "transcript_path": str(path)}
        payload = said(home, "prompt", f"p{number}", prompt="which database do the orders use?", **more)
        if printed := hook(home, "prompt", payload).stdout:
            break
    reply = json.loads(printed)
    block = reply["hookSpecificOutput"]["additionalContext"]
    shown = {"type": "hook_success", "hookEvent": "UserPromptSubmit", "stdout": json.dumps(reply), "exitCode": 0}
    records(path, {"type": "attachment", "attachment": shown})
    if taken:
        context = {"type": "hook_additional_context", "content": [block], "hookName": "UserPromptSubmit"}
        records(path, {"type": "attachment", "attachment": context})

    def context_check() -> dict[str, Any]:
        return next(check for check in json.loads(home.run("doctor", "--json").stdout) if check["check"] == "context")

    assert context_check()["detail"].startswith("no session"), (
        "the turn is not over: the transcript need not show it yet"
    )
    hook(home, "stop", said(home, "stop", f"p{number}", f"s{number}", last_assistant_message="PostgreSQL."))
    found = context_check()
    assert found["ok"] is taken
    assert ("took 1 of the last 1" if taken else "none of the last 1") in found["detail"]


# Transcripts ----------------------------------------------------------------------------------------------------------


def test_the_answer_that_is_written_after_the_stop_is_the_one_that_is_learnt_from(run: Any, tmp_path: Path) -> None:
    """B60: also where the Stop does not bring it; half a line is waited out, and the hook waits for nothing."""

    async def work(house: House) -> None:
        path, shop = tmp_path / "s1.jsonl", str(house.home / "shop")
        asked = "which database do the orders use? remember it"
        prompt = {"type": "user", "promptId": "p1", "uuid": "u1", "promptSource": "typed", "origin": {"kind": "human"},
                  "message": {"role": "user", "content": asked}}  # fmt: skip
        on_the_way = {"id": "m1", "stop_reason": "tool_use", "content": [{"type": "text", "text": "I look."}]}
        final = {"id": "m2", "stop_reason": "end_turn", "content": [{"type": "text", "text": "It is PostgreSQL 16."}]}
        await house.prompt(asked, "p1", transcript_path=str(path))
        records(path, prompt, {"type": "assistant", "uuid": "a1", "message": on_the_way}, cwd=shop)
        await house.stop("p1", "")
        await wait(house, 1.5)
        assert await queue(house) == {"p1": ("ready", 0)}
        before = path.read_bytes()
        records(path, {"type": "assistant", "uuid": "a2", "message": final}, cwd=shop)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(before) + 60])
        session = await house.store.read(turns.session, "s1")
        await house.worker._learner.read_transcript(session, house.now())
        path.write_bytes(whole)
        await wait(house, 4)
        assert await queue(house) == {"p1": ("done", 1)}
        (stored,) = await house.store.read(turns.load, ["p1"])
        assert (stored.turn.answer, stored.turn.interrupted) == ("It is PostgreSQL 16.", False)
        session = await house.store.read(turns.session, "s1")
        assert session is not None
        assert session.transcript_offset <= len(whole)

    run(work)


def peak_mib(pid: int) -> float:
    """The most memory that a process ever held."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) / 1024


def asked_and_answered(number: int, prompt: str, answer: str, at: str, result: str = "") -> list[dict[str, Any]]:
    """A turn as a transcript has it. result: of a tool, in between."""
    human = {"promptSource": "typed", "origin": {"kind": "human"}, "timestamp": at}
    made = [{"type": "tool_result", "tool_use_id": "t", "content": result}]
    said = [{"type": "text", "text": answer}]
    return [
        {"type": "user", "promptId": f"p{number}", "uuid": f"u{number}", "message": {"content": prompt}, **human},
        {"type": "user", "promptId": f"p{number}", "uuid": f"t{number}", "message": {"content": made}},
        {"type": "assistant", "uuid": f"a{number}",
         "message": {"id": f"m{number}", "stop_reason": "end_turn", "content": said}},
    ]  # fmt: skip


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_huge_transcript_of_many_turns_takes_little_memory(home: Home) -> None:
    """B62: 250 MB with a line of 80 MB, met for the first time at a Stop: its turn is captured, the daemon stays small."""
    path = home.claude / "projects" / "-shop" / "s1.jsonl"
    for number in range(1200):
        records(
            path, *asked_and_answered(number, "please " * 6000, "yes " * 15000, "2020-01-01T00:00:00Z", "z" * 40_000)
        )
    records(path, *asked_and_answered(5000, "x", "y", "2020-01-01T00:00:00Z", "z" * 80_000_000))
    assert path.stat().st_size > 240e6
    running = home.start_daemon()
    until("the model is loaded", lambda: home.client.call("status")["model"]["state"] == "ready")
    before = peak_mib(running.pid)
    records(path, *asked_and_answered(9999, "We decided to use pnpm.", "Noted, the last word.", "2999-01-01T00:00:00Z"))
    hook(home, "prompt", said(home, "prompt", "p9999", prompt="We decided to use pnpm.", transcript_path=str(path)))
    hook(home, "stop", said(home, "stop", "p9999", transcript_path=str(path)))
    until("the turn is learnt", lambda: settled(home, 1))
    assert sql(home, "select prompt_id, answer from turns") == [("p9999", "Noted, the last word.")]
    assert peak_mib(running.pid) - before < 100
    running.stop()


# Places ---------------------------------------------------------------------------------------------------------------


def test_what_is_said_of_a_project_where_none_is_waits_for_a_person(run: Any) -> None:
    """B46: in $HOME no junk project is made, and no repository below is told what was said there of some project."""

    async def work(house: House) -> None:
        home, repository = str(house.home), house.home / "code" / "api"
        (repository / ".git").mkdir(parents=True)
        (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        for number, words in enumerate(
            (
                "We decided that the gateway listens on port 9443.",
                "In every project I want tests to run before a commit.",
            )
        ):
            await house.prompt(words, f"p{number}", "s0", cwd=home)
            await house.send({"hook_event_name": "Stop", "session_id": "s0", "cwd": home, "prompt_id": f"p{number}"})
        await house.prompt("thanks", "p8", "s1", cwd="/")
        await house.prompt("thanks", "p9", "s2", cwd=str(house.home / "gone"))
        await house.learn()
        assert await house.store.read(lambda db: db.execute("select count(*) from projects").get) == 0
        stored = {row.content: (row.scope, row.status) for row in await house.call("list", project="all", status="all")}
        assert [pair for content, pair in stored.items() if "9443" in content] == [("user", "pending")]
        assert [pair for content, pair in stored.items() if "tests" in content] == [("user", "active")]
        assert "9443" not in await house.prompt(
            "which port does the gateway listen on?", "q1", "s3", cwd=str(repository)
        )
        assert "recalld-memory" not in await house.prompt("so, which port is it?", "q2", "s3", cwd=str(repository))

    run(work)


def test_worktrees_share_one_memory_and_each_says_where_it_was_said(run: Any) -> None:
    """B41: branch and worktree are noted, one that names itself is apart, and nothing goes with a worktree."""

    async def work(house: House) -> None:
        top = repository(house.home / "real")
        git(top, "worktree", "add", "-q", "-b", "one", ".claude/worktrees/one")
        git(top, "worktree", "add", "-q", "-b", "two", "../two")
        places = (top, top / ".claude/worktrees/one", house.home / "two")
        for number, place in enumerate(places):
            said = f"We decided that service {'abc'[number]} listens on port {7000 + number}."
            await house.prompt(said, f"p{number}", f"s{number}", cwd=str(place))
            await house.send(
                {"hook_event_name": "Stop", "session_id": f"s{number}", "cwd": str(place), "prompt_id": f"p{number}"}
            )
        await house.learn()
        (places[2] / ".recalld.toml").write_text('project = "experiment"')
        assert await house.call("list", cwd=str(places[2])) == []
        git(top, "worktree", "remove", "--force", str(places[1]))
        known = await house.call("list", cwd=str(top))
        assert sorted((row.branch, row.worktree) for row in known) == [("main", None), ("one", "one"), ("two", "two")]

    run(work)


@pytest.mark.parametrize(
    ("content", "query"),
    [("部署前先跑数据库迁移", "迁移"), ("テストは並列で実行しない", "並列"), ("先执行build-core再发布", "build-core"),
     ("배포 전에 데이터베이스를 백업한다", "데이터베이스"), ("결제는 pay-core를 쓴다", "pay-core")],
)  # fmt: skip
@pytest.mark.parametrize("vectors", [True, False])
def test_questions_without_blanks_between_words_are_answered(run: Any, content: str, query: str, vectors: bool) -> None:
    """B37: by the search that everybody uses, also where a name stands amid Chinese, Japanese or Korean."""

    async def work(house: House) -> None:
        house.store.vectors = house.store.vectors if vectors else None
        for other in ("数据要备份", "テストを書く", "로그를 남긴다", "never store secrets", content):
            await house.add(other)
        found = await house.call("search", query=query, cwd=str(house.home / "shop"))
        assert found[0].memory.content == content

    run(work)


# Hooks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_stop_waits_for_no_model_and_no_queue(home: Home) -> None:
    """B47: with a model that never answers and 100 turns before it, every Stop is taken at once: none is spooled."""
    running = start(home, "#!/bin/sh\nexec sleep 3600\n")
    for number in range(100):
        for event in ("prompt", "stop"):
            payload = said(
                home, event, f"q{number}", f"s{number % 5}", prompt=f"We run shop number {number} on ln-{number}."
            )
            home.client.exchange(f"hook {event} entrypoint=cli\n".encode() + json.dumps(payload).encode())
    until("the model is asked", lambda: home.client.call("status")["jobs"]["running"])
    for number in range(50):
        take_turn(home, number, f"We decided that service number {number} listens on port {7000 + number}.")
    assert list(home.paths.spool.iterdir()) == []
    left = home.client.call("status")["jobs"]
    assert left["ready"] + left["running"] == 150
    running.stop()


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="needs /proc")
@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_has_handed_over_before_it_costs_50_ms_of_a_processor(tmp_path: Path, event: str) -> None:
    """B49: so with a tenth of one it needs less than the half second after which the client may kill it."""
    used: list[int] = []

    def serve(peer: socket.socket) -> None:
        (pid,) = struct.unpack_from("i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        while peer.recv(1 << 16):
            pass
        used.append(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]))
        peer.sendall(b"{}")

    hook = Hook(tmp_path)
    with serving(hook.socket, serve):
        for _ in range(5):
            hook(event, str(hook.socket))
    assert min(used) < 50e6
    hook.socket.unlink()
    if event in ("prompt", "stop"):  # with nobody there, the spool file is the handover
        before = os.times()
        for number in range(5):
            hook(event, str(hook.socket))
            assert len(hook.spooled()) == number + 1
        after = os.times()
        assert (after.children_user + after.children_system - before.children_user - before.children_system) / 5 < 0.05


def test_what_a_hook_has_handed_over_is_kept_though_the_hook_is_killed(home: Home, daemon: Daemon) -> None:
    """B49: nobody is left to take the answer."""
    for event in ("prompt", "stop"):
        payload = said(
            home, event, "p1", prompt="We decided to use pnpm for everything here.", last_assistant_message="ok"
        )
        with calling.connected(home.paths.socket, 5) as peer:
            peer.sendall(f"hook {event} entrypoint=cli\n".encode() + json.dumps(payload).encode())
    until("the turn is learnt", lambda: settled(home, 1))
    assert sql(home, "select prompt, answer from turns") == [("We decided to use pnpm for everything here.", "ok")]


def test_whatever_prints_the_hook_prints_one_object(home: Home) -> None:
    """B50: libraries, warnings and a daemon that starts meanwhile share no output with it."""
    home.json("add", "Never force-push to main.", "--pin")
    noise = home.root / "noise"
    noise.mkdir()
    (noise / "sitecustomize.py").write_text("import sys; print('noise'); print('noise', file=sys.stderr)\n")
    environ = {**home.environ, "PYTHONPATH": f"{noise}:{home.environ['PYTHONPATH']}", "PYTHONWARNINGS": "default"}
    entries = settings.entries(assets.interpreter(), assets.hook_script(), home.paths.socket, command("run"))
    spoken = []
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        payload = {"hook_event_name": event, "session_id": "s1", "cwd": str(home.project), "source": "startup",
                   "prompt_id": "p1", "prompt": "may I force-push to main?", "last_assistant_message": "No."}  # fmt: skip
        words = [str(entries[event]["command"]), *entries[event]["args"]]  # type: ignore[misc]
        done = subprocess.run(words, input=json.dumps(payload).encode(), env=environ, capture_output=True, timeout=20)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == b"" or isinstance(json.loads(done.stdout), dict)
        spoken.append(bool(done.stdout))
        until("the daemon serves", lambda: holder(home.paths))
    assert spoken[2:] == [False, False]


def test_another_locale_spoils_no_letter(home: Home) -> None:
    """B65: hooks, daemon and transcripts agree on UTF-8 whatever the locale says; bytes that are none are replaced."""
    bare = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "cp932"}
    running = home.start_daemon(**bare)
    text = "テストは並列で実行しない 🎉 订单 naïve"
    path = home.claude / "projects" / "-shop" / "s1.jsonl"
    records(path, *asked_and_answered(1, text, f"はい、{text}", "2999-01-01T00:00:00Z"))
    hook(home, "prompt", said(home, "prompt", "p1", prompt=text, transcript_path=str(path)), **bare)
    hook(home, "stop", said(home, "stop", "p1", transcript_path=str(path)), **bare)
    raw = (
        json.dumps(said(home, "prompt", "p2", "s2", prompt="HERE"), ensure_ascii=False)
        .encode()
        .replace(b"HERE", b"a\xffb")
    )
    hook(home, "prompt", raw, **bare)
    hook(home, "stop", said(home, "stop", "p2", "s2", last_assistant_message=text), **bare)
    until("both turns are learnt", lambda: settled(home, 2))
    assert sql(home, "select prompt, answer from turns order by turn_id") == [
        (text, f"はい、{text}"),
        ("a\ufffdb", text),
    ]
    running.stop()


def test_a_service_runs_with_next_to_nothing_in_its_environment(home: Home) -> None:
    """B57: no PATH to speak of, no locale, none of our variables but its own: modules and `claude` are found."""
    user = Path(home.environ["HOME"])
    program = user / ".local" / "bin" / "claude"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (user / ".claude" / ".credentials.json").write_text("{}")
    own = (f"HOME={user}", "PATH=/usr/bin:/bin", f"RECALLD_HOME={home.recalld}", f"NOTIFY_SOCKET={home.root / 'ready'}")
    running = home.start_daemon("/usr/bin/env", "-i", *own)
    assert home.client.call("status")["backend_reason"] == f"claude: {program}"
    take_turn(home, 1, "thanks")
    until("it works", lambda: settled(home, 1))
    running.stop()


@pytest.mark.parametrize("found_by", ["watcher", "idle sweep", "next prompt"])
def test_a_turn_without_a_stop_is_captured_once_as_interrupted(run: Any, tmp_path: Path, found_by: str) -> None:
    """B59: the client was killed, or the person pressed Escape, in the middle of the answer."""

    async def work(house: House) -> None:
        path, shop = tmp_path / "s1.jsonl", str(house.home / "shop")
        asked = "We decided to use pnpm for everything here."
        await house.prompt(asked, "p1", transcript_path=str(path))
        prompt, _, answer = asked_and_answered(1, asked, "I look", house.now().isoformat())
        answer["message"]["stop_reason"] = "tool_use"
        records(path, prompt, answer, cwd=shop)
        if found_by == "watcher":
            interrupted = {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}
            records(path, {"type": "user", "uuid": "i1", "message": interrupted}, cwd=shop)
            await house.worker.quiet(path)
        elif found_by == "next prompt":
            await house.prompt("thanks", "p2", transcript_path=str(path))
            await house.stop("p2")
        else:
            os.utime(path, (0, 0))
            house.ahead += timedelta(hours=2)
            await house.worker.step()
        await house.learn()
        await house.worker.quiet(path)
        await house.learn()
        states = await house.store.read(lambda db: dict(db.execute("select prompt_id, state from turns").fetchall()))
        assert states.pop("p1") == "interrupted"
        assert states == ({"p2": "ended"} if found_by == "next prompt" else {})
        assert (await queue(house))["p1"] == ("done", 1)
        assert "pnpm" in " ".join(await known(house))

    run(work)


@pytest.mark.parametrize("way", ["fork", "resume", "compact"])
def test_a_history_that_is_copied_is_learnt_from_once(run: Any, tmp_path: Path, way: str) -> None:
    """B69: a fork takes all that was said along under a new id; only what is said there since is new."""

    async def work(house: House) -> None:
        shop, before = str(house.home / "shop"), tmp_path / "a.jsonl"
        after, session = (tmp_path / "b.jsonl", "b") if way == "fork" else (before, "a")

        async def turn(number: int, session: str, path: Path) -> None:
            said = f"We decided that service {chr(97 + number)} listens on port {7000 + number}."
            await house.prompt(said, f"p{number}", session, transcript_path=str(path))
            records(path, *asked_and_answered(number, said, "ok", house.now().isoformat()), session=session, cwd=shop)
            await house.stop(f"p{number}", "ok", session)

        for number in range(20):
            await turn(number, "a", before)
        await house.learn()
        copied = before.read_text()
        if way == "fork":
            after.write_text(copied.replace('"sessionId": "a"', '"sessionId": "b"'))
        elif way == "resume":
            after.write_text(copied + copied)
        await house.send({"hook_event_name": "SessionStart", "session_id": session, "cwd": shop,
                          "source": "compact" if way == "compact" else "resume", "transcript_path": str(after)})  # fmt: skip
        for number in (20, 21):
            await turn(number, session, after)
        await house.worker.quiet(after)
        await house.learn()
        assert await queue(house) == {f"p{number}": ("done", 1) for number in range(22)}
        assert len(await known(house)) == 22

    run(work)


def test_a_fork_of_a_client_that_gives_no_ids_is_learnt_from_once(run: Any, tmp_path: Path) -> None:
    """B69: forked at once, so that its turns are no older than its session."""

    async def work(house: House) -> None:
        shop, before, after = str(house.home / "shop"), tmp_path / "a.jsonl", tmp_path / "b.jsonl"

        async def turn(number: int, session: str, path: Path) -> None:
            words = f"We decided that service {chr(97 + number)} listens on port {7000 + number}."
            common = {"session_id": session, "cwd": shop, "transcript_path": str(path)}
            await house.send({"hook_event_name": "UserPromptSubmit", "prompt": words, **common})
            written = asked_and_answered(number, words, "ok", house.now().isoformat())
            for record in written:
                record.pop("promptId", None)
            records(path, *written, session=session, cwd=shop)
            await house.send({"hook_event_name": "Stop", "last_assistant_message": "ok", **common})

        for number in range(3):
            await turn(number, "a", before)
        after.write_text(before.read_text().replace('"sessionId": "a"', '"sessionId": "b"'))
        await turn(3, "b", after)
        await house.learn()
        await house.worker.quiet(after)
        await house.learn()
        assert len(await queue(house)) == 4
        assert len(await known(house)) == 4

    run(work)


# What is over, and when -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["delete", "sqlite3", "undo", "reject", "purge"])
def test_what_was_deleted_comes_up_nowhere(run: Any, way: str) -> None:
    """B79: whoever deletes it, and however, no index, list, export, prompt or file has it any more."""

    async def work(house: House) -> None:
        shop = str(house.home / "shop")
        await house.add("The cache of the orders service is Redis.", scope="user")
        await house.prompt("We decided that the vault is called marmalade.", "p1")
        await house.stop("p1", "Noted.")
        await house.learn()
        (memory,) = [row for row in await house.call("list", cwd=shop) if "marmalade" in row.content]
        if way != "undo":
            await house.call("edit", id=memory.id, text="The vault of the orders is called marmalade.")
        assert "marmalade" in await house.prompt("what is the vault called?", "p2", "s2")
        if way == "sqlite3":
            with sqlite3.connect(house.home / "memories.db") as db:
                db.execute("delete from memories where id = ?", (memory.id,))
            db.close()
        elif way == "undo":
            await house.call("undo")
        elif way == "reject":
            await house.store.write(
                lambda db: db.execute("update memories set status = 'pending' where id = ?", (memory.id,))
            )
            await house.call("reject", ids=[memory.id])
        elif way == "purge":
            await house.call("projects-change", action="purge", project="shop", cwd=shop)
        else:
            await house.call("delete", ids=[memory.id])
        asked = {"query": "what is the vault called? marmalade", "project": "all"}
        found = [*await house.call("search", **asked), *await house.call("search", **asked, status="all")]
        assert "marmalade" not in str(found)
        assert "marmalade" not in str(await house.call("list", project="all", status="all"))
        assert "marmalade" not in str(await house.call("export"))
        assert "marmalade" not in await house.prompt("what is the vault called?", "p4", "s4")
        assert await house.store.mend(maintain.repair) == ()
        await house.store.outside(maintain.shrink)
        assert b"marmalade" not in b"".join(path.read_bytes() for path in house.home.glob("memories.db*")).lower()

    run(work)


@pytest.mark.parametrize("zone_name", ["UTC", "Asia/Tokyo", "America/St_Johns", "Europe/Berlin"])
def test_yesterday_is_the_day_before_in_the_owners_zone(zone_name: str) -> None:
    """B93: from midnight to midnight there, also where the clock is changed that night."""
    local = ZoneInfo(zone_name)
    with zone(zone_name):
        for now in (
            "2026-03-04T01:30:00",
            "2026-03-29T12:00:00",
            "2026-03-30T00:30:00",
            "2026-10-26T09:00:00",
            "2026-11-02T01:00:00",
        ):
            at = datetime.fromisoformat(now).replace(tzinfo=local)
            midnight = at.replace(hour=0, minute=0)
            before = (midnight.replace(tzinfo=None) - timedelta(days=1)).replace(tzinfo=local)
            asked = query.build("what did we do yesterday", "", at.astimezone(UTC))
            assert asked.since is not None
            assert asked.until is not None
            assert (asked.since.tzinfo, asked.until.tzinfo) == (UTC, UTC)
            assert (asked.since, asked.until) == (before.astimezone(UTC), midnight.astimezone(UTC))


def test_a_date_is_of_the_zone_it_is_typed_in_and_what_is_stored_is_utc(home: Home, daemon: Daemon) -> None:
    """B93: the daemon lives in UTC, its owner does not; another zone reads the same."""
    assert home.run("add", "The shop sells tea.", TZ="Asia/Tokyo").returncode == 0
    (stored,) = sql(home, "select created_at from memories")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stored[0])
    said_at = "2026-01-31T20:00:00.000Z"  # the first of February in Tokyo
    sql(home, f"update memories set last_seen = '{said_at}'")
    for name, day_before, day_after in (
        ("Asia/Tokyo", "2026-02-01", "2026-02-02"),
        ("America/St_Johns", "2026-01-31", "2026-02-01"),
    ):
        for since, end, expected in (
            (day_before, day_after, 1),
            (day_after, "2026-03-01", 0),
            ("2026-01-01", day_before, 0),
        ):
            done = home.run("search", "tea", "--since", since, "--until", end, "--json", TZ=name)
            assert len(json.loads(done.stdout)) == expected, (name, since, end, done.stderr)
    rows = [home.run("list", "--json", TZ=name).stdout for name in ("Asia/Tokyo", "America/St_Johns", "UTC")]
    assert len(set(rows)) == 1


def test_what_a_wrong_clock_has_dated_in_the_future_ends_like_the_rest(run: Any) -> None:
    """B94: once the clock is right, the upkeep counts from then, and today's allowance is not used up for years."""

    async def work(house: House) -> None:
        house.ahead = timedelta(days=3000)
        await say(house, "We decided to use pnpm for everything here.", "p1")
        await house.add("The cache of the orders service might be Redis.")
        await house.learn()
        call = usage.Call(backend="anthropic", model="m", outcome="ok", input_tokens=1)
        await house.store.write(usage.record, call, house.now(), None, None)
        house.ahead = timedelta()
        await house.store.write(
            lambda db: db.execute("update memories set confidence = 0.5 where content like '%Redis%'")
        )
        keep = KeepConfig()
        await house.store.act("maintain", None, False, maintain.tidy, house.now(), keep)
        house.ahead = timedelta(days=100)
        done = await house.store.act("maintain", None, False, maintain.tidy, house.now(), keep)
        assert ["Redis" in row.content for row in done.archived] == [True]
        assert (done.turns, done.receipts, done.jobs) == (1, 1, 1)
        assert (await house.store.read(usage.spent, usage.day_start(house.now()))).calls == 0

    run(work)


@pytest.mark.parametrize(
    "overturned",
    ["Drop Sidekiq, use Oban for background jobs.", "let's drop Sidekiq and use Oban instead for background jobs",
     "We drop Sidekiq for background jobs, we use Oban instead.", "We dropped Sidekiq; background jobs run on Oban."],
)  # fmt: skip
def test_an_overturned_decision_stays_overturned(run: Any, overturned: str) -> None:
    """B98: also where the turn that made it is extracted once more, after the one that dropped it."""

    async def work(house: House) -> None:
        shop, asked = str(house.home / "shop"), "what do we use for background jobs?"
        old = "We use Sidekiq for background jobs."
        await say(house, old, "p5", "s1")
        await house.learn()
        await say(house, "thanks", "p6", "s1")
        await say(house, overturned, "p40", "s1")
        await house.learn()
        for again in (False, True):
            if again:
                await house.store.write(jobs.again, "extract", "p5", house.now())
                await house.learn()
                assert (await queue(house))["p5"] == ("done", 1)
            found = await house.call("search", query=asked, cwd=shop)
            assert "Oban" in found[0].memory.content
            assert old not in [item.memory.content for item in found]
            status = {row.content: row.status for row in await house.call("list", cwd=shop, status="all")}
            assert (status.pop(old), set(status.values())) == ("superseded", {"active"})
            assert old not in await house.prompt(asked, f"q{again}", f"t{again}")

    run(work)
