"""Slash commands and thread commands are answered to their author in their language."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, CHO, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import Gate, text


async def memory(slack: SlackWithHermes, words: str, user: str = ANA, channel: str = GENERAL) -> str:
    return (await slack.sim.command(user, channel, "/memory", words)).text


async def test_help_status_tools_and_new_are_answered(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    for words, wanted in (
        ("", "How to use Hermes"),
        ("help", "/memory list"),
        ("status", say("phase.waiting_input", "en")),
        ("tools", "`deploy`"),
        ("new", "@hermes !new"),
        ("memory", "Your memories"),
        ("dance", say("command.unknown", "en", word="dance")),
    ):
        answer = await slack.sim.command(ANA, GENERAL, "/hermes", words)
        assert wanted in answer.text
        assert answer.replies[0].ephemeral
    assert f"{slack.sim.url}/archives/{GENERAL}/p{root.replace('.', '')}" in str(
        (await slack.sim.command(ANA, GENERAL, "/hermes", "status")).payload
    )
    assert say("command.status_none", "en") in (await slack.sim.command(BEN, GENERAL, "/hermes", "status")).text


async def test_people_with_a_chinese_locale_are_answered_in_chinese(slack: SlackWithHermes) -> None:
    assert "如何使用 Hermes" in (await slack.sim.command(CHO, GENERAL, "/hermes", "help")).text
    assert "我会记住" in await memory(slack, "add 我喜欢绿茶", CHO)
    assert "绿茶" in await memory(slack, "search 绿茶", CHO)
    _, card = await slack.ask_to_deploy(text("好的。"), user=CHO)
    assert [b.text for b in card.buttons] == ["批准", "拒绝"]
    await slack.click(card, "hermes_approve", BEN)
    await slack.ephemeral(BEN, say("approval.not_yours", "en"))
    await slack.click(card, "hermes_deny", CHO)
    await slack.card_closed(card, "已被")


async def test_an_ephemeral_message_to_an_unknown_person_is_in_their_language(slack: SlackWithHermes) -> None:
    _, card = await slack.ask_to_deploy()
    await slack.click(card, "hermes_approve", CHO)
    await slack.ephemeral(CHO, say("approval.not_yours", "zh-CN"))


async def test_a_command_is_answered_although_the_lookup_of_its_author_fails(slack: SlackWithHermes) -> None:
    await slack.sim.fail_next("users.info", error="fatal_error", count=20)
    answer = await slack.sim.command(ANA, GENERAL, "/memory", "list")
    assert say("access.unknown", "en") in answer.text
    await slack.sim.clear_faults()
    assert say("memory.list.none", "en") in await memory(slack, "list")


async def test_two_people_keep_their_memories_apart(slack: SlackWithHermes) -> None:
    await memory(slack, "add My desk is by the window", ANA)
    await memory(slack, "add My desk is in the cellar", BEN)
    assert "window" in await memory(slack, "list", ANA)
    assert "cellar" not in await memory(slack, "list", ANA)
    assert "cellar" in await memory(slack, "search desk", BEN)
    assert "window" not in await memory(slack, "search desk", BEN)
    for user in (ANA, BEN):
        root = await slack.mention("where is my desk?", user)
        await slack.answer(root)
    assert "window" in slack.prompt(0)
    assert "cellar" not in slack.prompt(0)
    assert "cellar" in slack.prompt(1)
    assert "window" not in slack.prompt(1)


async def test_a_memory_is_edited_and_is_deleted_after_one_confirmation(slack: SlackWithHermes) -> None:
    await memory(slack, "add My desk is by the window")
    ident = (await memory(slack, "list")).split("`")[1]
    assert "Changed: My desk is by the door" in await memory(slack, f"edit {ident} My desk is by the door")
    answer = await slack.sim.command(ANA, GENERAL, "/memory", f"forget {ident}")
    [asked] = answer.replies
    assert "Permanently forget" in asked.text
    assert "by the door" in await memory(slack, "list")
    keep = next(b for b in asked.buttons if b.text == "Keep")
    await slack.click(asked, keep.action_id, answers=1)
    assert "by the door" in await memory(slack, "list")
    answer = await slack.sim.command(ANA, GENERAL, "/memory", "forget door")
    [asked] = answer.replies
    yes = next(b for b in asked.buttons if b.text in ("Forget it", f"Forget {ident}"))
    done = await slack.click(asked, yes.action_id, value=yes.value, answers=1)
    assert "Forgotten" in done.text or "Permanently forget" in done.text
    assert say("memory.list.none", "en") in await memory(slack, "list")


async def test_a_memory_is_stored_as_it_was_typed(slack: SlackWithHermes) -> None:
    await slack.mention("hello", BEN)
    await slack.until(lambda: slack.model.requests and slack.hermes.runner.busy == 0)
    assert "R&D <at> noon with @ben" in await memory(slack, "add R&D <at> noon with <@U0BEN>")
    root = await slack.mention("!memory add Q&A on https://example.com/?a=1&b=2")
    await slack.ephemeral(ANA, "Q&A on https://example.com/?a=1&b=2")
    assert slack.said(root) == []


async def test_the_memory_command_in_a_thread_answers_with_ephemeral_buttons_that_work(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.mention("!memory add My tea is green", thread=root)
    await slack.ephemeral(ANA, "I will remember: My tea is green")
    await slack.mention("!memory forget tea", thread=root)
    asked = await slack.ephemeral(ANA, "Permanently forget this?")
    button = next(b for b in asked.buttons if b.text.startswith("Forget"))
    answer = await slack.click(asked, button.action_id, value=button.value, answers=1)
    assert "Forgotten" in answer.text or "Permanently forget" in answer.text
    assert say("memory.list.none", "en") in await memory(slack, "list")
    assert len(slack.said(root)) == 1
    assert len(slack.model.requests) == 1


async def test_new_starts_a_conversation_without_the_old_context(slack: SlackWithHermes) -> None:
    root = await slack.mention("my colour is teal")
    await slack.answer(root)
    await slack.mention("!new", thread=root)
    await slack.answer(root, lambda said: say("command.new_done", "en") in str(said))
    await slack.mention("which colour?", thread=root)
    await slack.answer(root, lambda said: len(said) == 3)
    assert "teal" not in slack.prompt()


async def test_text_after_new_is_the_first_message_of_the_new_conversation(slack: SlackWithHermes) -> None:
    root = await slack.mention("my colour is teal")
    await slack.answer(root)
    await slack.mention("！new which colour?", thread=root)
    await slack.answer(root, lambda said: len(said) == 3)
    assert "which colour?" in slack.prompt()
    assert "teal" not in slack.prompt()


async def test_new_during_a_turn_ends_it_and_answers_waiting_messages(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    gate = Gate()
    slack.model.reply(text("old").behind(gate), text("New answer."))
    root = await slack.mention("hello")
    await gate.arrived()
    await slack.mention("and this?", BEN, thread=root)
    await slack.mention("!new", thread=root)
    assert await slack.answer(root, lambda said: "New answer." in said)
    assert "hello" not in slack.prompt()


async def test_thread_commands_are_answered(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.mention("!status", thread=root)
    await slack.answer(root, lambda said: say("phase.waiting_input", "en") in str(said))
    await slack.mention("!tools", thread=root)
    await slack.answer(root, lambda said: "`deploy`" in str(said))
    await slack.mention("!help", thread=root)
    await slack.ephemeral(ANA, "How to use Hermes")


@pytest.mark.parametrize("address", ["<@U0HERMES>:!stop", "<@U0HERMES>：！stop", "<@U0HERMES>, !stop"])
async def test_a_thread_command_is_recognized_after_any_punctuation(slack: SlackWithHermes, address: str) -> None:
    gate = Gate()
    slack.model.reply(text("never").behind(gate))
    root = await slack.mention("hello")
    await gate.arrived()
    await slack.say(address, thread=root)
    assert "Stopped by ana" in str(await slack.answer(root))


async def test_commands_sent_at_once_are_answered_once_each(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    for _ in range(6):
        await slack.mention("!status", thread=root)
    await slack.answer(root, lambda said: len(said) == 7)
    await slack.sim.wait_settled()
    await slack.idle()
    assert len(slack.said(root)) == 7


async def test_commands_work_after_a_restart(start: Start) -> None:
    slack = await start()
    await memory(slack, "add My desk is by the window")
    await slack.stop()
    slack = await start()
    assert "window" in await memory(slack, "list")
