"""People change their minds: edits and deletes of what waits, of what is being answered, and of what is past."""

from tests.e2e.team import ANA, BEN, GENERAL, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import Gate, calls, text

LOOK = ("look", {"at": "the logs"})


async def busy(team: Team, workshop: Workshop) -> tuple[str, Gate]:
    gate = workshop.hold("look")
    team.model.reply(calls(LOOK), text("Seen."), text("Next."))
    root = await team.mention("look at the logs")
    await gate.arrived()
    return root, gate


async def test_an_edit_of_a_waiting_message_applies_before_it_is_read(team: Team, workshop: Workshop) -> None:
    root, gate = await busy(team, workshop)
    waiting = await team.mention("buy ten", BEN, thread=root)
    await team.sim.edit(BEN, GENERAL, waiting, "@hermes buy two")
    await team.sim.wait_settled()
    gate.release()
    await team.answer(root, lambda said: len(said) == 2)
    assert "buy two" in team.prompt()
    assert "buy ten" not in team.prompt()


async def test_a_deleted_waiting_message_is_never_answered(team: Team, workshop: Workshop) -> None:
    root, gate = await busy(team, workshop)
    waiting = await team.mention("buy ten", BEN, thread=root)
    await team.sim.delete(BEN, GENERAL, waiting)
    await team.sim.wait_settled()
    gate.release()
    await team.answer(root)
    await team.status(root, "active")
    assert len(team.model.requests) == 2
    assert "buy ten" not in team.prompt()


async def test_an_edit_of_the_message_being_answered_joins_the_turn(team: Team, workshop: Workshop) -> None:
    root, gate = await busy(team, workshop)
    await team.sim.edit(ANA, GENERAL, root, "@hermes look at the metrics")
    await team.sim.wait_settled()
    gate.release()
    assert await team.answer(root) == ["Seen."]
    last = team.model.requests[-1]["messages"][-1]
    assert last["role"] == "user"
    assert "edited" in last["content"]
    assert "look at the metrics" in last["content"]


async def test_deleting_the_message_being_answered_stops_the_turn(team: Team, workshop: Workshop) -> None:
    root, _ = await busy(team, workshop)
    await team.sim.delete(ANA, GENERAL, root)
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert len(team.model.requests) == 1
    assert workshop.done == []


async def test_a_question_that_is_deleted_withdraws_its_open_card(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(("deploy", {"service": "shop"})), text("never"))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.sim.delete(ANA, GENERAL, root)
    await team.answer(root, lambda said: "question was deleted" in str(said))
    await team.until(lambda: not team.sim.message(GENERAL, card.ts).buttons)
    assert workshop.begun == []


async def test_a_root_with_replies_that_is_deleted_stops_too(team: Team) -> None:
    gate = Gate()
    team.model.reply(text("one two three four five six seven eight", chunks=8).behind(gate, after=4))
    root = await team.mention("count")
    await team.until(lambda: [m for m in team.sim.thread(GENERAL, root) if m.is_bot])
    await team.sim.delete(ANA, GENERAL, root)
    await team.answer(root, lambda said: "question was deleted" in str(said))
    await team.until(lambda: team.model.dropped == 1)


async def test_changes_of_older_messages_are_a_note_for_the_next_turn(team: Team) -> None:
    root = await team.mention("we are ten people")
    await team.answer(root)
    second = await team.mention("and two dogs", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    await team.sim.edit(ANA, GENERAL, root, "@hermes we are twelve people")
    await team.sim.delete(ANA, GENERAL, second)
    await team.sim.wait_settled()
    assert len(team.model.requests) == 2
    await team.mention("so how many?", thread=root)
    await team.answer(root, lambda said: len(said) == 3)
    assert "we are twelve people" in team.prompt()
    assert "deleted an earlier message" in team.prompt()


async def test_an_edit_that_mentions_hermes_for_the_first_time_is_answered(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    plain = await team.say("what about lunch", BEN, thread=root)
    await team.sim.wait_settled()
    await team.sim.edit(BEN, GENERAL, plain, "@hermes what about lunch")
    await team.answer(root, lambda said: len(said) == 2)
    assert "what about lunch" in team.prompt()


async def test_an_unfurl_changes_nothing(team: Team) -> None:
    root = await team.mention("read https://example.com/page")
    await team.answer(root)
    await team.sim.unfurl(GENERAL, root)
    await team.sim.wait_settled()
    await team.mention("and?", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert "edited" not in team.prompt()
    assert len(team.model.requests) == 2
