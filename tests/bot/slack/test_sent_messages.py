"""Which messages in Slack belong to a delivery: looked up before anything is sent a second time."""

from bot.slack.rate_limited_client import Identity
from bot.slack.sent_messages import EVENT_TYPE, as_posted
from tests.bot.slack.slack_setup import SlackThread
from tools.tool_context import Posted

TEXT = "A text that is long enough to be streamed before its end. "


async def find(
    slack: SlackThread, *keys: str, after: str | None = None, recorded: set[str] | None = None
) -> list[Posted]:
    return await slack.chat.find_sent(slack.thread, keys, after=after, recorded=recorded)


async def test_a_message_belongs_to_the_delivery_whose_key_is_in_its_metadata(slack: SlackThread) -> None:
    (first,) = await slack.chat.post(slack.thread, "One", key="k1")
    (second,) = await slack.chat.post(slack.thread, "Two", key="k2")
    await slack.chat.post(slack.thread, "Three", key="k3")
    assert [m.ts for m in await find(slack, "k2", "k1")] == [first, second]
    assert [m.ts for m in await find(slack, "k2", "k1", recorded={first, second})] == [first, second]
    assert await find(slack, "k") == []


async def test_an_open_stream_belongs_to_any_delivery_unless_it_is_recorded_for_another(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(TEXT)
    ts = (await slack.streaming()).ts
    assert [m.ts for m in await find(slack, "other", recorded=set())] == [ts]
    assert await find(slack, "other", recorded={ts}) == []
    assert await find(slack, "other") == []
    await reply.finish(TEXT)
    assert [m.ts for m in await find(slack, "key-1", recorded=set())] == [ts]


async def test_a_stream_that_slack_ended_counts_only_after_the_given_time(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(TEXT)
    ts = (await slack.streaming()).ts
    await slack.sim.expire_stream(ts)
    assert [m.ts for m in await find(slack, "k", after=slack.thread.root, recorded=set())] == [ts]
    assert await find(slack, "k", after=ts, recorded=set()) == []
    await reply.close()


async def test_what_people_write_belongs_to_no_delivery(slack: SlackThread) -> None:
    await slack.sim.say("U0ANA", "C0GENERAL", "hello", thread_ts=slack.thread.root)
    assert await find(slack, "k", after=slack.thread.root, recorded=set()) == []


def test_metadata_that_others_made_up_is_read_as_far_as_it_makes_sense() -> None:
    metadata = {"event_type": EVENT_TYPE, "event_payload": {"key": "k", "part": "the first"}}
    message = as_posted({"ts": "1.0", "user": "U2", "metadata": metadata}, Identity("T1", "U1", "B1"))
    assert (message.key, message.part, message.ours) == ("k", 0, False)
