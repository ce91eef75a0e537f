"""Slash commands and the words for threads: answered to the one who asked, in their language."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, CHO, GENERAL, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import Gate, calls, text

DM = {ANA: "D0ANA", BEN: "D0BEN", CHO: "D0CHO"}


async def memory(team: Team, words: str, user: str = ANA, channel: str = GENERAL) -> str:
    return (await team.sim.command(user, channel, "/memory", words)).text


async def test_help_status_tools_and_new_are_answered(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    for words, wanted in (
        ("", "How to use Hermes"),
        ("help", "/memory list"),
        ("status", say("phase.waiting_input", "en")),
        ("tools", "`deploy`"),
        ("new", "@hermes !new"),
        ("memory", "Your memories"),
        ("dance", say("command.unknown", "en", word="dance")),
    ):
        answer = await team.sim.command(ANA, GENERAL, "/hermes", words)
        assert wanted in answer.text
        assert answer.replies[0].ephemeral
    assert f"{team.sim.url}/archives/{GENERAL}/p{root.replace('.', '')}" in str(
        (await team.sim.command(ANA, GENERAL, "/hermes", "status")).payload
    )
    assert say("command.status_none", "en") in (await team.sim.command(BEN, GENERAL, "/hermes", "status")).text


async def test_hermes_speaks_chinese_with_those_who_do(team: Team) -> None:
    assert "如何使用 Hermes" in (await team.sim.command(CHO, GENERAL, "/hermes", "help")).text
    assert "我会记住" in await memory(team, "add 我喜欢绿茶", CHO)
    assert "绿茶" in await memory(team, "search 绿茶", CHO)
    team.model.reply(calls(("deploy", {"service": "shop"})), text("好的。"))
    root = await team.mention("部署", CHO)
    [card] = await team.open_cards(root)
    assert [b.text for b in card.buttons] == ["批准", "拒绝"]
    await team.click(card, "hermes_approve", BEN)
    await team.told(BEN, say("approval.not_yours", "en"))
    await team.click(card, "hermes_deny", CHO)
    await team.shown(card, "已被")


async def test_an_ephemeral_message_to_someone_never_seen_is_in_their_language(team: Team) -> None:
    team.model.reply(calls(("deploy", {"service": "shop"})))
    root = await team.mention("deploy")
    [card] = await team.open_cards(root)
    await team.click(card, "hermes_approve", CHO)
    await team.told(CHO, say("approval.not_yours", "zh-CN"))


async def test_a_command_is_answered_though_slack_does_not_say_who_asks(team: Team) -> None:
    await team.sim.fail_next("users.info", error="fatal_error", count=20)
    answer = await team.sim.command(ANA, GENERAL, "/memory", "list")
    assert say("access.unknown", "en") in answer.text
    await team.sim.clear_faults()
    assert say("memory.list.none", "en") in await memory(team, "list")


async def test_two_people_keep_their_memories_apart(team: Team) -> None:
    await memory(team, "add My desk is by the window", ANA)
    await memory(team, "add My desk is in the cellar", BEN)
    assert "window" in await memory(team, "list", ANA)
    assert "cellar" not in await memory(team, "list", ANA)
    assert "cellar" in await memory(team, "search desk", BEN)
    assert "window" not in await memory(team, "search desk", BEN)
    for user in (ANA, BEN):
        root = await team.mention("where is my desk?", user)
        await team.answer(root)
    assert "window" in team.prompt(0)
    assert "cellar" not in team.prompt(0)
    assert "cellar" in team.prompt(1)
    assert "window" not in team.prompt(1)


async def test_a_memory_is_edited_and_forgotten_after_one_question(team: Team) -> None:
    await memory(team, "add My desk is by the window")
    ident = (await memory(team, "list")).split("`")[1]
    assert "Changed: My desk is by the door" in await memory(team, f"edit {ident} My desk is by the door")
    answer = await team.sim.command(ANA, GENERAL, "/memory", f"forget {ident}")
    [asked] = answer.replies
    assert "Permanently forget" in asked.text
    assert "by the door" in await memory(team, "list")
    keep, yes = (next(b for b in asked.buttons if b.text == t) for t in ("Keep", "Forget it"))
    await team.click(asked, keep.action_id, answers=1)
    assert "by the door" in await memory(team, "list")
    answer = await team.sim.command(ANA, GENERAL, "/memory", "forget door")
    [asked] = answer.replies
    yes = next(b for b in asked.buttons if b.text in ("Forget it", f"Forget {ident}"))
    done = await team.click(asked, yes.action_id, value=yes.value, answers=1)
    assert "Forgotten" in done.text or "Permanently forget" in done.text
    assert say("memory.list.none", "en") in await memory(team, "list")


async def test_a_memory_is_kept_as_it_was_typed(team: Team) -> None:
    await team.mention("hello", BEN)
    await team.until(lambda: team.model.requests and team.hermes.runner.busy == 0)
    assert "R&D <at> noon with @ben" in await memory(team, "add R&D <at> noon with <@U0BEN>")
    root = await team.mention("!memory add Q&A on https://example.com/?a=1&b=2")
    await team.told(ANA, "Q&A on https://example.com/?a=1&b=2")
    assert team.said(root) == []


async def test_in_a_thread_memory_is_an_ephemeral_message_with_working_buttons(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    await team.mention("!memory add My tea is green", thread=root)
    await team.told(ANA, "I will remember: My tea is green")
    await team.mention("!memory forget tea", thread=root)
    asked = await team.told(ANA, "Permanently forget this?")
    button = next(b for b in asked.buttons if b.text.startswith("Forget"))
    answer = await team.click(asked, button.action_id, value=button.value, answers=1)
    assert "Forgotten" in answer.text or "Permanently forget" in answer.text
    assert say("memory.list.none", "en") in await memory(team, "list")
    assert len(team.said(root)) == 1
    assert len(team.model.requests) == 1


async def test_new_begins_a_conversation_that_knows_nothing_of_the_old(team: Team) -> None:
    root = await team.mention("my colour is teal")
    await team.answer(root)
    await team.mention("!new", thread=root)
    await team.answer(root, lambda said: say("command.new_done", "en") in str(said))
    await team.mention("which colour?", thread=root)
    await team.answer(root, lambda said: len(said) == 3)
    assert "teal" not in team.prompt()


async def test_what_follows_new_is_the_first_message_of_the_new_conversation(team: Team) -> None:
    root = await team.mention("my colour is teal")
    await team.answer(root)
    await team.mention("！new which colour?", thread=root)
    await team.answer(root, lambda said: len(said) == 3)
    assert "which colour?" in team.prompt()
    assert "teal" not in team.prompt()


async def test_new_during_a_turn_ends_it_and_answers_what_waits(team: Team, workshop: Workshop) -> None:
    gate = Gate()
    team.model.reply(text("old").behind(gate), text("New answer."))
    root = await team.mention("hello")
    await gate.arrived()
    await team.mention("and this?", BEN, thread=root)
    await team.mention("!new", thread=root)
    assert await team.answer(root, lambda said: "New answer." in said)
    assert "hello" not in team.prompt()


async def test_the_words_for_threads_are_answered(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    await team.mention("!status", thread=root)
    await team.answer(root, lambda said: say("phase.waiting_input", "en") in str(said))
    await team.mention("!tools", thread=root)
    await team.answer(root, lambda said: "`deploy`" in str(said))
    await team.mention("!help", thread=root)
    await team.told(ANA, "How to use Hermes")


@pytest.mark.parametrize("address", ["<@U0HERMES>:!stop", "<@U0HERMES>：！stop", "<@U0HERMES>, !stop"])
async def test_a_word_is_known_behind_any_colon(team: Team, address: str) -> None:
    gate = Gate()
    team.model.reply(text("never").behind(gate))
    root = await team.mention("hello")
    await gate.arrived()
    await team.say(address, thread=root)
    assert "Stopped by ana" in str(await team.answer(root))


async def test_two_commands_at_once_are_answered_once_each(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    for _ in range(6):
        await team.mention("!status", thread=root)
    await team.answer(root, lambda said: len(said) == 7)
    await team.sim.wait_settled()
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert len(team.said(root)) == 7


async def test_commands_work_after_a_restart(start: Start) -> None:
    team = await start()
    await memory(team, "add My desk is by the window")
    await team.stop()
    team = await start()
    assert "window" in await memory(team, "list")
