"""Which messages are answered without a mention, and what Hermes reads of an existing thread."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.slack_with_hermes import ANA, BEN, CHO, GENERAL, HERMES, SlackWithHermes
from tests.fakes.model_scripts import text


async def test_a_person_alone_with_hermes_needs_no_mention(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.say("and you?", thread=root)
    assert len(await slack.answer(root, lambda said: len(said) == 2)) == 2


async def test_with_two_people_in_the_thread_only_mentions_are_answered(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.say("I am here too", BEN, thread=root)
    await slack.say("nice, Ben", thread=root)
    await slack.sim.wait_settled()
    await slack.mention("who spoke?", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert len(slack.model.requests) == 2
    assert "I am here too" in slack.prompt()
    assert "nice, Ben" in slack.prompt()


@pytest.mark.parametrize(("mode", "answers"), [("all", 2), ("mention", 1)])
async def test_follow_ups_can_be_set_to_all_or_mentions_only(start: Start, mode: str, answers: int) -> None:
    slack = await start(session={"follow_ups": mode})
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.say("another word", BEN if mode == "all" else ANA, thread=root)
    await slack.sim.wait_settled()
    await slack.answer(root, lambda said: len(said) == answers)
    await slack.mention("the end", thread=root)
    await slack.answer(root, lambda said: len(said) == answers + 1)
    assert len(slack.model.requests) == answers + 1


async def test_a_message_that_mentions_someone_else_is_not_answered(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.say("<@U0BEN> what do you think?", thread=root)
    await slack.sim.wait_settled()
    await slack.mention("well?", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert len(slack.model.requests) == 2


async def test_an_existing_thread_is_read_once_with_its_authors(slack: SlackWithHermes) -> None:
    root = await slack.say("lunch at noon?", BEN)
    await slack.say("fine with me &amp; <@U0BEN>", CHO, thread=root)
    await slack.mention("what was agreed?", thread=root)
    await slack.answer(root)
    seen = slack.prompt()
    assert seen.index("lunch at noon?") < seen.index("fine with me") < seen.index("what was agreed?")
    named = {"U0BEN": "@ben"}
    assert {"from": CHO, "name": "cho", "text": "fine with me &amp; @U0BEN", "names": named} in slack.model.asked[
        0
    ].lines
    await slack.mention("again?", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert len(slack.sim.calls("conversations.replies")) == 1


async def test_of_a_long_existing_thread_the_first_and_the_latest_messages_are_read(slack: SlackWithHermes) -> None:
    root = await slack.say("The printer on the third floor is broken", BEN)
    for n in range(60):
        await slack.say(f"remark-{n}-", BEN, thread=root)
    await slack.mention("what is it about?", thread=root)
    await slack.answer(root)
    assert "printer on the third floor" in slack.prompt()
    assert [f"remark-{n}-" in slack.prompt() for n in (0, 10, 11, 59)] == [False, False, True, True]
    seen = slack.prompt()
    assert seen.index("third floor") < seen.index("(11 messages of this thread") < seen.index("remark-11-")


async def test_in_an_existing_thread_earlier_replies_are_recognized_as_from_hermes(start: Start) -> None:
    slack = await start()
    slack.model.reply(text("I am the first answer."))
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.stop()
    (slack.hermes.config.data_dir / "hermes.db").rename(slack.hermes.config.data_dir / "lost.db")
    for beside in slack.hermes.config.data_dir.glob("hermes.db-*"):
        beside.unlink()
    slack = await start()
    await slack.mention("go on", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert {"hermes": HERMES, "name": "Hermes", "text": "I am the first answer."} in slack.model.asked[-1].lines
    await slack.say("and on", thread=root)
    await slack.answer(root, lambda said: len(said) == 3)


async def test_after_new_the_other_people_of_the_thread_still_count(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.say("I am here too", BEN, thread=root)
    await slack.mention("!new", thread=root)
    await slack.answer(root, lambda said: say("command.new_done", "en") in str(said))
    await slack.say("Ben, look at that", thread=root)
    await slack.sim.wait_settled()
    await slack.mention("and you?", thread=root)
    await slack.answer(root, lambda said: len(said) == 3)
    assert len(slack.model.requests) == 2


async def test_a_mention_is_answered_although_the_thread_cannot_be_read(slack: SlackWithHermes) -> None:
    root = await slack.say("lunch at noon?", BEN)
    await slack.sim.fail_next("conversations.replies", error="missing_scope", count=5)
    await slack.mention("what was agreed?", thread=root)
    await slack.answer(root)
    assert "could not be read" in slack.prompt()


async def test_names_links_and_special_characters_are_readable_for_the_model(slack: SlackWithHermes) -> None:
    root = await slack.mention("ask <@U0BEN> whether 1 < 2 & see https://example.com/a?b=1&c=2 in <#C0GENERAL|general>")
    await slack.answer(root)
    seen = slack.prompt()
    assert "@ben" in seen.lower()
    assert "1 < 2 & see https://example.com/a?b=1&c=2" in seen
    assert "&lt;" not in seen
    assert "<@" not in seen
    assert "#general" in seen


async def test_a_restart_keeps_the_context_and_the_follow_ups(start: Start) -> None:
    slack = await start()
    root = await slack.mention("my colour is teal")
    await slack.answer(root)
    await slack.stop()
    slack = await start()
    await slack.say("which colour?", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert "my colour is teal" in slack.prompt()
    assert GENERAL in str(slack.sim.calls("chat.postMessage")[-1].args)
