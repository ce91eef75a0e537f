"""A memory belongs to its person: what the model keeps, where it is used again, and where never."""

from dataclasses import replace

from bot.texts import say
from tests.e2e.team import ANA, BEN, GENERAL, Team
from tests.fakes.model_script import calls, text

PRIVATE, SHARED, DM = "G0PRIVATE", "C0SHARED", "D0ANA"
FACT = "Ana's badge is number seventeen"


async def learn(team: Team, channel: str) -> None:
    team.model.reply(calls(("remember", {"content": FACT, "type": "fact"})), text("I keep that."))
    root = await team.mention("remember that my badge is number seventeen", channel=channel)
    await team.answer(root, channel=channel)
    assert '"ok": true' in team.model.asked[-1].results[0], team.model.asked[-1].results


async def knows(team: Team, channel: str, user: str = ANA) -> bool:
    root = await team.mention("what is my badge?", user, channel=channel)
    await team.answer(root, channel=channel)
    return FACT in team.prompt()


async def test_what_the_model_remembers_comes_back_to_its_owner_alone(team: Team) -> None:
    await learn(team, GENERAL)
    assert await knows(team, GENERAL)
    assert await knows(team, DM)
    assert not await knows(team, GENERAL, BEN)
    assert not await knows(team, SHARED)


async def test_what_was_learnt_in_a_direct_message_stays_there(team: Team) -> None:
    await learn(team, DM)
    assert await knows(team, DM)
    assert not await knows(team, GENERAL)
    assert not await knows(team, PRIVATE)


async def test_what_was_learnt_in_a_private_channel_stays_there_and_in_the_owners_dm(team: Team) -> None:
    await learn(team, PRIVATE)
    assert await knows(team, PRIVATE)
    assert await knows(team, DM)
    assert not await knows(team, GENERAL)


async def test_a_channel_that_is_shared_later_recalls_nothing_any_more(team: Team) -> None:
    await learn(team, GENERAL)
    assert await knows(team, GENERAL)
    team.sim.workspace.channels[GENERAL].is_ext_shared = True
    assert not await knows(team, GENERAL)


async def test_the_memories_of_a_turn_are_the_same_in_every_step(team: Team) -> None:
    await learn(team, GENERAL)
    team.model.reply(calls(("current_time", {})), text("Seventeen."))
    root = await team.mention("what is my badge?")
    await team.answer(root)
    first, second = team.model.requests[-2]["messages"], team.model.requests[-1]["messages"]
    assert second[: len(first)] == first
    assert FACT in first[-1]["content"]
    await team.mention("thanks", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert FACT not in team.model.requests[-1]["messages"][1]["content"]


async def test_the_model_looks_up_and_forgets_only_with_a_yes(team: Team) -> None:
    await learn(team, DM)
    team.model.reply(calls(("recall", {"query": "badge"})), text("It is seventeen."))
    root = await team.say("which badge?", channel=DM)
    await team.answer(root, channel=DM)
    found = team.model.asked[-1].results[0]
    assert FACT in found
    ident = found.split('"id": "')[1][:4]
    team.model.reply(calls(("forget", {"id": ident, "content": FACT})), text("Forgotten."))
    root = await team.say("forget my badge", channel=DM)
    [card] = await team.open_cards(root, channel=DM)
    assert FACT in card.text
    await team.click(card, "hermes_approve")
    await team.answer(root, lambda said: "Forgotten." in said, channel=DM)
    assert not await knows(team, DM)


async def test_a_memory_forgotten_while_a_request_waits_is_not_in_it(team: Team) -> None:
    await learn(team, GENERAL)
    asked = (await team.sim.command(ANA, GENERAL, "/memory", "forget badge")).replies[0]
    button = next(b for b in asked.buttons if b.text.startswith("Forget"))

    async def forgetting() -> None:
        done = await team.click(asked, button.action_id, value=button.value, answers=1)
        assert "Forgotten" in done.text

    runner = team.hermes.runner
    runner.services = replace(runner.services, ready=forgetting)
    assert not await knows(team, GENERAL)


async def test_a_memory_is_widened_by_its_owners_button_alone(team: Team) -> None:
    answer = await team.sim.command(ANA, DM, "/memory", f"add {FACT}")
    [shown] = answer.replies
    assert "your DM only" in shown.text
    assert not await knows(team, GENERAL)
    button = next(b for b in shown.buttons if b.text == "Use everywhere")
    done = await team.click(shown, button.action_id, value=button.value, answers=1)
    assert "used everywhere" in done.text
    assert await knows(team, GENERAL)
    assert not await knows(team, SHARED)


async def test_secrets_are_refused_with_the_reason(team: Team) -> None:
    secret = "The password is hunter2hunter2, AKIAIOSFODNN7EXAMPLE"
    team.model.reply(calls(("remember", {"content": secret, "type": "fact"})), text("I may not."))
    root = await team.mention("remember this key")
    await team.answer(root)
    assert "secret" in team.model.asked[-1].results[0]
    assert say("memory.list.none", "en") in (await team.sim.command(ANA, GENERAL, "/memory", "list")).text


async def test_what_was_looked_up_for_one_person_is_not_in_anothers_prompt(team: Team) -> None:
    await learn(team, GENERAL)
    team.model.reply(calls(("recall", {"query": "badge"})), text("I know it."))
    root = await team.mention("do you know my badge?")
    await team.answer(root)
    assert FACT in team.model.asked[-1].results[0]
    await team.mention("and what else do you know?", BEN, thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert FACT not in team.prompt()
