"""A memory is used only for its owner and only where its audience allows."""

from dataclasses import replace

from bot.texts import say
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import calls, text

PRIVATE, SHARED, DM = "G0PRIVATE", "C0SHARED", "D0ANA"
FACT = "Ana's badge is number seventeen"


async def learn(slack: SlackWithHermes, channel: str) -> None:
    slack.model.reply(calls(("remember", {"content": FACT, "type": "fact"})), text("I keep that."))
    root = await slack.mention("remember that my badge is number seventeen", channel=channel)
    await slack.answer(root, channel=channel)
    assert '"ok": true' in slack.model.asked[-1].results[0], slack.model.asked[-1].results


async def knows(slack: SlackWithHermes, channel: str, user: str = ANA) -> bool:
    root = await slack.mention("what is my badge?", user, channel=channel)
    await slack.answer(root, channel=channel)
    return FACT in slack.prompt()


async def test_a_memory_is_recalled_only_for_its_owner(slack: SlackWithHermes) -> None:
    await learn(slack, GENERAL)
    assert await knows(slack, GENERAL)
    assert await knows(slack, DM)
    assert not await knows(slack, GENERAL, BEN)
    assert not await knows(slack, SHARED)


async def test_a_memory_from_a_dm_is_used_only_there(slack: SlackWithHermes) -> None:
    await learn(slack, DM)
    assert await knows(slack, DM)
    assert not await knows(slack, GENERAL)
    assert not await knows(slack, PRIVATE)


async def test_a_memory_from_a_private_channel_is_used_only_there_and_in_the_owners_dm(slack: SlackWithHermes) -> None:
    await learn(slack, PRIVATE)
    assert await knows(slack, PRIVATE)
    assert await knows(slack, DM)
    assert not await knows(slack, GENERAL)


async def test_a_channel_that_becomes_shared_recalls_nothing(slack: SlackWithHermes) -> None:
    await learn(slack, GENERAL)
    assert await knows(slack, GENERAL)
    slack.sim.workspace.channels[GENERAL].is_ext_shared = True
    assert not await knows(slack, GENERAL)


async def test_the_memories_of_a_turn_are_the_same_in_every_step(slack: SlackWithHermes) -> None:
    await learn(slack, GENERAL)
    slack.model.reply(calls(("current_time", {})), text("Seventeen."))
    root = await slack.mention("what is my badge?")
    await slack.answer(root)
    first, second = slack.model.requests[-2]["messages"], slack.model.requests[-1]["messages"]
    assert second[: len(first)] == first
    assert FACT in first[-1]["content"]
    await slack.mention("thanks", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert FACT not in slack.model.requests[-1]["messages"][1]["content"]


async def test_the_model_can_delete_a_memory_only_with_an_approval(slack: SlackWithHermes) -> None:
    await learn(slack, DM)
    slack.model.reply(calls(("recall", {"query": "badge"})), text("It is seventeen."))
    root = await slack.say("which badge?", channel=DM)
    await slack.answer(root, channel=DM)
    found = slack.model.asked[-1].results[0]
    assert FACT in found
    ident = found.split('"id": "')[1][:4]
    slack.model.reply(calls(("forget", {"id": ident, "content": FACT})), text("Forgotten."))
    root = await slack.say("forget my badge", channel=DM)
    [card] = await slack.open_cards(root, channel=DM)
    assert FACT in card.text
    await slack.click(card, "hermes_approve")
    await slack.answer(root, lambda said: "Forgotten." in said, channel=DM)
    assert not await knows(slack, DM)


async def test_a_memory_deleted_before_a_request_is_sent_is_not_in_it(slack: SlackWithHermes) -> None:
    await learn(slack, GENERAL)
    asked = (await slack.sim.command(ANA, GENERAL, "/memory", "forget badge")).replies[0]
    button = next(b for b in asked.buttons if b.text.startswith("Forget"))

    async def forgetting() -> None:
        done = await slack.click(asked, button.action_id, value=button.value, answers=1)
        assert "Forgotten" in done.text

    runner = slack.hermes.runner
    runner.services = replace(runner.services, ready=forgetting)
    assert not await knows(slack, GENERAL)


async def test_a_memory_is_used_more_widely_only_after_its_owner_clicks(slack: SlackWithHermes) -> None:
    answer = await slack.sim.command(ANA, DM, "/memory", f"add {FACT}")
    [shown] = answer.replies
    assert "your DM only" in shown.text
    assert not await knows(slack, GENERAL)
    button = next(b for b in shown.buttons if b.text == "Use everywhere")
    done = await slack.click(shown, button.action_id, value=button.value, answers=1)
    assert "used everywhere" in done.text
    assert await knows(slack, GENERAL)
    assert not await knows(slack, SHARED)


async def test_secrets_are_refused_with_the_reason(slack: SlackWithHermes) -> None:
    secret = "The password is hunter2hunter2, AKIAIOSFODNN7EXAMPLE"
    slack.model.reply(calls(("remember", {"content": secret, "type": "fact"})), text("I may not."))
    root = await slack.mention("remember this key")
    await slack.answer(root)
    assert "secret" in slack.model.asked[-1].results[0]
    assert say("memory.list.none", "en") in (await slack.sim.command(ANA, GENERAL, "/memory", "list")).text


async def test_memories_recalled_for_one_person_are_not_in_anothers_prompt(slack: SlackWithHermes) -> None:
    await learn(slack, GENERAL)
    slack.model.reply(calls(("recall", {"query": "badge"})), text("I know it."))
    root = await slack.mention("do you know my badge?")
    await slack.answer(root)
    assert FACT in slack.model.asked[-1].results[0]
    await slack.mention("and what else do you know?", BEN, thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert FACT not in slack.prompt()
