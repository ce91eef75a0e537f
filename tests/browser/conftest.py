"""One Chromium and one `hermes dev` for all tests of the page."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.browser.hermes_dev_process import HermesDev, Person

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Browser]:
    if not CHROMIUM and os.environ.get("HERMES_REQUIRE_BROWSER") != "1":
        pytest.skip("no chromium is installed")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM or "chromium", args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def dev(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> AsyncIterator[HermesDev]:
    async with HermesDev(tmp_path_factory.mktemp("dev")) as running:
        yield running


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shots")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def page(browser: Browser, dev: HermesDev) -> AsyncIterator[Page]:
    """The page; an error in its script fails the module."""
    page = await browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    await page.goto(dev.url)
    yield page
    await page.close()
    assert problems == []


@pytest_asyncio.fixture(loop_scope="module")
async def person(page: Page, dev: HermesDev, shots: Path) -> Person:
    """Ana with the page open in a wide window."""
    await page.set_viewport_size({"width": 1280, "height": 800})
    await page.emulate_media(color_scheme="light")
    await page.evaluate("localStorage.clear(); sessionStorage.clear()")
    await page.goto(dev.url)
    await expect(page.get_by_test_id("connection")).to_have_text("app connected")
    return Person(page, shots)
