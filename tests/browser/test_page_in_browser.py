"""The main features in `hermes dev` with a browser."""

import pytest
from playwright.async_api import expect

from tests.browser.hermes_dev_process import BEN, CHO, Person

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]


async def test_a_mention_is_answered_in_its_thread_with_a_task_card(person: Person) -> None:
    await expect(person.page.get_by_test_id("banner")).to_contain_text("Demonstration model")
    await person.say("@hermes what time is it in Tokyo?")
    await expect(person.answer).to_contain_text("In Asia/Tokyo it is")
    await expect(person.answer).to_have_attribute("data-state", "completed")
    await expect(person.answer.get_by_test_id("task-card")).to_have_attribute("data-status", "complete")
    await person.shoot("mention")


async def test_an_approved_call_runs_once_and_its_card_says_who_approved(person: Person) -> None:
    await person.say("@hermes please post “lunch is ready” in #general")
    await expect(person.page.locator("[data-action=hermes_approve]")).to_be_visible()
    await expect(person.thread).to_contain_text("lunch is ready")
    await person.shoot("approval-open")
    await person.press("hermes_approve")
    await expect(person.thread).to_contain_text("Approved by @Ana")
    await expect(person.page.locator("[data-action=hermes_approve]")).to_have_count(0)
    channel = person.page.get_by_test_id("messages")
    await expect(channel.get_by_text("lunch is ready", exact=True)).to_have_count(1)
    await expect(person.answer).to_contain_text("posted")
    await person.shoot("approval-approved")


async def test_a_denied_call_does_not_run(person: Person) -> None:
    await person.say("@hermes write the file plan.md: buy milk")
    await expect(person.page.locator("[data-action=hermes_deny]")).to_be_visible()
    await person.press("hermes_deny")
    await expect(person.thread).to_contain_text("Denied by @Ana")
    await expect(person.page.locator("[data-action=hermes_deny]")).to_have_count(0)
    await person.shoot("approval-denied")
    await person.reply("@hermes which files are there?")
    await expect(person.answer).to_contain_text("nothing in the folder")


async def test_a_memory_is_visible_only_to_its_owner(person: Person) -> None:
    await person.say("@hermes please remember that I prefer green tea")
    await expect(person.answer).to_contain_text("I will remember")
    await person.say("/memory list")
    await expect(person.private).to_contain_text("Only visible to you")
    await expect(person.private).to_contain_text("I prefer green tea")
    await person.shoot("memory-list")
    await person.become(BEN)
    await expect(person.private).to_have_count(0)
    await person.say("/memory list")
    await expect(person.private).to_contain_text("I don't remember anything about you yet")
    await person.say("@hermes what do you know about me?")
    await expect(person.answer).to_contain_text("I know nothing about that yet")
    await person.shoot("memory-of-another")


async def test_forgetting_asks_for_confirmation_and_then_deletes(person: Person) -> None:
    await person.say("/memory add My desk is on the third floor")
    await expect(person.private).to_contain_text("I will remember")
    await person.say("/memory forget desk")
    await expect(person.private).to_contain_text("Permanently forget this?")
    await person.shoot("forget-asks")
    await person.press("memory_keep")
    await expect(person.private).to_contain_text("Nothing was changed")
    await person.say("/memory forget desk")
    await person.press("memory_forget")
    await expect(person.private).to_contain_text("Forgotten")
    await person.say("/memory search desk")
    await expect(person.private).to_contain_text("None of your memories contains")
    await person.shoot("forgotten")


async def test_a_person_with_slack_in_chinese_is_answered_in_chinese(person: Person) -> None:
    await person.become(CHO)
    await person.go("D0CHO")
    await person.say("请写一个文件 plan.md：买牛奶")
    await expect(person.page.get_by_role("button", name="批准")).to_be_visible()
    await person.shoot("chinese")
    await person.press("hermes_approve")
    await expect(person.thread).to_contain_text("已由 @Cho 陈 批准")
    await expect(person.answer).to_contain_text("`plan.md`".strip("`"))
    await person.say("/memory list")
    await expect(person.private).to_contain_text("我还没有关于您的任何记忆")


async def test_an_answer_is_streamed_live_and_can_be_stopped(person: Person) -> None:
    await person.say("@hermes give me a long answer")
    streaming = person.thread.locator("[data-state=in_progress]")
    await expect(streaming).to_contain_text("Here is a longer answer")
    await expect(streaming).to_contain_text("A message comes in.")
    await expect(streaming).not_to_contain_text("The answer ends.")
    await person.shoot("streaming")
    await person.page.get_by_test_id("stop").click()
    await expect(person.answer).to_contain_text("Stopped by ana")
    await expect(person.answer).not_to_contain_text("The answer ends.")
    await expect(person.page.get_by_test_id("stop")).to_be_hidden()
    await person.shoot("stopped")
    await person.reply("@hermes thank you")
    await expect(person.answer).to_contain_text("You are welcome")


async def test_the_page_fits_a_narrow_window_in_dark_mode(person: Person) -> None:
    await person.page.emulate_media(color_scheme="dark")
    await person.page.set_viewport_size({"width": 390, "height": 844})
    await person.say("@hermes please post “dinner is ready” in #general")
    await expect(person.page.locator("[data-action=hermes_approve]")).to_be_in_viewport()
    await person.shoot("narrow-dark")
    wide = await person.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
