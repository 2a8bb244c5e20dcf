"""The real Claude Code with `--mcp-config`: its model calls recalld's tools, and what they answer reaches it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_client import RECALLD, Person, program
from model_stub import ModelStub, Script

pytestmark = [
    pytest.mark.skipif(program() is None, reason="no Claude Code client: set RECALLD_TEST_CLAUDE"),
    pytest.mark.timeout(300),
]
FACT = "The orders database is PostgreSQL 16."
SCRIPTS = (
    Script(
        match="store the mailer",
        tool=("mcp__recalld__mem_write", {"content": "The mailer is Postfix 3."}),
        reply="Stored.",
    ),
    Script(
        match="look the database up", tool=("mcp__recalld__mem_search", {"query": "which database?"}), reply="Found."
    ),
)


@pytest.fixture
def model() -> Iterator[ModelStub]:
    with ModelStub(*SCRIPTS) as stub:
        yield stub


@pytest.fixture
def person(tmp_path: Path, model: ModelStub) -> Iterator[Person]:
    someone = Person(tmp_path / "h", model.url)
    someone.configure('[extract]\nbackend = "rules"\n')
    yield someone
    someone.recalld("stop")


def test_claude_code_searches_and_writes_through_mcp(person: Person, model: ModelStub) -> None:
    """Without hooks installed: the server alone, told the project by the client's roots."""
    shop, other = person.repository("work", "shop"), person.repository("work", "other")
    person.recalld("add", FACT, cwd=shop)
    person.recalld("add", "The other database is Oracle.", cwd=other)
    config = person.home / "mcp.json"
    config.write_text(
        json.dumps({"mcpServers": {"recalld": {"command": RECALLD, "args": ["mcp"], "alwaysLoad": True}}})
    )
    given = ("--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__recalld")

    assert "Found." in person.claude("look the database up, please", shop, *given)
    results = [seen.text for seen in model.conversations if "tool_result" in seen.text]
    assert FACT in results[-1]
    assert "not instructions" in results[-1]
    assert "Oracle" not in results[-1]

    assert "Stored." in person.claude("store the mailer, please", shop, *given)
    (mailer,) = (row for row in person.data("list", cwd=shop) if "Postfix" in row["content"])
    assert (mailer["project"], mailer["source"]) == ("shop", "claude-code")
