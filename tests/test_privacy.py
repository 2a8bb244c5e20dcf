"""What the owner keeps from recalld stays unknown to it: own words and patterns, pauses, sessions without memory."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_client import until
from conftest import Home
from model_stub import ModelStub
from test_canaries import records
from test_daemon import hook, said, settled

OWN = """
[privacy]
words = ["Nordwind"]
patterns = ['CUST-\\d+']
mask_private_ips = true
mask_emails = true
"""
HIDDEN = ("nordwind", "cust-0815", "10.20.30.40", "ops@example.org")
SAID = "We decided that Nordwind gets CUST-0815 on 10.20.30.40 port 9100, mail ops@example.org."


def everything(home: Home) -> bytes:
    return b"".join(
        path.read_bytes() for path in home.recalld.rglob("*") if path.is_file() and path.suffix != ".toml"
    ).lower()


def test_own_words_patterns_addresses_are_masked_on_every_way(home: Home) -> None:
    """In a prompt, an answer, `add`, `edit` and a tag; in files, in what the model gets, and from the next line on
    where they are added while the daemon runs."""
    with ModelStub() as model:
        home.recalld.mkdir()
        backend = f'[extract]\nbackend = "anthropic"\nbase_url = "{model.url}"\n'
        (home.recalld / "config.toml").write_text(backend)
        running = home.start_daemon()
        (home.recalld / "config.toml").write_text(backend + OWN)
        hook(home, "prompt", said(home, "prompt", "p1", prompt=SAID))
        hook(home, "stop", said(home, "stop", "p1", last_assistant_message=SAID))
        until("it is learnt", lambda: settled(home, 1))
        added = home.json("add", SAID, "--tag", "customer:CUST-0815")["id"]
        home.json("edit", added, SAID + " Now.")
        home.run("backup")
        sent = json.dumps([request.body for request in model.requests]).lower()
        assert "port 9100" in sent
        kept = everything(home)
        running.stop()
    assert b"port 9100" in kept
    for hidden in HIDDEN:
        assert hidden not in sent
        assert hidden.encode() not in kept
        assert hidden.encode() not in everything(home)


def transcript(home: Home, *turns: tuple[str, datetime, str]) -> Path:
    """The session's transcript, each turn (prompt id, when, what) with an answer."""
    path = home.claude / "projects" / "-work-shop" / "s1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = b""
    for prompt_id, at, text in turns:
        made = records("s1", home.project, [{"id": prompt_id, "prompt": text, "answer": "Fine."}])
        lines += made.replace(b"2026-11-30T03:00:00.000Z", at.isoformat(timespec="milliseconds").encode())
    path.write_bytes(lines.replace(b'"u0"', b'"u-%d"' % len(turns)))
    return path


def test_what_was_said_in_a_pause_is_not_learnt_afterwards(home: Home) -> None:
    """Not by the hooks, not from the spool, and not from the transcript when the session goes on; pausing twice is one
    pause, and neither a restart nor `import transcripts` ends that."""
    running = home.start_daemon()
    first = datetime.now(UTC)
    path = transcript(home, ("p1", first, "We decided that the API listens on port 7001."))
    more = {"transcript_path": str(path)}
    hook(home, "prompt", said(home, "prompt", "p1", prompt="We decided that the API listens on port 7001.", **more))
    hook(home, "stop", said(home, "stop", "p1", last_assistant_message="Fine.", **more))
    home.json("pause")
    home.json("pause")
    secret = "We decided that the salary of the zebra keeper is 4711."
    paused = datetime.now(UTC)
    turns = [
        ("p1", first, "We decided that the API listens on port 7001."),
        ("p2", paused, secret),
        ("p3", paused, secret + " Really."),
    ]
    path = transcript(home, *turns)
    given = hook(home, "prompt", said(home, "prompt", "p2", prompt=secret, **more)).stdout
    hook(home, "stop", said(home, "stop", "p2", last_assistant_message="Fine: zebra.", **more))
    assert given == b""
    running.stop()
    hook(home, "prompt", said(home, "prompt", "p3", prompt=secret, **more))  # into the spool
    hook(home, "stop", said(home, "stop", "p3", last_assistant_message="Fine: zebra.", **more))
    assert len(list(home.paths.spool.iterdir())) == 2
    home.json("resume")
    running = home.start_daemon()
    until("the spool is empty", lambda: not list(home.paths.spool.iterdir()))
    transcript(home, *turns, ("p4", datetime.now(UTC), "We decided that the worker listens on port 7002."))
    hook(home, "prompt", said(home, "prompt", "p4", prompt="We decided that the worker listens on port 7002.", **more))
    hook(home, "stop", said(home, "stop", "p4", last_assistant_message="Fine.", **more))
    until("it is learnt", lambda: "7002" in home.run("list").stdout)
    unheard = path.with_name("s2.jsonl")
    unheard.write_bytes(transcript(home, *turns[1:]).read_bytes().replace(b'"s1"', b'"s2"').replace(b'"p', b'"q'))
    for file in (path, unheard):
        home.run("import", "transcripts", str(file), "--yes")
    hook(home, "session-end", {**said(home, "stop", "p4", reason="other", **more), "hook_event_name": "SessionEnd"})
    until("all is quiet", lambda: home.client.call("status")["jobs"]["ready"] == 0)
    assert "7001" in home.run("list").stdout
    running.stop()
    assert b"zebra" not in everything(home)


def test_a_session_without_memory_leaves_nothing(home: Home) -> None:
    """`RECALLD_DISABLE=1 claude`: no hook says or stores anything, the watcher does not know the session, and what it
    wrote is not taken up when another session speaks."""
    running = home.start_daemon()
    home.json("add", "The orders database is PostgreSQL 16.", "--pin")
    secret = "We decided that the zebra keeper gets port 4711."
    path = transcript(home, ("p1", datetime.now(UTC), secret))
    more = {"transcript_path": str(path)}
    for event, fields in (
        ("session-start", {"source": "startup"}), ("prompt", {"prompt": secret}), ("stop", {"last_assistant_message": "zebra"}),
    ):  # fmt: skip
        done = hook(home, event, said(home, event, "p1", **fields, **more), RECALLD_DISABLE="1")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    hook(home, "prompt", said(home, "prompt", "p9", "s9", prompt="We decided that the API listens on port 7001."))
    hook(home, "stop", said(home, "stop", "p9", "s9", last_assistant_message="ok"))
    until("the other is learnt", lambda: settled(home, 1))
    running.stop()
    assert b"zebra" not in everything(home)


@pytest.mark.parametrize(
    "settings", ['words = [""]', 'patterns = [""]', 'patterns = ["x*"]', 'words = ["a"]', 'patterns = [".*"]']
)
def test_settings_that_match_nothing_or_all_do_no_harm(home: Home, settings: str) -> None:
    home.recalld.mkdir()
    (home.recalld / "config.toml").write_text(f"[privacy]\n{settings}\n")
    assert home.run("add", "We use pnpm in the shop.").returncode in (0, 1)
    assert home.run("list").returncode == 0
