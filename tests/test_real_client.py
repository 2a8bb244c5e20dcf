"""The whole line on the real Claude Code client: what one session says, the next ones know; no other project does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_client import RECALLD, Person, program, until
from model_stub import ModelStub, Script

pytestmark = [
    pytest.mark.skipif(program() is None, reason="no Claude Code client: set RECALLD_TEST_CLAUDE"),
    pytest.mark.timeout(300),
]

QUESTION = {
    "questions": [
        {
            "question": "Which cache backend should the product list use?",
            "header": "Cache",
            "multiSelect": False,
            "options": [
                {"label": "Valkey with a 45 second TTL", "description": "shared by all workers"},
                {"label": "In process", "description": "no new service"},
            ],
        }
    ]
}
ENGLISH = "We decided to use PostgreSQL 16 for the orders database, never SQLite."
CHINESE = "决定：订单导出统一用 CSV 格式，不再用 Excel。"
INTERRUPTED = "From now on all money amounts are stored in integer cents."
SCRIPTS = (
    Script(match="orders database", reply="Understood."),
    Script(match="订单导出", reply="好的。"),
    Script(match="ask me about the cache", reply="I will set it up that way.", tool=("AskUserQuestion", QUESTION)),
    Script(match="integer cents", reply="word " * 400, delay_s=0.2),
)


@pytest.fixture(params=["rules", "anthropic"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model() -> Iterator[ModelStub]:
    with ModelStub(*SCRIPTS) as stub:
        yield stub


@pytest.fixture
def person(tmp_path: Path, model: ModelStub, backend: str) -> Iterator[Person]:
    someone = Person(tmp_path / "h", model.url)
    someone.configure(f'[extract]\nbackend = "{backend}"\nbase_url = "{model.url}"\n')
    someone.recalld("install", "--no-service")
    yield someone
    someone.recalld("stop")


def settled(person: Person) -> bool:
    jobs = person.data("status")["jobs"]
    return bool(jobs["ready"] + jobs["running"] == 0)


def sent(model: ModelStub, prompt: str) -> str:
    """The request in which the model was given this prompt."""
    requests = [seen.text for seen in model.conversations if prompt in seen.text]
    assert requests, f"the model never saw {prompt!r}"
    return requests[-1]


def test_what_a_session_says_the_next_ones_know_and_no_other_project_does(
    person: Person, model: ModelStub, backend: str
) -> None:
    shop = person.repository("work", "shop")
    other = person.repository("elsewhere", "shop")
    (shop / "packages" / "api").mkdir(parents=True)
    worktree = person.home / "work" / "shop-next"
    person.git("worktree", "add", "--quiet", str(worktree), "-b", "next", cwd=shop)
    person.trusts(shop, other)

    with person.terminal(shop) as terminal:
        terminal.type(ENGLISH)
        terminal.wait_for("Understood.")
        terminal.type(CHINESE)
        terminal.wait_for("好的。")
        terminal.type("ask me about the cache")
        terminal.wait_for("Valkey with a 45 second TTL")
        terminal.press("Enter")
        terminal.wait_for("I will set it up that way.")
        terminal.type(INTERRUPTED)
        terminal.wait_for("word word")
        terminal.press("Escape")
        terminal.wait_for("Interrupted")
        terminal.type("/exit")
        until("the client has ended", terminal.ended)
    until("all turns are worked off", lambda: settled(person))

    known = " ".join(memory["content"] for memory in person.data("list", cwd=shop))
    for word in ("PostgreSQL 16", "CSV", "Valkey", "cents"):
        assert word in known, person.recalld("list", cwd=shop)
    if backend == "anthropic":
        assert model.extractions, "the model backend was never asked"

    for number, folder in enumerate((shop, shop / "packages" / "api", worktree)):
        prompt = f"question {number}: which database do the orders use, and how is the export done?"
        person.claude(prompt, folder)
        for word in ("PostgreSQL 16", "CSV", "Valkey", "cents"):
            assert word in sent(model, prompt), (folder, word)
        assert "<recalld-memory" in sent(model, prompt)

    prompt = "which database do the orders use over here?"
    person.claude(prompt, other)
    assert not [word for word in ("PostgreSQL 16", "CSV", "Valkey", "cents") if word in sent(model, prompt)]

    # All of it was given at the start of the session, so the prompt was given none of it again.
    items = person.data("why", cwd=shop)["receipt"]["items"]
    assert {item["reason"] for item in items if "PostgreSQL" in json.dumps(item)} <= {"already in this session"}
    assert not [item for item in items if item["given"]]
    assert "PostgreSQL 16" in person.recalld("why", cwd=shop)


def test_a_session_is_given_a_memory_once(person: Person, model: ModelStub, backend: str) -> None:
    """And B52: `doctor` sees in the client's own transcript that it was taken."""
    if backend != "rules":
        pytest.skip("the backend has no part in this")
    shop = person.repository("work", "shop")
    person.recalld("add", "The orders database is PostgreSQL 16.", cwd=shop)
    person.claude("first: which database do the orders use?", shop)
    person.claude("second: which database do the orders use?", shop, "--continue")
    body = sent(model, "second: which database")
    assert body.count("The orders database is PostgreSQL 16.") == 1
    until("the turns are over", lambda: settled(person))
    done = subprocess.run([RECALLD, "doctor", "--json"], env=person.env, capture_output=True, text=True)
    (found,) = (check for check in json.loads(done.stdout) if check["check"] == "context")
    assert found["detail"] == "Claude Code took 1 of the last 1 injections"


@pytest.mark.parametrize("trouble", ["stopped", "hung", "killed"])
def test_without_a_daemon_that_answers_the_client_works_as_if_nothing_were_installed(
    person: Person, model: ModelStub, backend: str, trouble: str
) -> None:
    if backend != "rules":
        pytest.skip("the backend has no part in this")
    shop = person.repository("work", "shop")
    pid = int(person.data("status")["pid"])
    if trouble == "stopped":
        person.recalld("stop")
    else:
        os.kill(pid, signal.SIGSTOP if trouble == "hung" else signal.SIGKILL)
    try:
        assert "Done." in person.claude("hello there", shop)
        settings = json.loads((person.home / ".claude" / "settings.json").read_text())
        assert set(settings["hooks"]) == {"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"}
        transcripts = "".join(path.read_text() for path in (person.home / ".claude" / "projects").rglob("*.jsonl"))
        assert "hook_non_blocking_error" not in transcripts
        assert "hook_blocking_error" not in transcripts
    finally:
        if trouble == "hung":
            os.kill(pid, signal.SIGCONT)
    until("the turn has arrived", lambda: person.data("status")["jobs"]["done"] >= 1)
