"""Draw docs/viewer-*.png from invented memories in a scratch home: `python docs/make_screenshots.py`.

Needs Chromium (/usr/bin/chromium, or the one that RECALLD_CHROMIUM names) and, for the Chinese example, a CJK font.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from recalld.client import Client
from recalld.model import new_id

HERE = Path(__file__).parent
CHROMIUM = os.environ.get("RECALLD_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_S = 30.0

# type, where, days since it was last said, given, used, pinned, tags, text
EXAMPLES: tuple[tuple[str, str, float, int, int, bool, tuple[str, ...], str], ...] = (
    ("decision", "shop", 0.1, 4, 3, False, ("area:db",), "The orders database is PostgreSQL 16; Flyway runs the migrations."),
    ("preference", "", 9, 61, 22, True, ("area:git",), "Commit subjects are in the imperative mood, at most 60 characters."),
    ("lesson", "shop", 0.4, 7, 4, False, ("area:test",), "The checkout tests hang when Redis is not running; `make deps` starts it."),
    ("decision", "shop", 1.2, 18, 9, True, ("env:prod", "area:deploy"), "Deploys go out Tuesdays and Thursdays at 10:00; never on a Friday."),
    ("decision", "导出服务", 1.6, 5, 2, False, ("area:export",), "订单导出统一使用 CSV 格式，不再使用 Excel。"),
    ("fact", "shop", 2.3, 12, 5, False, ("tech:stripe",), "The Stripe webhook secret is in $STRIPE_WEBHOOK_SECRET, rotated every quarter."),
    ("progress", "shop", 2.6, 3, 2, False, ("area:search",), "Search: the Typesense index works locally; the Chinese tokenizer is still to be set up."),
    ("fact", "atlas", 3.1, 9, 3, False, ("env:staging",), "The staging cluster runs on port 8081, production on 8080."),
    ("preference", "", 14, 43, 17, False, ("area:review",), "Explain a change in two sentences before showing the diff."),
    ("lesson", "atlas", 4.4, 6, 4, False, ("tech:terraform",), "Terraform plans must run with -lock-timeout=5m, since CI shares the state."),
    ("decision", "atlas", 6.2, 8, 3, False, ("area:api",), "The public API is versioned by path (/v2/...), not by header."),
    ("preference", "", 21, 30, 11, False, (), "Answer in English, but keep Chinese product names as they are."),
    ("fact", "shop", 8.0, 5, 2, False, ("area:team",), "Mira owns payments, Jonas owns search; both review each other."),
)  # fmt: skip
WAITING = (
    "The production database may be restored from a snapshot without asking, if an outage lasts longer than 15 minutes.",
    "The invoices of 2024 are to be kept until the end of 2034.",
)
PAIR = ("The API times out after 30 seconds.", "The API times out after 45 seconds.")
PROMPTS = ("Why do the checkout tests hang on my machine?", "Add an index for the orders by customer.", "ok, go on",
           "What is left to do for search?", "部署之前还要检查什么？", "Write the release notes for 2.4.")  # fmt: skip


def main() -> None:
    """Fill a home, serve it, and take the three pictures."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        environ = {**os.environ, "HOME": scratch, "RECALLD_HOME": f"{scratch}/r", "CLAUDE_CONFIG_DIR": f"{scratch}/c"}
        recalld = [sys.executable, "-m", "recalld"]
        subprocess.run(
            [*recalld, "config", "set", "http.enabled", "true"], env=environ, check=True, capture_output=True
        )
        daemon = subprocess.Popen([*recalld, "run"], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client = Client(home / "r" / "recalld.sock")
            until(lambda: answers(client))
            fill(home / "r" / "memories.db", home / "work", client)
            served = home / "r" / "http.json"
            until(served.exists)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                take(browser, json.loads(served.read_text())["url"], (home / "r" / "http.token").read_text().strip())
                browser.close()
        finally:
            daemon.terminate()
            daemon.wait(PATIENCE_S)


def until(holds: Callable[[], Any]) -> None:
    """Wait for it."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise SystemExit("the daemon or its page does not come up")
        time.sleep(0.05)


def answers(client: Client) -> bool:
    """Whether the daemon serves."""
    try:
        return bool(client.call("status"))
    except Exception:  # noqa: BLE001  # any failure means: not yet
        return False


def fill(database: Path, work: Path, client: Client) -> None:
    """Store the examples, through the daemon where it makes a difference, and a month of receipts behind them."""
    for name in ("shop", "atlas", "导出服务"):
        (work / name / ".git").mkdir(parents=True)
    ids = []
    for kind, where, _, _, _, pinned, tags, text in EXAMPLES:
        place = {"cwd": str(work / where), "scope": "project"} if where else {"scope": "user"}
        ids.append(client.call("add", text=text, type=kind, tags=list(tags), pin=pinned, **place)["id"])
    now = datetime.now(UTC)
    with contextlib.closing(sqlite3.connect(database, timeout=PATIENCE_S)) as db, db:
        for (_, _, days, given, used, *_), memory in zip(EXAMPLES, ids, strict=True):
            said = stamp(now - timedelta(days=days))
            db.execute("update memories set last_seen = ?, first_seen = ?, created_at = ?, hit_count = ?, useful_count = ?, last_used = ? where id = ?",
                       (said, said, said, given, used, stamp(now - timedelta(hours=days)), memory))  # fmt: skip
        shop = db.execute("select project_id from projects where name = 'shop'").fetchone()[0]
        waiting(db, shop, now)
        receipts(db, shop, ids, now)


def waiting(db: sqlite3.Connection, project: int, now: datetime) -> None:
    """An inbox of two, a pair that contradicts itself, and what was archived since."""

    def store(text: str, status: str, hours: float) -> str:
        memory, at = new_id(), stamp(now - timedelta(hours=hours))
        db.execute(
            """insert into memories (id, scope, project_id, type, content, source, origin, confidence, status, first_seen,
                   last_seen, created_at, updated_at) values (?, 'project', ?, 'fact', ?, 'claude-code', 'user', .9, ?, ?, ?, ?, ?)""",
            (memory, project, text, status, at, at, at, at),
        )  # fmt: skip
        return memory

    for hours, text in enumerate(WAITING):
        store(text, "pending", hours + 1)
    for number in range(46):
        store(f"What was still open on day {number}.", "archived", (number * number * 7919) % 700)
    older, newer = store(PAIR[0], "active", 90 * 24), store(PAIR[1], "active", 27)
    db.execute(
        "insert into conflicts (older, newer, opened_at) values (?, ?, ?)",
        (older, newer, stamp(now - timedelta(hours=27))),
    )


def receipts(db: sqlite3.Connection, project: int, ids: list[str], now: datetime) -> None:
    """A month of injections and model calls, fewer of them at weekends."""
    dice = random.Random(11)
    session, prompts = "", itertools.cycle(PROMPTS)
    for day in range(29, -1, -1):
        at = now - timedelta(days=day)
        work = 0.25 if at.weekday() >= 5 else 1.0
        session = f"{dice.getrandbits(32):08x}-5d1e-4c3f-9a70-{dice.getrandbits(48):012x}"
        db.execute("insert into sessions (session_id, project_id, cwd, started_at, last_event_at) values (?, ?, '/', ?, ?)",
                   (session, project, stamp(at), stamp(at)))  # fmt: skip
        for number in range(max(1, round(work * dice.uniform(5, 12)))):
            event, query = ("UserPromptSubmit", next(prompts)) if number else ("SessionStart", "")
            ms = math.exp(dice.gauss(0.9 if number else 2.2, 0.35))
            given = dice.sample(ids, 8) if not number else dice.sample(ids, dice.choice((0, 1, 1, 2, 3)))
            row = (session, project, event, query, stamp(at - timedelta(minutes=60 - 4 * number)), 22 * len(given), ms)
            injection = db.execute(
                "insert into injections (session_id, project_id, event, query, at, tokens, ms) values (?, ?, ?, ?, ?, ?, ?)",
                row,
            ).lastrowid
            left = [memory for memory in dice.sample(ids, 3) if memory not in given]
            for rank, memory in enumerate([*given, *left], 1):
                held = memory in given
                reason = (
                    ("relevant" if number else "standing")
                    if held
                    else dice.choice(("below the threshold", "given before in this session"))
                )
                fit = dice.uniform(0.66, 0.95) if held else dice.uniform(0.2, 0.6)
                db.execute("insert into injection_items values (?, ?, ?, ?, ?, ?, ?, ?)",
                           (injection, rank, memory, fit * 0.8, fit, int(held), reason, int(dice.random() < 0.45) if held and day else None))  # fmt: skip
        for _ in range(round(work * dice.uniform(2, 7))):
            db.execute("insert into usage (at, backend, model, project_id, outcome, input_tokens, output_tokens, cost_usd, ms) values (?, 'anthropic', 'claude-haiku-4-5', ?, 'ok', 2200, 110, 0.0028, 900)",
                       (stamp(at), project))  # fmt: skip


def stamp(moment: datetime) -> str:
    """As the database keeps times."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def take(browser: Browser, url: str, token: str) -> None:
    """The list by day, the charts by night, the receipts on a phone."""
    shots: tuple[tuple[str, str, Any, int, int, str], ...] = (
        ("viewer-light", "light", None, 1180, 760, "#/memories"),
        ("viewer-dark", "dark", None, 1180, 760, "#/insights"),
        ("viewer-phone", "light", 2, 360, 740, "#/memories"),
    )
    for name, scheme, scale, width, height, where in shots:
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=scale or 1,  # type: ignore[arg-type]
            locale="en-GB", has_touch=bool(scale),
        )  # fmt: skip
        code = page.request.post(f"{url}/login-codes", headers={"Authorization": f"Bearer {token}"}).json()["code"]
        page.goto(f"{url}/#code={code}")
        page.wait_for_selector("article")
        page.goto(f"{url}/{where}")
        page.wait_for_selector("article, figure")
        page.wait_for_timeout(400)
        page.screenshot(path=HERE / f"{name}.png")


if __name__ == "__main__":
    main()
