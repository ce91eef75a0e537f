"""Posting, changing and deleting: what Slack refuses (slack.md §2.4, §4.3, §5.3, §6.3)."""

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from tests.bot.simulator.bolt_app import refused


@pytest.mark.parametrize(
    ("channel", "error"),
    [("C0QUIET", "not_in_channel"), ("G0SECRET", "channel_not_found"), ("C0NOWHERE", "channel_not_found")],
)
async def test_the_bot_posts_only_in_its_channels(client: AsyncWebClient, channel: str, error: str) -> None:
    await refused(client.chat_postMessage(channel=channel, text="hi"), error)


async def test_a_post_to_a_person_goes_to_their_dm(sim: Simulator, client: AsyncWebClient) -> None:
    posted = await client.chat_postMessage(channel="U0ANA", text="hi")
    assert posted["channel"] == "D0ANA"
    assert [m.text for m in sim.messages("D0ANA")] == ["hi"]
    for nobody in ("U0NOBODY", "U0OTHERBOT"):
        await refused(client.chat_postMessage(channel=nobody, text="hi"), "channel_not_found")
    await refused(client.conversations_history(channel="U0ANA"), "channel_not_found")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"text": ""}, "no_text"),
        ({"text": "  \n"}, "no_text"),
        ({"text": "x", "markdown_text": "y"}, "markdown_text_conflict"),
        ({"blocks": [{"type": "divider"}], "markdown_text": "y"}, "markdown_text_conflict"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"text": "x", "blocks": [{"type": "divider"}] * 51}, "invalid_blocks"),
        ({"text": "x", "blocks": "[{"}, "invalid_blocks_format"),
        ({"text": "x", "metadata": {"event_type": 1, "event_payload": {}}}, "invalid_metadata_format"),
        ({"text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"text": "x", "colour": "red"}, "invalid_arguments"),
        ({"text": "x", "username": "somebody"}, "missing_scope"),
        ({"text": ["x"]}, "invalid_arguments"),
    ],
)
async def test_invalid_content_is_refused(client: AsyncWebClient, content: dict[str, Any], error: str) -> None:
    await refused(client.api_call("chat.postMessage", json={"channel": "C0GENERAL", **content}), error)


async def test_a_missing_argument_is_named(client: AsyncWebClient) -> None:
    body = await refused(client.api_call("chat.postMessage", json={"text": "x"}), "invalid_arguments")
    assert body["response_metadata"]["messages"] == ["[ERROR] missing required field: channel"]


async def test_text_is_cut_after_40000_characters(client: AsyncWebClient) -> None:
    posted = await client.chat_postMessage(channel="C0GENERAL", text="x" * 40_001)
    assert len(posted["message"]["text"]) == 40_000
    assert posted["warning"] == "message_truncated"


async def test_a_reply_is_not_a_thread_root(sim: Simulator, client: AsyncWebClient) -> None:
    root = await sim.say("U0ANA", "C0GENERAL", "root")
    reply = await sim.say("U0BEN", "C0GENERAL", "reply", thread_ts=root)
    await refused(client.chat_postMessage(channel="C0GENERAL", text="x", thread_ts=reply), "thread_not_found")


async def test_a_posted_thread_is_seen_as_people_see_it(sim: Simulator, client: AsyncWebClient) -> None:
    root = await sim.say("U0ANA", "C0GENERAL", "root")
    await client.chat_postMessage(channel="C0GENERAL", thread_ts=root, markdown_text="**yes**")
    first, second = sim.thread("C0GENERAL", root)
    assert (first.text, first.reply_count) == ("root", 1)
    assert (second.text, second.format, second.is_bot) == ("**yes**", "markdown", True)


async def test_an_update_has_a_shorter_limit_than_a_post(client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="x"))["ts"]
    await client.chat_update(channel="C0GENERAL", ts=ts, text="x" * 4_000)
    await refused(client.chat_update(channel="C0GENERAL", ts=ts, text="x" * 4_001), "msg_too_long")
    await refused(client.chat_update(channel="C0GENERAL", ts=ts, text="字" * 1_334), "msg_too_long")
    await client.chat_update(channel="C0GENERAL", ts=ts, markdown_text="字" * 12_000)


async def test_the_bot_changes_only_its_own_messages(sim: Simulator, client: AsyncWebClient) -> None:
    theirs = await sim.say("U0ANA", "C0GENERAL", "mine")
    await refused(client.chat_update(channel="C0GENERAL", ts=theirs, text="no"), "cant_update_message")
    await refused(client.chat_delete(channel="C0GENERAL", ts=theirs), "cant_delete_message")
    await refused(client.chat_update(channel="C0GENERAL", ts="1.000001", text="no"), "message_not_found")


async def test_an_update_of_text_alone_keeps_the_blocks(sim: Simulator, client: AsyncWebClient) -> None:
    header = {"type": "header", "text": {"type": "plain_text", "text": "old"}}
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="a", blocks=[header]))["ts"]
    await client.chat_update(channel="C0GENERAL", ts=ts, text="b")
    assert (sim.message("C0GENERAL", ts).text, sim.message("C0GENERAL", ts).fallback) == ("old", "b")
    await client.chat_update(channel="C0GENERAL", ts=ts, text="c", blocks=[])
    assert (sim.message("C0GENERAL", ts).text, sim.message("C0GENERAL", ts).edited) == ("c", True)


async def test_a_deleted_message_is_removed(sim: Simulator, client: AsyncWebClient) -> None:
    root = await sim.say("U0ANA", "C0GENERAL", "root")
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="x", thread_ts=root))["ts"]
    await client.chat_delete(channel="C0GENERAL", ts=ts)
    assert [seen.text for seen in sim.thread("C0GENERAL", root)] == ["root"]


async def test_an_ephemeral_message_is_seen_by_one_member_only(sim: Simulator, client: AsyncWebClient) -> None:
    await client.chat_postEphemeral(channel="G0PRIVATE", user="U0ANA", text="psst")
    assert [seen.text for seen in sim.ephemerals("U0ANA")] == ["psst"]
    assert sim.ephemerals("U0BEN") == sim.messages("G0PRIVATE") == []
    await refused(client.chat_postEphemeral(channel="G0PRIVATE", user="U0CHO", text="x"), "user_not_in_channel")
    await refused(client.chat_postEphemeral(channel="G0PRIVATE", user="U0XXX", text="x"), "user_not_found")


async def test_metadata_is_returned_only_on_request(client: AsyncWebClient) -> None:
    metadata = {"event_type": "delivery", "event_payload": {"id": "7"}}
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="x", metadata=metadata))["ts"]
    plain = await client.conversations_replies(channel="C0GENERAL", ts=ts)
    full = await client.conversations_replies(channel="C0GENERAL", ts=ts, include_all_metadata=True)
    assert "metadata" not in plain["messages"][0]
    assert full["messages"][0]["metadata"] == metadata


async def test_a_permalink_contains_message_and_thread(sim: Simulator, client: AsyncWebClient) -> None:
    root = await sim.say("U0ANA", "C0GENERAL", "root")
    reply = await sim.say("U0ANA", "C0GENERAL", "reply", thread_ts=root)
    link = (await client.chat_getPermalink(channel="C0GENERAL", message_ts=reply))["permalink"]
    assert link == f"{sim.url}/archives/C0GENERAL/p{reply.replace('.', '')}?thread_ts={root}&cid=C0GENERAL"
    await refused(client.chat_getPermalink(channel="C0GENERAL", message_ts="1.000001"), "message_not_found")
