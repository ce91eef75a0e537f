"""Which messages in Slack belong to a delivery: looked up before anything is sent a second time."""

from bot.slack.rate_limited_client import Identity
from bot.slack.sent_messages import EVENT_TYPE, as_posted
from tests.bot.slack.slack_setup import Stage
from tools.context import Posted

TEXT = "A text that is long enough to be streamed before its end. "


async def find(stage: Stage, *keys: str, after: str | None = None, recorded: set[str] | None = None) -> list[Posted]:
    return await stage.chat.find_sent(stage.thread, keys, after=after, recorded=recorded)


async def test_a_message_belongs_to_the_delivery_whose_key_is_in_its_metadata(stage: Stage) -> None:
    (first,) = await stage.chat.post(stage.thread, "One", key="k1")
    (second,) = await stage.chat.post(stage.thread, "Two", key="k2")
    await stage.chat.post(stage.thread, "Three", key="k3")
    assert [m.ts for m in await find(stage, "k2", "k1")] == [first, second]
    assert [m.ts for m in await find(stage, "k2", "k1", recorded={first, second})] == [first, second]
    assert await find(stage, "k") == []


async def test_an_open_stream_belongs_to_any_delivery_unless_it_is_recorded_for_another(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(TEXT)
    ts = (await stage.streaming()).ts
    assert [m.ts for m in await find(stage, "other", recorded=set())] == [ts]
    assert await find(stage, "other", recorded={ts}) == []
    assert await find(stage, "other") == []
    await reply.finish(TEXT)
    assert [m.ts for m in await find(stage, "key-1", recorded=set())] == [ts]


async def test_a_stream_that_slack_ended_counts_only_after_the_given_time(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(TEXT)
    ts = (await stage.streaming()).ts
    await stage.sim.expire_stream(ts)
    assert [m.ts for m in await find(stage, "k", after=stage.thread.root, recorded=set())] == [ts]
    assert await find(stage, "k", after=ts, recorded=set()) == []
    await reply.close()


async def test_what_people_write_belongs_to_no_delivery(stage: Stage) -> None:
    await stage.sim.say("U0ANA", "C0GENERAL", "hello", thread_ts=stage.thread.root)
    assert await find(stage, "k", after=stage.thread.root, recorded=set()) == []


def test_metadata_that_others_made_up_is_read_as_far_as_it_makes_sense() -> None:
    metadata = {"event_type": EVENT_TYPE, "event_payload": {"key": "k", "part": "the first"}}
    message = as_posted({"ts": "1.0", "user": "U2", "metadata": metadata}, Identity("T1", "U1", "B1"))
    assert (message.key, message.part, message.ours) == ("k", 0, False)
