"""What Claude Code's own files say already is recognised, in other words and in Chinese too, and nothing else is."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from recalld.known_files import KnownFiles
from test_events import House, run  # noqa: F401

RULES = """---
title: house rules
---
# Shop

The API listens on port 8080. Deployments go through ArgoCD,
never by hand.

## Package manager
- pnpm

## Database
- [ ] The orders database is **PostgreSQL 16**, the cache is Redis.
- 订单库使用 PostgreSQL 16，缓存用 Redis
- `use tabs` for indentation in [the backend](docs/backend.md)

## Avoid
- force-push to main

<!-- The billing service is written in Go. -->
```
The mailer uses Sendgrid.
```
"""


class Place:
    """A repository, a config folder and a transcript in a scratch folder."""

    def __init__(self, root: Path) -> None:
        self.shop, self.config = root / "shop", root / "claude"
        self.notes = self.config / "projects" / "-shop"
        for folder in (self.shop / ".git", self.shop / "src" / "api", self.notes / "memory"):
            folder.mkdir(parents=True)
        self.files = KnownFiles(self.config)

    def says(self, content: str, cwd: str = "") -> bool:
        return self.files.at(str(self.shop / cwd), str(self.notes / "s1.jsonl")).says(content)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "The API listens on port 8080.",
        "Deployments go through ArgoCD, never by hand.",
        "We use pnpm as the package manager.",
        "The orders database is PostgreSQL 16.",
        "订单库用 PostgreSQL 16。",
        "Use tabs for indentation in the backend.",
        "Never force-push to main.",
    ],
)
def test_what_a_sentence_of_the_file_says_is_known(place: Place, content: str) -> None:
    (place.shop / "CLAUDE.md").write_text(RULES)
    assert place.says(content)


@pytest.mark.parametrize(
    "content",
    [
        "The API listens on port 8081.",
        "The API listens on port 8080 in staging.",
        "Deployments go by hand, never through ArgoCD.",
        "We use npm as the package manager.",
        "The orders database is PostgreSQL 15.",
        "订单库用 PostgreSQL 15。",
        "订单库用 MySQL。",
        "Force-push to main.",
        "Use spaces for indentation in the backend.",
        "The billing service is written in Go.",
        "The mailer uses Sendgrid.",
        "The user lives in Bremen.",
        "",
    ],
)
def test_another_number_name_or_sign_and_what_no_sentence_says_is_not_known(place: Place, content: str) -> None:
    """Comments and code blocks say nothing; what stands under "Avoid" is not what should be done."""
    (place.shop / "CLAUDE.md").write_text(RULES)
    assert not place.says(content)


@pytest.mark.parametrize(
    "name",
    [
        "shop/CLAUDE.md",
        "shop/CLAUDE.local.md",
        "shop/.claude/CLAUDE.md",
        "shop/src/CLAUDE.md",
        "shop/src/api/CLAUDE.md",
        "shop/.claude/rules/style/deep.md",
        "claude/CLAUDE.md",
        "claude/rules/mine.md",
        "claude/projects/-shop/memory/MEMORY.md",
    ],
)
def test_every_file_that_claude_code_reads_at_start_counts(place: Place, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("- The API listens on port 8080.\n")
    assert place.says("The API listens on port 8080.", "src/api")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CLAUDE.md", "- The API listens on port 8080.\n"),
        ("shop/src/web/CLAUDE.md", "- The API listens on port 8080.\n"),
        ("shop/docs/CLAUDE.md", "- The API listens on port 8080.\n"),
        ("shop/.claude/rules/api.md", '---\npaths: ["api/**"]\n---\n- The API listens on port 8080.\n'),
        ("shop/.claude/rules/api.txt", "- The API listens on port 8080.\n"),
        ("claude/projects/-other/memory/MEMORY.md", "- The API listens on port 8080.\n"),
        ("claude/projects/-shop/memory/MEMORY.md", "\n" * 200 + "- The API listens on port 8080.\n"),
    ],
)
def test_files_that_it_may_not_have_read_do_not_count(place: Place, tmp_path: Path, name: str, text: str) -> None:
    """Above the repository, beside the working directory, rules for some paths, what stands too far down its notes."""
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    assert not place.says("The API listens on port 8080.", "src/api")


def test_a_change_is_seen_at_once_however_it_is_made(place: Place) -> None:
    file = place.shop / "CLAUDE.md"
    assert not place.says("The API listens on port 8080.")
    file.write_text("The API listens on port 8080.")
    assert place.says("The API listens on port 8080.")
    other = place.shop / "new"
    other.write_text("The API listens on port 8081.")
    other.replace(file)
    assert not place.says("The API listens on port 8080.")
    assert place.says("The API listens on port 8081.")
    rules = place.shop / ".claude" / "rules"
    for folder in (rules, rules / "deep"):
        folder.mkdir(parents=True, exist_ok=True)
        assert not place.says("We use pnpm.")
    (rules / "deep" / "pm.md").write_text("We use pnpm.")
    assert place.says("We use pnpm.")
    (rules / "deep" / "pm.md").unlink()
    file.unlink()
    assert not place.says("We use pnpm.")
    assert not place.says("The API listens on port 8081.")


def test_imports_count_one_level_deep_and_only_from_inside(place: Place, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("We use pnpm.")
    (place.shop / "docs").mkdir()
    (place.shop / "docs" / "api.md").write_text("The API listens on port 8080. See @deeper.md")
    (place.shop / "docs" / "deeper.md").write_text("We deploy on Fridays.")
    (place.shop / "code.md").write_text("The cache is Redis.")
    (place.shop / "CLAUDE.md").write_text(
        "See @docs/api.md, @../outside.md and `@code.md`; mail dev@code.md\n```\n@code.md\n```\n"
    )
    assert place.says("The API listens on port 8080.")
    assert not place.says("We deploy on Fridays.")
    assert not place.says("We use pnpm.")
    assert not place.says("The cache is Redis.")
    (place.shop / "docs" / "api.md").write_text("The API listens on port 9090.")
    assert place.says("The API listens on port 9090.")
    assert not place.says("The API listens on port 8080.")


def test_a_link_counts_where_it_leads_inside_and_not_where_it_leads_out(place: Place, tmp_path: Path) -> None:
    (place.shop / "AGENTS.md").write_text("We use pnpm.")
    (place.shop / "CLAUDE.md").symlink_to("AGENTS.md")
    assert place.says("We use pnpm.")
    (tmp_path / "secret.md").write_text("The API listens on port 8080.")
    (place.shop / "CLAUDE.local.md").symlink_to(tmp_path / "secret.md")
    rules = place.shop / ".claude" / "rules"
    rules.parent.mkdir()
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "a.md").write_text("The cache is Redis.")
    rules.symlink_to(tmp_path / "away")
    assert not place.says("The API listens on port 8080.")
    assert not place.says("The cache is Redis.")


def test_whatever_lies_there_is_survived(place: Place) -> None:
    """A FIFO, a folder, a link to itself, no UTF-8, a huge file, a forbidden one, a working directory that is gone."""
    os.mkfifo(place.shop / "CLAUDE.md")
    (place.shop / "CLAUDE.local.md").mkdir()
    (place.shop / ".claude").mkdir()
    (place.shop / ".claude" / "CLAUDE.md").symlink_to("CLAUDE.md")
    (place.config / "CLAUDE.md").write_bytes(
        b"\xff\xfe We use pnpm.\n" + b"word " * 200_000 + b"\nThe cache is Redis.\n"
    )
    assert not place.says("The cache is Redis.")
    (place.notes / "memory" / "MEMORY.md").write_text("x")
    (place.notes / "memory" / "MEMORY.md").chmod(0)
    assert not place.says("We use pnpm.", "no/such/folder")
    assert not place.files.at("/", None).says("We use pnpm.")


def test_a_look_costs_little_while_nothing_changes(place: Place) -> None:
    """0.3 ms is the goal (of 5 that a prompt may take); counted is the processor's time, since the machine may be busy."""
    (place.shop / "CLAUDE.md").write_text("\n".join(f"- Service {n} listens on port {8000 + n}." for n in range(300)))
    rules = place.shop / ".claude" / "rules"
    rules.mkdir(parents=True)
    for number in range(10):
        (rules / f"{number}.md").write_text(f"Rule {number} holds.")
    contents = [f"Service {n} listens on port {8000 + n}." for n in range(5)]
    assert all(place.says(content, "src/api") for content in contents)
    times = []
    for _ in range(50):
        begun = time.thread_time()
        assert all(place.says(content, "src/api") for content in contents)
        times.append((time.thread_time() - begun) / len(contents))
    assert sorted(times)[len(times) // 2] < 0.001


def test_what_claude_md_says_is_not_injected_and_the_receipt_says_why(run: Any, tmp_path: Path) -> None:  # noqa: F811
    """At a prompt and at session start; once the file says something else, the memory comes."""

    async def work(house: House) -> None:
        memory = await house.add("The orders database is PostgreSQL 16.")
        file = tmp_path / "shop" / "CLAUDE.md"
        file.write_text("# Shop\n- The orders database is PostgreSQL 16, behind a pooler.\n")
        asked = "which database do the orders use?"
        assert await house.prompt(asked, "p1", "s1") == ""
        reasons = {item.memory: item.reason for item in (await house.call("why", session="s1")).receipt.items}
        assert "CLAUDE.md" in reasons[memory.id]
        assert "PostgreSQL" not in str((await house.start("s2")).get("hookSpecificOutput"))
        file.write_text("# Shop\n- The orders database is PostgreSQL 17.\n")
        assert memory.id[:8] in await house.prompt(asked, "p2", "s3")
        assert "PostgreSQL 16" in str(await house.start("s4"))
        stored = await house.store.read(lambda db: str(db.execute("select content from memories").fetchall()))
        assert "pooler" not in stored

    run(work, "[memory]\nsimilarity_threshold = 0.45\n")
