"""The page in Chromium: clicks and messages reach the app, and what the app does is shown."""

import os
import shutil
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.bot.simulator.bolt_app import MANIFEST, WHO, Bolt, connected_bolt, words

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
needed = os.environ.get("HERMES_REQUIRE_BROWSER") == "1"
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM and not needed, reason="no chromium is installed"),
]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser
        await browser.close()


# One browser serves all tests, so what it talks to lives on its loop as well.
@pytest_asyncio.fixture(loop_scope="module")
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(SimulatorSettings(manifest=MANIFEST, examples=(("Say hello", "打个招呼"),))) as simulator:
        yield simulator


@pytest_asyncio.fixture(loop_scope="module")
async def client(sim: Simulator) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(token=sim.settings.bot_token, base_url=sim.api_url, session=session)


@pytest_asyncio.fixture(loop_scope="module")
async def bolt(sim: Simulator, client: AsyncWebClient) -> AsyncIterator[Bolt]:
    async with connected_bolt(sim, client) as app:
        yield app


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser, sim: Simulator, bolt: Bolt) -> AsyncIterator[Page]:
    page = await browser.new_page(viewport={"width": 1280, "height": 800})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    await page.goto(sim.url)
    await expect(page.get_by_test_id("connection")).to_have_text("app connected")
    yield page
    await page.close()
    assert problems == []


async def mention(page: Page, sim: Simulator, text: str = "@hermes hello") -> str:
    await page.get_by_test_id("composer").fill(text)
    await page.get_by_test_id("send").click()
    await expect(page.get_by_test_id("thread-pane")).to_be_visible()
    return sim.messages("C0GENERAL")[-1].ts


async def test_a_mention_is_streamed_with_its_card_and_can_be_stopped(
    page: Page, sim: Simulator, client: AsyncWebClient, bolt: Bolt
) -> None:
    root = await mention(page, sim, "@hermes is 1 < 2 & 3?")
    thread = page.get_by_test_id("thread-pane")
    await expect(thread.get_by_test_id("message-text").first).to_have_text("@Hermes is 1 < 2 & 3?")
    task = {"type": "task_update", "id": "1", "title": "Count", "status": "in_progress"}
    chunks = [{"type": "markdown_text", "text": "**Yes** <script>alert(1)</script>"}, task]
    await client.chat_startStream(channel="C0GENERAL", thread_ts=root, chunks=chunks, **WHO)
    answer = thread.locator("[data-state=in_progress]")
    await expect(answer.locator("strong", has_text="Yes")).to_be_visible()
    await expect(answer).to_contain_text("<script>alert(1)</script>")
    await expect(answer.get_by_test_id("task-card")).to_have_attribute("data-status", "in_progress")
    await page.get_by_test_id("stop").click()
    await expect(thread.locator("[data-state=completed]")).to_be_visible()
    await sim.wait_for(lambda: bolt.of("agent_session_stopped"))


async def test_a_button_with_a_confirmation_is_clicked_after_it(
    page: Page, sim: Simulator, client: AsyncWebClient, bolt: Bolt
) -> None:
    root = await mention(page, sim)
    confirm = {"title": words("Sure?"), "text": words("Really?"), "confirm": words("Do it"), "deny": words("Back")}
    button = {"type": "button", "action_id": "go", "text": words("Go"), "value": "7", "confirm": confirm}
    blocks = [{"type": "actions", "elements": [button]}]
    posted = await client.chat_postMessage(channel="C0GENERAL", thread_ts=root, text="Go?", blocks=blocks)
    await page.locator("[data-action=go]").click()
    await page.get_by_test_id("confirm-deny").click()
    assert bolt.gestures == []
    await page.locator("[data-action=go]").click()
    await page.get_by_test_id("confirm-ok").click()
    await sim.wait_for(lambda: bolt.gestures)
    assert bolt.gestures[0]["actions"][0]["value"] == "7"
    await client.chat_update(channel="C0GENERAL", ts=posted["ts"], text="Gone.", blocks=[])
    await expect(page.get_by_test_id("thread-pane").get_by_text("Gone.")).to_be_visible()
    await expect(page.locator("[data-action=go]")).to_have_count(0)


async def test_a_command_is_answered_to_its_author_only(page: Page, bolt: Bolt) -> None:
    async def answer(body: dict[str, Any], ack: Any) -> None:
        await ack(f"memories of {body['user_id']}: 喜欢喝茶")

    bolt.on_gesture = answer
    await page.get_by_test_id("composer").fill("/mem")
    await page.get_by_test_id("command-hints").get_by_text("/memory").click()
    await page.get_by_test_id("composer").press("Enter")
    await expect(page.get_by_test_id("ephemeral")).to_contain_text("memories of U0ANA: 喜欢喝茶")
    await page.locator("[data-person=U0BEN]").click()
    await expect(page.get_by_test_id("ephemeral")).to_have_count(0)


async def test_a_command_in_a_thread_is_refused(page: Page, sim: Simulator, bolt: Bolt) -> None:
    await mention(page, sim)
    await page.get_by_test_id("thread-composer").fill("/memory list")
    await page.get_by_test_id("thread-composer").press("Enter")
    await expect(page.get_by_test_id("notice")).to_contain_text("Slash commands don't work in threads")
    assert bolt.gestures == []


async def test_a_modal_shows_errors_and_is_submitted_again(
    page: Page, sim: Simulator, client: AsyncWebClient, bolt: Bolt
) -> None:
    await page.get_by_test_id("composer").fill("/memory add")
    await page.get_by_test_id("composer").press("Enter")
    await sim.wait_for(lambda: bolt.gestures)
    field = {"type": "plain_text_input", "action_id": "text", "initial_value": "tea"}
    blocks = [{"type": "input", "block_id": "what", "label": words("What"), "element": field}]
    view = {"type": "modal", "title": words("Remember"), "submit": words("Keep"), "blocks": blocks}
    await client.views_open(trigger_id=bolt.gestures[0]["trigger_id"], view=view)

    async def wrong(body: dict[str, Any], ack: Any) -> None:
        del body
        await ack(response_action="errors", errors={"what": "Say more."})

    bolt.on_gesture = wrong
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_contain_text("Say more.")
    bolt.on_gesture = None
    await page.get_by_test_id("modal-field").fill("green tea")
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_be_hidden()
    values = bolt.gestures[-1]["view"]["state"]["values"]
    assert values["what"]["text"]["value"] == "green tea"


async def test_people_see_only_their_channels(page: Page, sim: Simulator) -> None:
    await expect(page.get_by_test_id("channel-item").filter(has_text="private")).to_be_visible()
    await page.locator("[data-person=U0CHO]").click()
    await expect(page.get_by_test_id("channel-item").filter(has_text="private")).to_have_count(0)
    await page.locator("[data-channel=D0CHO]").click()
    await page.get_by_test_id("composer").fill("你好")
    await page.get_by_test_id("composer").press("Enter")
    await expect(page.get_by_test_id("thread-messages")).to_contain_text("你好")
    assert [seen.user for seen in sim.messages("D0CHO")] == ["U0CHO"]


async def test_a_message_to_try_is_sent_by_its_button_in_the_persons_language(page: Page, sim: Simulator) -> None:
    await page.get_by_test_id("try").click()
    await expect(page.get_by_test_id("thread-messages")).to_contain_text("@Hermes Say hello")
    await page.locator("[data-person=U0CHO]").click()
    await page.locator("[data-channel=D0CHO]").click()
    await page.get_by_test_id("try").click()
    await expect(page.get_by_test_id("thread-messages")).to_contain_text("打个招呼")
    assert [seen.text for seen in sim.messages("D0CHO")] == ["打个招呼"]
    await page.locator("[data-channel=C0QUIET]").click()
    await expect(page.get_by_test_id("try")).to_be_hidden()


async def test_a_person_edits_and_deletes_their_message(page: Page, sim: Simulator, bolt: Bolt) -> None:
    await page.get_by_test_id("composer").fill("helo")
    await page.get_by_test_id("send").click()
    message = page.get_by_test_id("messages").get_by_test_id("message")
    await message.hover()
    await message.get_by_test_id("edit").click()
    await page.get_by_test_id("editor").fill("hello")
    await page.get_by_test_id("save-edit").click()
    await expect(message).to_contain_text("(edited)")
    await message.hover()
    await message.get_by_test_id("delete").click()
    await expect(message).to_have_count(0)
    await sim.wait_for(lambda: bolt.of("message", "message_deleted"))


async def test_a_permalink_opens_its_thread_and_a_narrow_page_has_a_menu(page: Page, sim: Simulator) -> None:
    root = await sim.say("U0BEN", "C0GENERAL", "the root")
    reply = await sim.say("U0CHO", "C0GENERAL", "the reply", thread_ts=root)
    await page.goto(f"{sim.url}/archives/C0GENERAL/p{reply.replace('.', '')}?thread_ts={root}&cid=C0GENERAL")
    await expect(page.get_by_test_id("thread-messages")).to_contain_text("the reply")
    await page.set_viewport_size({"width": 390, "height": 800})
    await page.get_by_test_id("thread-close").click()
    await page.get_by_test_id("menu").click()
    await expect(page.get_by_test_id("channel-item").first).to_be_visible()
