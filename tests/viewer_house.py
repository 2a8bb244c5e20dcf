"""What the tests of the viewer stand on: a home that serves it, and a browser to look at it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from conftest import PATIENCE_S, Home
from recalld.install.running import holder
from recalld.model import new_id

CHROMIUM = os.environ.get("RECALLD_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# What a page must never do, whatever it shows: these are noted from its first line on.
WATCH = """addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.violatedDirective, e.blockedURI));
window.longTasks = 0;
new PerformanceObserver((list) => list.getEntries().forEach((e) => { longTasks += e.duration; })).observe({type: 'longtask'});"""


class Site:
    """A home with a daemon that serves the viewer, and a browser."""

    def __init__(self, home: Home, browser: Browser) -> None:
        self.home, self.browser = home, browser
        self.contexts: list[BrowserContext] = []
        self.noise: list[str] = []
        place = home.recalld / "http.json"
        until(place.exists)
        self.url = json.loads(place.read_text())["url"].rstrip("/")

    def code(self) -> str:
        """A login code, as `recalld ui` gets one."""
        token = (self.home.recalld / "http.token").read_text().strip()
        asked = urllib.request.Request(
            f"{self.url}/login-codes", b"{}", {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
            return str(json.load(answer)["code"])

    def blank(self, **options: Any) -> Page:
        """A page of a new browser profile that has not signed in."""
        context = self.browser.new_context(
            **{"locale": "en-GB", "reduced_motion": "reduce", "accept_downloads": True, **options}
        )
        context.add_init_script(WATCH)
        context.on("console", lambda message: self.noise.append(message.text) if message.type == "error" else None)
        context.on("weberror", lambda error: self.noise.append(str(error.error)))
        self.contexts.append(context)
        return context.new_page()

    def open(self, where: str = "#/memories", **options: Any) -> Page:
        """A page of a new browser profile that has signed in and shows `where`."""
        page = self.blank(**options)
        page.goto(f"{self.url}/#code={self.code()}")
        page.wait_for_selector(".feed[aria-busy=false]")
        return go(page, where)

    def add(self, text: str, project: str = "", **more: Any) -> dict[str, Any]:
        """A new memory; of `project`, which is made if need be, or else of the user."""
        folder = self.home.root / "work" / project
        if project:
            (folder / ".git").mkdir(parents=True, exist_ok=True)
            more |= {"cwd": str(folder), "scope": "project"}
        else:
            more |= {"scope": "user"}
        return dict(self.home.client.call("add", text=text, **more))

    def now(self, memory: dict[str, Any]) -> dict[str, Any]:
        """The memory as it is stored at this moment."""
        return dict(self.home.client.call("show", id=memory["id"]))

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Run SQL as the owner of the database may."""
        with contextlib.closing(sqlite3.connect(self.home.paths.database, timeout=PATIENCE_S)) as db, db:
            return db.execute(statement, values).fetchall()

    def pending(self, text: str) -> str:
        """A memory that waits in the inbox."""
        return self.insert(text, "pending")

    def insert(self, text: str, status: str = "active") -> str:
        """A row that no rule has judged."""
        memory, at = new_id(), stamp()
        self.rows(
            """insert into memories (id, scope, type, content, source, origin, confidence, status, first_seen, last_seen,
               created_at, updated_at) values (?, 'user', 'fact', ?, 'test', 'user', 0.9, ?, ?, ?, ?, ?)""",
            memory, text, status, at, at, at, at,
        )  # fmt: skip
        return memory


def stamp(ago: timedelta = timedelta(0)) -> str:
    return (datetime.now(UTC) - ago).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def until(holds: Callable[[], Any]) -> Any:
    """Wait until it holds; what it is then."""
    end = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < end, "this never comes"
        time.sleep(0.02)
    return found


def go(page: Page, where: str) -> Page:
    page.evaluate("(where) => { location.hash = where }", where)
    return page


def row(page: Page, text: str) -> Any:
    return page.locator("article", has_text=text)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def receipt(site: Site, *memories: str) -> None:
    """One prompt that was given the first of these and not the others."""
    site.rows(
        "insert or ignore into sessions (session_id, cwd, started_at, last_event_at) values ('5e55104a', '/', ?, ?)",
        stamp(),
        stamp(),
    )
    site.rows("""insert into injections (session_id, event, query, at, tokens, ms)
                 values ('5e55104a', 'UserPromptSubmit', 'Which port?', ?, 17, 2.5)""", stamp())  # fmt: skip
    (number,) = site.rows("select max(injection_id) from injections")[0]
    for rank, memory in enumerate(memories, 1):
        why = "relevant" if rank == 1 else "below the threshold"
        site.rows(
            "insert into injection_items values (?, ?, ?, 0.8, 0.9, ?, ?, ?)",
            number,
            rank,
            memory,
            int(rank == 1),
            why,
            1 if rank == 1 else None,
        )


def serve(root: Path, browser: Browser, fill: Callable[[Home], None] = lambda home: None) -> Iterator[Site]:
    home = Home(root)
    fill(home)
    assert home.run("config", "set", "http.enabled", "true").returncode == 0
    daemon = home.start_daemon()
    try:
        yield Site(home, browser)
    finally:
        if holder(home.paths):
            daemon.stop()
