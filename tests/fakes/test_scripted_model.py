"""The scripted model refuses what a strict server refuses and sends exactly what its script contains."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.fakes import benchmark_model
from tests.fakes.model_scripts import broken, by_step, calls, error, same_index_calls, text, text_and_calls
from tests.fakes.scripted_model import ScriptedModel

CALL = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
TOOL = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}
HELLO = {"role": "user", "content": "hello"}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages or (HELLO,)), **more}


async def ask(model: ScriptedModel, sent: dict[str, Any]) -> tuple[int, str]:
    headers = {"Authorization": "Bearer key"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{model.base_url}/chat/completions", json=sent, headers=headers) as response,
    ):
        return response.status, await response.text()


def events(streamed: str) -> list[Any]:
    found = [line[6:] for line in streamed.splitlines() if line.startswith("data: ")]
    assert found.pop() == "[DONE]"
    return [json.loads(data) for data in found]


BAD: dict[str, dict[str, Any]] = {
    "a call without its result": body(HELLO, {"role": "assistant", "tool_calls": [CALL]}),
    "a message between a call and its result": body(
        {"role": "assistant", "tool_calls": [CALL]}, HELLO, {"role": "tool", "tool_call_id": "c1", "content": "x"}
    ),
    "a result without a call": body(HELLO, {"role": "tool", "tool_call_id": "c9", "content": "x"}),
    "two results for one call": body(
        {"role": "assistant", "tool_calls": [CALL]}, *[{"role": "tool", "tool_call_id": "c1", "content": "x"}] * 2
    ),
    "an unknown role": body({"role": "robot", "content": "x"}),
    "an unknown field": body(HELLO, memory=True),
    "an unknown message field": body({**HELLO, "ts": "1.2"}),
    "no content": body({"role": "user", "content": None}),
    "a content that is a number": body({"role": "user", "content": 3}),
    "an unknown content part": body({"role": "user", "content": [{"type": "smell"}]}),
    "no model": {"messages": [HELLO]},
    "no messages": {"model": "m", "messages": []},
    "broken arguments": body(
        {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "clock", "arguments": "{"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ),
    "an empty list of tools": body(HELLO, tools=[]),
    "a bad tool name": body(HELLO, tools=[{"type": "function", "function": {"name": "a b"}}]),
    "one tool twice": body(HELLO, tools=[TOOL, TOOL]),
    "a choice without tools": body(HELLO, tool_choice="auto"),
    "stream options without stream": body(HELLO, stream_options={"include_usage": True}),
    "a hot temperature": body(HELLO, temperature=3),
}


@pytest.mark.parametrize("what", BAD)
async def test_an_invalid_request_is_refused_and_recorded(what: str) -> None:
    async with ScriptedModel() as model:
        status, _ = await ask(model, BAD[what])
        assert status == 400
        assert model.violations
        assert not model.requests


async def test_a_valid_request_with_a_tool_result_is_accepted() -> None:
    result = {"role": "tool", "tool_call_id": "c1", "content": "noon"}
    sent = body(
        {"role": "system", "content": "s"}, HELLO, {"role": "assistant", "content": None, "tool_calls": [CALL]}, result
    )
    async with ScriptedModel() as model:
        status, _ = await ask(model, {**sent, "tools": [TOOL], "tool_choice": "auto", "stream": True})
        assert (status, model.violations) == (200, [])


async def test_text_has_the_requested_number_of_chunks_and_usage_only_on_request() -> None:
    async with ScriptedModel() as model:
        model.default = text("abcdefgh", chunks=4)
        _, plain = await ask(model, body(stream=True))
        _, counted = await ask(model, body(stream=True, stream_options={"include_usage": True}))
        pieces = [e["choices"][0]["delta"].get("content") for e in events(plain)]
        assert [p for p in pieces if p] == ["ab", "cd", "ef", "gh"]
        assert events(counted)[-1]["choices"] == []
        assert events(counted)[-1]["usage"]["completion_tokens"] == 4


async def test_rules_come_before_the_queue_and_the_queue_before_the_default() -> None:
    async with ScriptedModel() as model:
        model.reply(text("queued"))
        model.on("WEATHER", by_step(calls(("weather", {})), text("sunny")))
        _, first = await ask(model, body({"role": "user", "content": "the weather?"}))
        _, second = await ask(model, body())
        _, third = await ask(model, body())
        assert '"name": "weather"' in first
        assert "queued" in second
        assert "Understood." in third


async def test_parallel_calls_can_all_have_index_zero() -> None:
    async with ScriptedModel() as model:
        model.reply(same_index_calls(("a", {}), ("b", {"x": 1})), text_and_calls("So:", ("a", {})))
        _, streamed = await ask(model, body(stream=True))
        found = [c for e in events(streamed) for c in e["choices"][0]["delta"].get("tool_calls", [])]
        assert [(c["index"], c["function"]["name"]) for c in found] == [(0, "a"), (0, "b")]
        assert len({c["id"] for c in found}) == 2


async def test_errors_and_closed_connections_follow_the_script() -> None:
    async with ScriptedModel() as model:
        model.reply(error(429, "slow down", retry_after=2), broken("a b c", after_chunks=1))
        status, answer = await ask(model, body())
        assert (status, json.loads(answer)["error"]["message"]) == (429, "slow down")
        with pytest.raises(aiohttp.ClientPayloadError):
            await ask(model, body(stream=True))


async def test_a_held_request_is_answered_after_release() -> None:
    async with ScriptedModel() as model:
        gate = model.hold()
        waiting = asyncio.create_task(ask(model, body()))
        await gate.arrived()
        assert not waiting.done()
        gate.release()
        assert (await waiting)[0] == 200


def test_the_benchmark_model_calls_one_tool_and_answers_in_twenty_chunks() -> None:
    assert sum(b'"content"' in e for e in benchmark_model.text_events()) == 20
    assert any(b"current_time" in e for e in benchmark_model.call_events("current_time", "{}"))
