"""Create the screenshot of the README: `python -m tests.browser.readme_picture docs/thread.png`."""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright, expect

from tests.browser.hermes_dev_process import HermesDev, Person

STREAMING = "() => document.querySelector('[data-state=in_progress] [data-testid=task-card]')"
WIDTH, HEIGHT = 1240, 1000


async def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with HermesDev(Path(folder)) as dev, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            await page.goto(dev.url)
            person = Person(page, target.parent)
            await person.say("@hermes please post “The call is at nine” in #general")
            await expect(page.locator("[data-action=hermes_approve]")).to_be_visible()
            # A message sent while the card is open gets a streamed answer below it.
            await person.reply("@hermes meanwhile, what time is it in Tokyo, in Lima and in Nairobi?")
            await page.wait_for_function(STREAMING)
            await page.screenshot(path=target)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
