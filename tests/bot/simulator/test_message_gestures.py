"""What people write, and which events the app gets (slack.md §5.3)."""

import pytest

from bot.simulator.server import Simulator
from bot.simulator.simulator_errors import SimulatorError
from tests.bot.simulator.bolt_app import Bolt


async def test_an_edit_is_a_message_changed_event_with_its_author(sim: Simulator, bolt: Bolt) -> None:
    ts = await sim.say("U0ANA", "D0ANA", "helo")
    await sim.edit("U0ANA", "D0ANA", ts, "hello")
    await sim.wait_settled()
    change = bolt.of("message", "message_changed")[0]
    assert (change["message"]["text"], change["previous_message"]["text"]) == ("hello", "helo")
    assert (change["message"]["edited"]["user"], change["message"]["ts"]) == ("U0ANA", ts)
    with pytest.raises(SimulatorError, match="cant_update_message"):
        await sim.edit("U0BEN", "D0ANA", ts, "x")


async def test_an_edit_that_adds_a_mention_sends_app_mention(sim: Simulator, bolt: Bolt) -> None:
    ts = await sim.say("U0ANA", "C0GENERAL", "what?")
    await sim.edit("U0ANA", "C0GENERAL", ts, "@hermes what?")
    await sim.edit("U0ANA", "C0GENERAL", ts, "@hermes what now?")
    await sim.wait_settled()
    assert [event["text"] for event in bolt.of("app_mention")] == ["<@U0HERMES> what?"]


async def test_an_unfurl_is_a_message_changed_event_without_an_edit(sim: Simulator, bolt: Bolt) -> None:
    ts = await sim.say("U0ANA", "D0ANA", "see https://example.com")
    await sim.unfurl("D0ANA", ts)
    await sim.wait_settled()
    change = bolt.of("message", "message_changed")[0]
    assert "edited" not in change["message"]
    assert change["message"]["text"] == change["previous_message"]["text"] == "see <https://example.com>"


async def test_a_deletion_is_a_message_deleted_event(sim: Simulator, bolt: Bolt) -> None:
    ts = await sim.say("U0ANA", "D0ANA", "oops")
    await sim.delete("U0ANA", "D0ANA", ts)
    await sim.wait_settled()
    assert bolt.of("message", "message_deleted")[0]["deleted_ts"] == ts
    assert sim.thread("D0ANA", ts) == []


async def test_a_deleted_root_with_replies_becomes_a_tombstone(sim: Simulator, bolt: Bolt) -> None:
    root = await sim.say("U0ANA", "C0GENERAL", "root")
    await sim.say("U0BEN", "C0GENERAL", "reply", thread_ts=root)
    await sim.delete("U0ANA", "C0GENERAL", root)
    await sim.wait_settled()
    change = bolt.of("message", "message_changed")[0]
    assert (change["message"]["subtype"], change["previous_message"]["text"]) == ("tombstone", "root")
    assert [seen.text for seen in sim.thread("C0GENERAL", root)] == ["This message was deleted.", "reply"]


async def test_another_bot_can_mention_the_bot(sim: Simulator, bolt: Bolt) -> None:
    await sim.bot_says("C0GENERAL", "<@U0HERMES> go")
    await sim.wait_settled()
    assert bolt.of("app_mention")[0]["bot_id"] == "B0OTHER"
    with pytest.raises(SimulatorError, match="not_a_bot"):
        await sim.bot_says("C0GENERAL", "x", user="U0ANA")


async def test_joining_and_leaving_are_events(sim: Simulator, bolt: Bolt) -> None:
    await sim.join("U0HERMES", "C0QUIET")
    await sim.say("U0ANA", "C0QUIET", "welcome")
    await sim.leave("U0HERMES", "C0QUIET")
    await sim.say("U0ANA", "C0QUIET", "bye")
    await sim.wait_settled()
    assert [event["text"] for event in bolt.of("message")] == ["welcome"]
    assert bolt.of("member_joined_channel")[0]["channel"] == "C0QUIET"


async def test_the_bot_gets_no_events_from_other_channels(sim: Simulator, bolt: Bolt) -> None:
    await sim.say("U0ANA", "C0QUIET", "@hermes?")
    await sim.say("U0ANA", "G0SECRET", "@hermes?")
    await sim.wait_settled()
    assert bolt.events == []


@pytest.mark.parametrize(
    ("user", "channel", "thread_ts", "error"),
    [
        ("U0CHO", "G0PRIVATE", None, "not_in_channel"),
        ("U0NOBODY", "C0GENERAL", None, "user_not_found"),
        ("U0ANA", "C0NOWHERE", None, "channel_not_found"),
        ("U0ANA", "C0GENERAL", "1.000001", "thread_not_found"),
    ],
)
async def test_people_write_only_in_their_channels(
    sim: Simulator, user: str, channel: str, thread_ts: str | None, error: str
) -> None:
    with pytest.raises(SimulatorError, match=error):
        await sim.say(user, channel, "x", thread_ts=thread_ts)


async def test_people_of_another_organization_have_their_team(sim: Simulator, bolt: Bolt) -> None:
    await sim.say("U0EXT", "C0SHARED", "@hermes hi")
    await sim.wait_settled()
    assert all(body["is_ext_shared_channel"] for body in bolt.bodies)
    assert {event["user_team"] for event in bolt.events} == {"T0OTHER"}


async def test_a_file_is_sent_with_its_message(sim: Simulator, bolt: Bolt) -> None:
    await sim.say("U0ANA", "C0GENERAL", "@hermes see", files=[{"name": "a.txt", "content": "hello"}])
    await sim.wait_settled()
    message = bolt.of("message", "file_share")[0]
    assert (message["files"][0]["name"], message["files"][0]["size"]) == ("a.txt", 5)
    assert bolt.of("app_mention")[0]["files"]


async def test_a_group_dm_and_a_private_channel_have_their_types(sim: Simulator, bolt: Bolt) -> None:
    await sim.say("U0ANA", "G0TRIO", "a")
    await sim.say("U0ANA", "G0PRIVATE", "b")
    await sim.wait_settled()
    assert {event["text"]: event["channel_type"] for event in bolt.events} == {"a": "mpim", "b": "group"}
