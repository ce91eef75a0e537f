"""Edits and deletions of messages that wait, are being answered, or were answered."""

from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, SlackWithHermes, looking
from tests.fakes.model_scripts import Gate, text


async def busy(slack: SlackWithHermes, fake_tools: FakeTools) -> tuple[str, Gate]:
    root, gate = await looking(slack, fake_tools, text("Seen."), text("Next."))
    return root, gate


async def test_an_edited_waiting_message_is_read_in_its_new_form(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    root, gate = await busy(slack, fake_tools)
    waiting = await slack.mention("buy ten", BEN, thread=root)
    await slack.sim.edit(BEN, GENERAL, waiting, "@hermes buy two")
    await slack.sim.wait_settled()
    gate.release()
    await slack.answer(root, lambda said: len(said) == 2)
    assert "buy two" in slack.prompt()
    assert "buy ten" not in slack.prompt()


async def test_a_deleted_waiting_message_is_never_answered(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    root, gate = await busy(slack, fake_tools)
    waiting = await slack.mention("buy ten", BEN, thread=root)
    await slack.sim.delete(BEN, GENERAL, waiting)
    await slack.sim.wait_settled()
    gate.release()
    await slack.answer(root)
    await slack.status(root, "active")
    assert len(slack.model.requests) == 2
    assert "buy ten" not in slack.prompt()


async def test_an_edit_of_the_message_being_answered_joins_the_turn(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, gate = await busy(slack, fake_tools)
    await slack.sim.edit(ANA, GENERAL, root, "@hermes look at the metrics")
    await slack.sim.wait_settled()
    gate.release()
    assert await slack.answer(root) == ["Seen."]
    last = slack.model.requests[-1]["messages"][-1]
    assert last["role"] == "user"
    assert "edited" in last["content"]
    assert "look at the metrics" in last["content"]


async def test_deleting_the_message_being_answered_stops_the_turn(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, _ = await busy(slack, fake_tools)
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.idle()
    assert len(slack.model.requests) == 1
    assert fake_tools.finished == []


async def test_deleting_a_question_withdraws_its_open_card(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    root, card = await slack.ask_to_deploy(text("never"))
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.answer(root, lambda said: "question was deleted" in str(said))
    await slack.until(lambda: not slack.sim.message(GENERAL, card.ts).buttons)
    assert fake_tools.started == []


async def test_deleting_a_root_with_replies_stops_the_turn(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text("one two three four five six seven eight", chunks=8).behind(gate, after=4))
    root = await slack.mention("count")
    await slack.until(lambda: [m for m in slack.sim.thread(GENERAL, root) if m.is_bot])
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.answer(root, lambda said: "question was deleted" in str(said))
    await slack.until(lambda: slack.model.dropped == 1)


async def test_changes_of_older_messages_are_reported_in_the_next_turn(slack: SlackWithHermes) -> None:
    root = await slack.mention("we are ten people")
    await slack.answer(root)
    second = await slack.mention("and two dogs", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    await slack.sim.edit(ANA, GENERAL, root, "@hermes we are twelve people")
    await slack.sim.delete(ANA, GENERAL, second)
    await slack.sim.wait_settled()
    assert len(slack.model.requests) == 2
    await slack.mention("so how many?", thread=root)
    await slack.answer(root, lambda said: len(said) == 3)
    assert "we are twelve people" in slack.prompt()
    assert "deleted an earlier message" in slack.prompt()


async def test_an_edit_that_mentions_hermes_for_the_first_time_is_answered(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    plain = await slack.say("what about lunch", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.sim.edit(BEN, GENERAL, plain, "@hermes what about lunch")
    await slack.answer(root, lambda said: len(said) == 2)
    assert "what about lunch" in slack.prompt()


async def test_an_unfurl_changes_nothing(slack: SlackWithHermes) -> None:
    root = await slack.mention("read https://example.com/page")
    await slack.answer(root)
    await slack.sim.unfurl(GENERAL, root)
    await slack.sim.wait_settled()
    await slack.mention("and?", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert "edited" not in slack.prompt()
    assert len(slack.model.requests) == 2
