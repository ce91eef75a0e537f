"""The main job as a newcomer meets it: `hermes dev`, a browser, and nothing else."""

import pytest
from playwright.async_api import expect

from tests.browser.dev import BEN, CHO, Person

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]


async def test_a_mention_is_streamed_with_a_task_card(person: Person) -> None:
    await expect(person.page.get_by_test_id("banner")).to_contain_text("Demonstration model")
    await person.say("@hermes what time is it in Tokyo?")
    await expect(person.thread.locator("[data-state=in_progress]")).to_be_visible()
    await expect(person.answer).to_contain_text("Tokyo")
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


async def test_a_memory_is_kept_listed_and_forgotten_by_its_owner_alone(person: Person) -> None:
    await person.say("@hermes please remember that I prefer green tea")
    await expect(person.answer).to_contain_text("green tea")
    await person.shoot("memory-added")
    await person.say("/memory list")
    await expect(person.private).to_contain_text("green tea")
    await person.shoot("memory-list")
    await person.become(BEN)
    await person.say("/memory list")
    await expect(person.private).to_contain_text("nothing of yours")
    await person.shoot("memory-ben")
    await person.say("@hermes what do you know about me?")
    await expect(person.answer).not_to_contain_text("green tea")
    await person.become("U0ANA")
    await person.say("/memory forget tea")
    await person.shoot("memory-forget")


async def test_chinese_is_answered_in_chinese(person: Person) -> None:
    await person.become(CHO)
    await person.go("D0CHO")
    await person.say("请写一个文件 plan.md：买牛奶")
    await expect(person.page.get_by_role("button", name="批准")).to_be_visible()
    await person.shoot("chinese")


async def test_a_long_answer_is_stopped(person: Person) -> None:
    await person.say("@hermes give me a long answer")
    await expect(person.thread.locator("[data-state=in_progress]")).to_be_visible()
    await person.page.get_by_test_id("stop").click()
    await expect(person.thread).to_contain_text("Stopped by")
    await expect(person.page.get_by_test_id("stop")).to_be_hidden()
    await person.shoot("stopped")
