"""Native streams: modes, recipients, limits, endings (slack.md §2)."""

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from tests.bot.simulator.bolt_app import WHO, refused

TEXT = {"type": "markdown_text", "text": "hello "}


def task(status: str, **more: str) -> dict[str, Any]:
    return {"type": "task_update", "id": "t1", "title": "Look it up", "status": status, **more}


@pytest.fixture
async def ts(client: AsyncWebClient, root: str) -> str:
    started = await client.chat_startStream(channel="C0GENERAL", thread_ts=root, chunks=[TEXT], **WHO)
    return str(started["ts"])


async def append(client: AsyncWebClient, ts: str, **content: Any) -> None:
    await client.api_call("chat.appendStream", json={"channel": "C0GENERAL", "ts": ts, **content})


async def stop(client: AsyncWebClient, ts: str, **content: Any) -> None:
    await client.api_call("chat.stopStream", json={"channel": "C0GENERAL", "ts": ts, **content})


async def test_text_and_task_cards_are_streamed(sim: Simulator, client: AsyncWebClient, ts: str) -> None:
    await append(client, ts, chunks=[task("in_progress"), {"type": "markdown_text", "text": "world"}])
    seen = sim.message("C0GENERAL", ts)
    assert (seen.fallback, seen.streaming_state) == ("hello world", "in_progress")
    assert [(card.title, card.status) for card in seen.tasks] == [("Look it up", "in_progress")]
    await append(client, ts, chunks=[task("complete", output="found")])
    await stop(client, ts, chunks=[TEXT], metadata={"event_type": "d", "event_payload": {}})
    seen = sim.message("C0GENERAL", ts)
    assert (seen.streaming_state, [(card.status, card.output) for card in seen.tasks]) == (
        "completed",
        [("complete", "found")],
    )
    assert [block["type"] for block in seen.blocks] == ["markdown", "task_card", "markdown"]


async def test_a_plan_contains_its_task_cards(sim: Simulator, client: AsyncWebClient, root: str) -> None:
    first = [{"type": "plan_update", "title": "My plan"}, task("pending")]
    started = await client.chat_startStream(
        channel="C0GENERAL", thread_ts=root, chunks=first, task_display_mode="plan", **WHO
    )
    seen = sim.message("C0GENERAL", started["ts"])
    assert (seen.plan_title, [card.status for card in seen.tasks]) == ("My plan", ["pending"])


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"recipient_user_id": None}, "missing_recipient_user_id"),
        ({"recipient_team_id": None}, "missing_recipient_team_id"),
        ({"recipient_user_id": "U0OTHERBOT"}, "user_not_found"),
        ({"recipient_user_id": "U0EXT"}, "user_not_found"),
        ({"recipient_team_id": "T0ELSE"}, "team_not_found"),
        ({"thread_ts": None}, "invalid_thread_ts"),
        ({"thread_ts": "1.000001"}, "thread_not_found"),
        ({"channel": "C0QUIET"}, "not_in_channel"),
        ({"task_display_mode": "fancy"}, "invalid_arguments"),
        ({"markdown_text": "x", "chunks": [TEXT]}, "cannot_provide_both_markdown_text_and_chunks"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"icon_emoji": ":x:"}, "missing_scope"),
    ],
)
async def test_an_invalid_stream_start_is_refused(
    client: AsyncWebClient, root: str, changes: dict[str, Any], error: str
) -> None:
    arguments = {"channel": "C0GENERAL", "thread_ts": root, **WHO, **changes}
    await refused(client.api_call("chat.startStream", json=arguments), error)


async def test_a_dm_needs_no_recipient(sim: Simulator, client: AsyncWebClient) -> None:
    root = await sim.say("U0CHO", "D0CHO", "hi")
    await client.chat_startStream(channel="D0CHO", thread_ts=root)


@pytest.mark.parametrize(("first", "second"), [("text", "chunks"), ("chunks", "text")])
async def test_a_stream_takes_only_its_first_kind_of_content(
    client: AsyncWebClient, root: str, first: str, second: str
) -> None:
    content: dict[str, dict[str, Any]] = {"text": {"markdown_text": "x"}, "chunks": {"chunks": [TEXT]}}
    started = await client.chat_startStream(channel="C0GENERAL", thread_ts=root, **content[first], **WHO)
    await refused(append(client, started["ts"], **content[second]), "streaming_mode_mismatch")
    await refused(stop(client, started["ts"], **content[second]), "streaming_mode_mismatch")
    await append(client, started["ts"], **content[first])


@pytest.mark.parametrize(
    ("chunk", "error"),
    [
        ({"type": "poem"}, "invalid_chunks"),
        ({"type": "markdown_text"}, "invalid_chunks"),
        (task("sleeping"), "invalid_chunks"),
        (task("complete", title="x" * 257), "invalid_chunks"),
        (task("complete", details="x" * 257), "invalid_chunks"),
        ({"type": "task_update", "title": "x", "status": "complete"}, "invalid_chunks"),
        ({"type": "plan_update", "title": "x" * 257}, "invalid_chunks"),
        ({"type": "blocks", "blocks": []}, "invalid_chunks"),
        ({"type": "blocks", "blocks": [{"type": "alert"}]}, "invalid_blocks"),
        ("words", "invalid_chunks"),
    ],
)
async def test_an_invalid_chunk_refuses_all_chunks_of_the_call(
    sim: Simulator, client: AsyncWebClient, ts: str, chunk: Any, error: str
) -> None:
    await refused(append(client, ts, chunks=[TEXT, chunk]), error)
    assert sim.message("C0GENERAL", ts).fallback == "hello "


async def test_an_empty_list_of_chunks_is_refused(client: AsyncWebClient, ts: str) -> None:
    await refused(append(client, ts, chunks=[]), "invalid_chunks")
    await refused(append(client, ts), "no_text")


async def test_a_streamed_message_has_a_length_limit(client: AsyncWebClient, ts: str) -> None:
    await append(client, ts, chunks=[{"type": "markdown_text", "text": "x" * 11_990}])
    await refused(append(client, ts, chunks=[TEXT]), "msg_too_long")
    await stop(client, ts)


async def test_a_stream_expires_after_five_minutes_and_can_then_be_edited(
    sim: Simulator, client: AsyncWebClient, ts: str, root: str
) -> None:
    await refused(client.chat_update(channel="C0GENERAL", ts=ts, text="x"), "streaming_state_conflict")
    await sim.advance(301)
    await refused(append(client, ts, chunks=[TEXT]), "message_not_in_streaming_state")
    await refused(stop(client, ts), "message_not_in_streaming_state")
    assert sim.message("C0GENERAL", ts).streaming_state == "errored"
    session = sim.session("C0GENERAL", root)
    assert session
    assert session.status == "active"
    await client.chat_update(channel="C0GENERAL", ts=ts, markdown_text="whole")
    assert sim.message("C0GENERAL", ts).text == "whole"


async def test_one_stream_can_be_aged_alone(sim: Simulator, client: AsyncWebClient, ts: str) -> None:
    await sim.age_stream(ts, 200)
    await append(client, ts, chunks=[TEXT])
    await sim.expire_stream(ts)
    await refused(append(client, ts, chunks=[TEXT]), "message_not_in_streaming_state")


async def test_a_stopped_stream_takes_no_more_content(client: AsyncWebClient, ts: str) -> None:
    await stop(client, ts)
    await refused(append(client, ts, chunks=[TEXT]), "message_not_in_streaming_state")
    await refused(stop(client, ts), "message_not_in_streaming_state")


async def test_the_stop_button_ends_the_stream_and_sends_the_event(
    sim: Simulator, client: AsyncWebClient, ts: str, root: str
) -> None:
    assert await sim.press_stop("U0BEN", "C0GENERAL", root) == [ts]
    await refused(append(client, ts, chunks=[TEXT]), "stopped_by_user")


async def test_the_bot_appends_only_to_its_own_streams(sim: Simulator, client: AsyncWebClient, root: str) -> None:
    await refused(append(client, root, chunks=[TEXT]), "message_not_owned_by_app")
    await refused(append(client, "1.000001", chunks=[TEXT]), "message_not_found")
    posted = (await client.chat_postMessage(channel="C0GENERAL", text="x"))["ts"]
    await refused(append(client, posted, chunks=[TEXT]), "message_not_in_streaming_state")


async def test_streams_can_be_switched_off(sim: Simulator, client: AsyncWebClient, root: str) -> None:
    sim.switches.streams_enabled = False
    begin = client.chat_startStream(channel="C0GENERAL", thread_ts=root, **WHO)
    await refused(begin, "method_not_supported_for_channel_type")


@pytest.mark.parametrize("status", ["active", "processing", "suspended", "closed"])
async def test_stopping_a_stream_sets_the_session_status(
    sim: Simulator, client: AsyncWebClient, ts: str, root: str, status: str
) -> None:
    await refused(stop(client, ts, session_status="thinking hard"), "invalid_arguments")
    await stop(client, ts, session_status=status)
    session = sim.session("C0GENERAL", root)
    assert session
    assert session.status == status


async def test_the_sdk_helper_streams(sim: Simulator, client: AsyncWebClient, root: str) -> None:
    stream = await client.chat_stream(channel="C0GENERAL", thread_ts=root, buffer_size=5, **WHO)
    await stream.append(markdown_text="one two ")
    await stream.append(markdown_text="three")
    await stream.stop(markdown_text=" four")
    assert sim.thread("C0GENERAL", root)[1].text == "one two three four"
