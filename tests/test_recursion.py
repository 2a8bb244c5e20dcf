"""Claude Code that is started by what Claude Code started: one job, no session of it, no process left, and a breaker."""

from __future__ import annotations

import json
import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from claude_client import until
from conftest import Daemon, Home
from model_house import put_claude
from recalld.breaker import MAX_SESSIONS, Breaker
from test_daemon import HOOK, said, settled, take_turn
from test_learn import children
from test_past import say

# Like a client that ignores what it was told: its hooks run, it keeps a transcript, it never ends.
RUNAWAY = f"""#!{sys.executable} -IS
import json, os, subprocess, sys, time
asked, home = sys.stdin.read(), os.environ["CLAUDE_CONFIG_DIR"]
folder = os.path.join(home, "projects", "-tmp-x")
os.makedirs(folder, exist_ok=True)
path = os.path.join(folder, "child.jsonl")
record = dict(type="user", promptId="c1", uuid="u1", sessionId="child", promptSource="typed", origin=dict(kind="human"),
              cwd=os.getcwd(), timestamp="2026-03-01T10:00:00.000Z", message=dict(role="user", content=asked))
print(json.dumps(record), file=open(path, "w"))
ends = []
for event, name in (("session-start", "SessionStart"), ("prompt", "UserPromptSubmit"), ("stop", "Stop")):
    said = dict(hook_event_name=name, session_id="child", prompt_id="c1", prompt=asked, transcript_path=path,
                cwd=os.getcwd(), source="startup", last_assistant_message="We use Oracle.")
    done = subprocess.run([sys.executable, "-IS", @HOOK@, event, @SOCKET@], input=json.dumps(said).encode(),
                          capture_output=True)
    ends.append([done.returncode, done.stdout.decode(), done.stderr.decode()])
subprocess.Popen(["sleep", "3600"])
note = dict(ends=ends, disabled=os.environ.get("RECALLD_DISABLE"), pid=os.getpid())
print(json.dumps(note), file=open(os.path.join(home, "part"), "w"))
os.rename(os.path.join(home, "part"), os.path.join(home, "note"))
time.sleep(3600)
"""
# Answers, and leaves transcripts of what it was asked: of its own folder, and as if it had been asked in the project.
LEAVING = """
import os, uuid
folder = os.path.join(os.environ["CLAUDE_CONFIG_DIR"], "projects", "-tmp-x")
os.makedirs(folder, exist_ok=True)
for cwd in (os.getcwd(), os.path.join(os.path.dirname(os.environ["HOME"]), "work", "shop")):
    session = uuid.uuid4().hex
    common = dict(sessionId=session, cwd=cwd, timestamp="2026-03-01T10:00:00.000Z")
    with open(os.path.join(folder, session + ".jsonl"), "w") as file:
        print(json.dumps(dict(common, type="user", promptId=session, uuid=session, promptSource="typed",
                              origin=dict(kind="human"), message=dict(role="user", content=asked))), file=file)
        print(json.dumps(dict(common, type="assistant", uuid="a" + session, message=dict(
            id="m", stop_reason="end_turn", content=[dict(type="text", text="We use Oracle.")]))), file=file)
say(call=good)
"""


def start(home: Home, script: str) -> Daemon:
    """A daemon that asks this `claude`."""
    program = put_claude(home.root, script)
    (home.claude / ".credentials.json").write_text("{}")
    home.recalld.mkdir()
    (home.recalld / "config.toml").write_text('[extract]\nbackend = "claude"\n')
    return home.start_daemon(PATH=f"{program.parent}:{home.environ['PATH']}")


def rows(home: Home, query: str) -> list[Any]:
    with sqlite3.connect(home.paths.database) as db:
        found = db.execute(query).fetchall()
    db.close()
    return [row[0] for row in found]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_claude_that_runs_our_hooks_makes_no_job_of_its_own_and_ends_with_the_daemon(home: Home) -> None:
    """B01, B02: neither hooks nor transcript of the child are anybody's session."""
    script = RUNAWAY.replace("@HOOK@", repr(str(HOOK))).replace("@SOCKET@", repr(str(home.paths.socket)))
    daemon = start(home, script)
    take_turn(home, 1, "We decided to use pnpm for everything here.")
    until("the child has done all it does", (home.claude / "note").exists)
    note = json.loads((home.claude / "note").read_text())
    assert note["disabled"] == "1"
    assert note["ends"] == [[0, "", ""]] * 3
    assert home.client.call("status")["jobs"] == {"ready": 0, "running": 1, "done": 0, "dead": 0}
    assert rows(home, "select session_id from sessions") == ["s1"]
    daemon.stop()
    assert children(Path(home.environ["HOME"])) == []
    assert list(home.paths.spool.iterdir()) == []
    assert rows(home, "select key from jobs") == ["p1"]


def test_transcripts_that_our_own_questions_left_are_no_past(home: Home) -> None:
    """B03: the second import finds nothing new, and no session is made up."""
    daemon = start(home, LEAVING)
    for number in range(3):
        say(home, f"s{number}", (f"We decided that service s{number} listens on port {7000 + number}.", "ok"))
    assert home.json("import", "transcripts")["queued"] == 3
    until("the past is learnt", lambda: settled(home, 3))
    assert len(list((home.claude / "projects" / "-tmp-x").iterdir())) == 6
    again = home.json("import", "transcripts")
    assert (again["turns"], again["queued"]) == (0, 0)
    assert rows(home, "select session_id from sessions order by 1") == ["s0", "s1", "s2"]
    daemon.stop()


def end_turns(home: Home, sessions: range) -> None:
    """One Stop each of sessions that nobody prompted."""
    for number in sessions:
        payload = said(home, "stop", f"q{number}", f"loop{number}", last_assistant_message="ok")
        assert home.client.exchange(b"hook stop\n" + json.dumps(payload).encode()) == b"{}"


def test_fifty_sessions_that_nobody_prompted_trip_the_breaker(home: Home, daemon: Daemon) -> None:
    """B02: what is dropped is counted in status; a session with a prompt is served all the while."""
    end_turns(home, range(20))
    assert home.client.call("status")["runaway"] is None
    end_turns(home, range(20, 50))
    shown = home.client.call("status")["runaway"]
    assert shown.startswith("20 turns of sessions that nobody prompted were dropped")
    assert str(home.project) in shown
    assert "runaway" in home.run("status").stdout
    assert len(rows(home, "select session_id from sessions")) == MAX_SESSIONS
    take_turn(home, 1, "We decided to use pnpm for everything here.")
    assert rows(home, "select count(*) from jobs where key = 'p1'") == [1]


def test_twenty_sessions_at_work_never_trip_the_breaker(home: Home, daemon: Daemon) -> None:
    """They were at work when the daemon came up, and go on for some turns, all within a minute."""
    end_turns(home, range(20))
    for turn in range(5):
        for number in range(20):
            for event in ("prompt", "stop"):
                payload = said(home, event, f"p{turn}-{number}", f"loop{number}", prompt="thanks",
                               last_assistant_message="ok")  # fmt: skip
                home.client.exchange(f"hook {event}\n".encode() + json.dumps(payload).encode())
    assert home.client.call("status")["runaway"] is None
    assert len(rows(home, "select key from jobs")) == 120


def test_a_folder_is_open_again_once_the_storm_is_over() -> None:
    breaker, now = Breaker(), datetime(2026, 1, 1, tzinfo=UTC)
    assert all(breaker.admits("/shop", f"s{number}", now) for number in range(MAX_SESSIONS))
    later = now + timedelta(seconds=50)
    assert not any(breaker.admits("/shop", f"t{number}", later) for number in range(MAX_SESSIONS))
    assert breaker.admits("/elsewhere", "s", later)
    assert not breaker.admits("/shop", "u", now + timedelta(seconds=100))
    assert breaker.admits("/shop", "v", now + timedelta(seconds=200))
    assert breaker.dropped == MAX_SESSIONS + 1
