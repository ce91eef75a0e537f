"""Who is answered without a mention, and what Hermes knows of a thread that it comes into."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, CHO, GENERAL, Team
from tests.fakes.model_script import text


async def test_alone_with_hermes_a_person_needs_no_mention(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    await team.say("and you?", thread=root)
    assert len(await team.answer(root, lambda said: len(said) == 2)) == 2


async def test_once_another_person_is_there_only_a_mention_is_answered(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    await team.say("I am here too", BEN, thread=root)
    await team.say("nice, Ben", thread=root)
    await team.sim.wait_settled()
    await team.mention("who spoke?", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert len(team.model.requests) == 2
    assert "I am here too" in team.prompt()
    assert "nice, Ben" in team.prompt()


@pytest.mark.parametrize(("mode", "answers"), [("all", 2), ("mention", 1)])
async def test_the_operator_may_ask_for_all_or_mentions_only(start: Start, mode: str, answers: int) -> None:
    team = await start(session={"follow_ups": mode})
    root = await team.mention("hello")
    await team.answer(root)
    await team.say("another word", BEN if mode == "all" else ANA, thread=root)
    await team.sim.wait_settled()
    await team.answer(root, lambda said: len(said) == answers)
    await team.mention("the end", thread=root)
    await team.answer(root, lambda said: len(said) == answers + 1)
    assert len(team.model.requests) == answers + 1


async def test_a_message_that_names_someone_else_is_for_them(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    await team.say("<@U0BEN> what do you think?", thread=root)
    await team.sim.wait_settled()
    await team.mention("well?", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert len(team.model.requests) == 2


async def test_an_existing_thread_is_read_once_with_its_authors(team: Team) -> None:
    root = await team.say("lunch at noon?", BEN)
    await team.say("fine with me &amp; <@U0BEN>", CHO, thread=root)
    await team.mention("what was agreed?", thread=root)
    await team.answer(root)
    seen = team.prompt()
    assert seen.index("lunch at noon?") < seen.index("fine with me") < seen.index("what was agreed?")
    assert "U0BEN" not in seen
    assert "U0CHO" not in seen
    await team.mention("again?", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert len(team.sim.calls("conversations.replies")) == 1


async def test_of_a_long_thread_the_top_is_read_as_well_as_the_end(team: Team) -> None:
    root = await team.say("The printer on the third floor is broken", BEN)
    for n in range(60):
        await team.say(f"remark-{n}-", BEN, thread=root)
    await team.mention("what is it about?", thread=root)
    await team.answer(root)
    assert "printer on the third floor" in team.prompt()
    assert [f"remark-{n}-" in team.prompt() for n in (0, 10, 11, 59)] == [False, False, True, True]
    seen = team.prompt()
    assert seen.index("third floor") < seen.index("(11 messages of this thread") < seen.index("remark-11-")


async def test_of_a_thread_from_before_the_own_words_are_known_as_hermes(start: Start) -> None:
    team = await start()
    team.model.reply(text("I am the first answer."))
    root = await team.mention("hello")
    await team.answer(root)
    await team.stop()
    (team.hermes.config.data_dir / "hermes.db").rename(team.hermes.config.data_dir / "lost.db")
    for beside in team.hermes.config.data_dir.glob("hermes.db-*"):
        beside.unlink()
    team = await start()
    await team.mention("go on", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert "Hermes: I am the first answer." in team.prompt()
    await team.say("and on", thread=root)
    await team.answer(root, lambda said: len(said) == 3)


async def test_after_new_the_other_people_of_the_thread_are_still_there(team: Team) -> None:
    root = await team.mention("hello")
    await team.say("I am here too", BEN, thread=root)
    await team.mention("!new", thread=root)
    await team.answer(root, lambda said: say("command.new_done", "en") in str(said))
    await team.say("Ben, look at that", thread=root)
    await team.sim.wait_settled()
    await team.mention("and you?", thread=root)
    await team.answer(root, lambda said: len(said) == 3)
    assert len(team.model.requests) == 2


async def test_a_thread_that_cannot_be_read_is_no_reason_for_silence(team: Team) -> None:
    root = await team.say("lunch at noon?", BEN)
    await team.sim.fail_next("conversations.replies", error="missing_scope", count=5)
    await team.mention("what was agreed?", thread=root)
    await team.answer(root)
    assert "could not be read" in team.prompt()


async def test_names_links_and_signs_are_readable(team: Team) -> None:
    root = await team.mention("ask <@U0BEN> whether 1 < 2 & see https://example.com/a?b=1&c=2 in <#C0GENERAL|general>")
    await team.answer(root)
    seen = team.prompt()
    assert "@ben" in seen.lower()
    assert "1 < 2 & see https://example.com/a?b=1&c=2" in seen
    assert "&lt;" not in seen
    assert "<@" not in seen
    assert "#general" in seen


async def test_a_restart_keeps_the_context_and_the_follow_ups(start: Start) -> None:
    team = await start()
    root = await team.mention("my colour is teal")
    await team.answer(root)
    await team.stop()
    team = await start()
    await team.say("which colour?", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert "my colour is teal" in team.prompt()
    assert GENERAL in str(team.sim.calls("chat.postMessage")[-1].args)
