"""The rule files of other assistants: proposals for the inbox, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conftest import Daemon, Home, failed, memory

KEY = "AKIA" + "IOSFODNN7EXAMPL3"
AGENTS = f"""# Shop

The API listens on port 8080.

## Tests
- pytest
- Never mock the database.
- The staging key is {KEY}.

```sh
rm -rf build
```

## Avoid
- Global state in modules

What about the rest?
"""


def write(home: Home, name: str, text: str) -> Path:
    path = home.project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def waiting(home: Home) -> dict[str, Any]:
    return {row["content"]: row for row in home.json("inbox")}


def test_each_statement_waits_in_the_inbox(home: Home, daemon: Daemon) -> None:
    """None is active, secrets are masked, code and questions are no statements, and a second time adds nothing."""
    write(home, "AGENTS.md", AGENTS)
    dry = home.json("import", "rules", "--dry-run")
    assert (dry["added"], dry["pending"], {item["outcome"] for item in dry["items"]}) == (5, 5, {"pending"})
    assert KEY not in str(dry)
    assert waiting(home) == {}
    done = home.json("import", "rules")
    assert (done["added"], done["pending"], done["source"]) == (5, 5, "agents")
    assert done["left_out"] == {"no statement by itself": 1}
    rows = waiting(home)
    assert home.json("list") == []
    assert {"The API listens on port 8080.", "Tests: pytest", "Never mock the database.",
            "Never global state in modules"} < rows.keys()  # fmt: skip
    assert KEY not in str(rows)
    assert "rm -rf" not in str(rows)
    one = rows["Never mock the database."]
    assert (one["type"], one["scope"], one["project"], one["origin"], one["source"], one["status"]) == (
        "decision", "project", "shop", "import", "agents", "pending",
    )  # fmt: skip
    assert rows["The API listens on port 8080."]["type"] == "fact"
    again = home.json("import", "rules")
    assert (again["added"], again["known"]) == (0, 5)


def test_every_programs_files_are_found(home: Home, daemon: Daemon) -> None:
    """Also those that hold for some files only, which are named then."""
    write(home, ".cursorrules", "Use tabs for indentation.\n")
    write(
        home,
        ".cursor/rules/api.mdc",
        "---\nglobs: src/api/**/*.ts\nalwaysApply: false\n---\n- Validate input with zod.\n",
    )
    write(home, ".github/copilot-instructions.md", "Write commit messages in English.\n")
    write(home, "GEMINI.md", "Money is kept in integer cents.\n")
    write(home, ".windsurfrules", "提交前必须运行测试并检查格式。\n")
    done = home.json("import", "rules", str(home.project))
    assert done["pending"] == 5
    assert {row["source"]: content for content, row in waiting(home).items() if row["source"] != "cursor"} == {
        "copilot": "Write commit messages in English.", "gemini": "Money is kept in integer cents.",
        "windsurf": "提交前必须运行测试并检查格式。",
    }  # fmt: skip
    assert "In src/api/**/*.ts: Validate input with zod." in waiting(home)


def test_what_claude_md_says_is_not_proposed(home: Home) -> None:
    """Claude Code reads that by itself; in other words, too."""
    write(home, "CLAUDE.md", "The API listens on port 8080.\n")
    write(home, "AGENTS.md", "API listens on port 8080\n\nNever mock the database.\n")
    done = home.json("import", "rules")
    assert done["left_out"] == {"Claude Code reads it already (CLAUDE.md)": 1}
    assert list(waiting(home)) == ["Never mock the database."]


def test_an_agents_file_that_is_claude_md_adds_nothing(home: Home) -> None:
    write(home, "CLAUDE.md", "Never mock the database.\n")
    os.symlink("CLAUDE.md", home.project / "AGENTS.md")
    assert home.json("import", "rules")["added"] == 0


def test_a_persons_own_memory_is_not_touched(home: Home, daemon: Daemon) -> None:
    """A file that says otherwise is a proposal beside it; what was rejected once is not proposed again."""
    own = memory(home, "The API listens on port 9090.", "--type", "decision")
    before = home.json("show", own)
    write(home, "AGENTS.md", "The API listens on port 8080.\n")
    home.json("import", "rules")
    (row,) = waiting(home).values()
    after = home.json("show", own)
    assert (after["content"], after["status"], after["version"], after["conflicts"]) == (
        before["content"], "active", before["version"], [],
    )  # fmt: skip
    home.json("reject", row["id"])
    assert home.json("import", "rules")["left_out"] == {"deleted here": 1}
    assert waiting(home) == {}


def test_one_file_will_do(home: Home) -> None:
    other = home.root / "elsewhere"
    other.mkdir()
    (other / "GEMINI.md").write_text("Money is kept in integer cents.\n")
    assert home.json("import", "rules", str(other / "GEMINI.md"))["pending"] == 1


@pytest.mark.parametrize("kind", ["none", "outside", "folder", "pipe"])
def test_what_is_no_rule_file_is_one_line(home: Home, kind: str) -> None:
    """Nothing outside of the folder is read by way of a link."""
    target = home.project / "AGENTS.md"
    if kind == "outside":
        (home.root / "secret").write_text("The vault code is 12345.\n")
        os.symlink(home.root / "secret", target)
    elif kind == "folder":
        target.mkdir()
    elif kind == "pipe":
        os.mkfifo(target)
    assert "recalld: " in failed(home.run("import", "rules"))
