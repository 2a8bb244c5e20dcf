"""The page that shows the interface: whole, readable without a mouse, and silent on the console."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

from conftest import PATIENCE_S
from recalld.web.routes import ROUTES
from web_house import Web, web_of

CHROMIUM = os.environ.get("RECALLD_CHROMIUM", "/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"there is no Chromium at {CHROMIUM}")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web_of(tmp_path_factory.mktemp("web")) as made:
        yield made


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 360, "height": 800})
        opened.set_default_timeout(PATIENCE_S * 1000)
        yield opened
        browser.close()


def test_every_route_is_shown_and_nothing_is_amiss(web: Web, page: Page) -> None:
    noise: list[str] = []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: noise.append(request.url) if not request.url.startswith(web.url) else None)
    page.goto(f"{web.url}/docs#patch-memories-id")
    page.locator("details#patch-memories-id[open]").wait_for()
    shown = page.locator("details:has(.method) > summary").all_inner_texts()
    assert len(shown) == len(ROUTES)
    for route in ROUTES:
        assert any(text.split()[:2] == [route.method, route.path] for text in shown), route.path
    assert "If-Match" in page.locator("details#patch-memories-id").inner_text()
    page.locator("details#patch-memories-id").get_by_role("link", name="Memory", exact=True).first.click()
    page.locator("details#Memory[open]").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert Axe().run(page).violations_count == 0
    assert noise == []
