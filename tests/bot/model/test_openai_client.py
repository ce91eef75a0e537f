"""The model client over real sockets: what it sends, what it tries again, which errors it raises."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from bot.model.openai_client import OpenAIModel
from bot.ports import ModelError, ModelRequest
from tests.bot.model.conftest import KEY, RecordedSleep, RecordingSink
from tests.fakes.model_scripts import (
    Gate,
    broken,
    calls,
    ends_without_finish,
    error,
    hang,
    json_response,
    midstream_error,
    raw,
    same_index_calls,
    text,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.waiting import until

Connect = Callable[..., OpenAIModel]
HELLO = ModelRequest(messages=[{"role": "user", "content": "hello"}])
HALVES = [broken("half an answer"), ends_without_finish("half an "), midstream_error("half an ")]
TOOL = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
async def server() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as made:
        yield made
    assert made.violations == []


async def failing(model: OpenAIModel, request: ModelRequest = HELLO, sink: RecordingSink | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.ask(request, sink)
    assert KEY not in str(caught.value)
    return caught.value


async def test_text_streams_into_the_sink_and_is_returned_completely(
    server: ScriptedModel, connect: Connect, sink: RecordingSink
) -> None:
    gate = Gate()
    server.reply(text("one two three").behind(gate, after=1).with_usage(9, 3, 2))
    asking = asyncio.create_task(connect(server.base_url).ask(HELLO, sink))
    await gate.arrived()
    await until(sink.now, ["one "])
    gate.release()
    reply = await asking
    assert (reply.text, sink.texts, reply.finish) == ("one two three", ["one two three"], "stop")
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.cached, reply.model) == (9, 3, 2, "m")


async def test_calls_that_share_an_index_are_returned_separately(server: ScriptedModel, connect: Connect) -> None:
    server.reply(same_index_calls(("clock", {"a": 1}), ("clock", {"b": 2})))
    reply = await connect(server.base_url).ask(ModelRequest(HELLO.messages, tools=[TOOL]))
    assert [c.arguments for c in reply.calls] == ['{"a": 1}', '{"b": 2}']


async def test_the_request_contains_what_was_asked_and_nothing_else(server: ScriptedModel, connect: Connect) -> None:
    model = connect(server.base_url, temperature=0.3)
    await model.ask(HELLO)
    await model.ask(ModelRequest(HELLO.messages, tools=[TOOL], tool_choice="none", max_tokens=5, model="other"))
    bare, full = server.requests
    stream = {"stream": True, "stream_options": {"include_usage": True}, "temperature": 0.3}
    assert bare == {"model": "m", "messages": HELLO.messages, **stream}
    assert full == {**bare, "model": "other", "tools": [TOOL], "tool_choice": "none", "max_tokens": 5}
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


async def test_a_lone_surrogate_in_a_message_is_replaced(server: ScriptedModel, connect: Connect) -> None:
    await connect(server.base_url).ask(ModelRequest([{"role": "user", "content": "a\ud800b 中文"}]))
    assert server.asked[0].last_user == "a\ufffdb 中文"


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
async def test_a_retryable_status_is_tried_again(
    status: int, server: ScriptedModel, connect: Connect, waits: RecordedSleep
) -> None:
    server.reply(error(status), error(status), text("there"))
    assert (await connect(server.base_url).ask(HELLO)).text == "there"
    assert waits.seconds == [0.5, 1.0]


async def test_the_delay_that_a_server_asks_for_is_kept_up_to_a_minute(
    server: ScriptedModel, connect: Connect, waits: RecordedSleep
) -> None:
    server.reply(error(429, retry_after=7), error(503, retry_after=3600), text("there"))
    await connect(server.base_url).ask(HELLO)
    assert waits.seconds == [7, 60]


async def test_attempts_are_limited(server: ScriptedModel, connect: Connect) -> None:
    server.default = error(503, "Traceback (most recent call last): secret")
    failure = await failing(connect(server.base_url, attempts=3))
    assert (failure.code, len(server.requests)) == ("server", 3)
    assert "secret" not in str(failure)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), "auth"),
        (error(403), "auth"),
        (error(400, f"bad thing with {KEY} in it"), "rejected"),
        (error(404, {"error": 'model "m" not found, try pulling it first'}), "rejected"),
        (error(404, {"detail": "Not Found"}), "rejected"),
        (error(422, None), "rejected"),
        (error(429, {"error": {"code": "insufficient_quota", "message": "pay"}}), "rate_limited"),
        (error(400, {"error": {"code": "context_length_exceeded", "message": "x"}}), "overflow"),
        (error(500, {"error": {"type": "exceed_context_size_error", "message": "x"}}), "overflow"),
        (error(413, "large"), "overflow"),
        (raw("[1]"), "malformed"),
        (json_response({"hello": "world"}), "malformed"),
    ],
)
async def test_a_final_error_is_not_tried_again(
    script: Any, code: str, server: ScriptedModel, connect: Connect
) -> None:
    server.default = script
    assert (await failing(connect(server.base_url))).code == code
    assert len(server.requests) == 1


async def test_an_unknown_model_and_a_wrong_url_are_distinguished(connect: Connect) -> None:
    async with ScriptedModel(models=("other",)) as server:
        assert "does not know the model 'm'" in str(await failing(connect(server.base_url)))
        assert "/v1" in str(await failing(connect(server.base_url.removesuffix("/v1"))))


@pytest.mark.parametrize("script", [broken("a b c", after_chunks=0), ends_without_finish(""), midstream_error()])
async def test_a_stream_that_breaks_before_any_text_is_tried_again(
    script: Any, server: ScriptedModel, connect: Connect, sink: RecordingSink
) -> None:
    server.reply(script, script, text("whole"))
    assert (await connect(server.base_url).ask(HELLO, sink)).text == "whole"
    assert sink.texts == ["whole"]


@pytest.mark.parametrize("script", HALVES)
async def test_a_stream_that_breaks_after_text_is_replaced_by_one_more_reply(
    script: Any, server: ScriptedModel, connect: Connect, sink: RecordingSink
) -> None:
    gate = Gate()
    server.reply(script.behind(gate, after=2), text("a whole one"))
    asking = asyncio.create_task(connect(server.base_url).ask(HELLO, sink))
    await until(sink.now, ["half an "])
    gate.release()
    assert (await asking).text == "a whole one"
    assert sink.texts == ["half an ", "a whole one"]


@pytest.mark.parametrize("second", [broken("again half"), error(503), ends_without_finish("no")])
async def test_a_reply_that_breaks_twice_is_not_requested_a_third_time(
    second: Any, server: ScriptedModel, connect: Connect, sink: RecordingSink
) -> None:
    server.reply(broken("half an answer"), second, text("never"))
    assert (await failing(connect(server.base_url), sink=sink)).code == "broken"
    assert len(server.requests) == 2


async def test_without_a_sink_a_broken_stream_is_tried_again(server: ScriptedModel, connect: Connect) -> None:
    server.reply(broken(), broken(), text("whole"))
    assert (await connect(server.base_url).ask(HELLO)).text == "whole"


async def test_a_broken_tool_call_is_tried_again(server: ScriptedModel, connect: Connect, sink: RecordingSink) -> None:
    half = '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"clock"}}]}}]}'
    server.reply(raw(half), calls(("clock", {})))
    reply = await connect(server.base_url).ask(ModelRequest(HELLO.messages, tools=[TOOL]), sink)
    assert [c.arguments for c in reply.calls] == ["{}"]
    assert sink.texts == [""]


async def test_a_silent_server_times_out(server: ScriptedModel, connect: Connect, sink: RecordingSink) -> None:
    server.default = hang()
    assert (await failing(connect(server.base_url, timeout=0.1, attempts=2))).code == "timeout"
    server.reply(hang("half"), text("whole"))
    assert (await connect(server.base_url, timeout=0.3).ask(HELLO, sink)).text == "whole"
    assert sink.texts == ["half", "whole"]


async def test_an_endless_stream_meets_the_total_timeout(server: ScriptedModel, connect: Connect) -> None:
    server.default = text("x", chunks=1).slow(0)
    drip = text("x" * 1000, chunks=1000).slow(0.02)
    server.default = drip
    assert (await failing(connect(server.base_url, timeout=0.1, attempts=1))).code == "timeout"


async def test_a_refused_connection_is_unreachable(connect: Connect, waits: RecordedSleep) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}/v1"
        failure = await failing(connect(f"http://{address}"))
    assert (failure.code, len(waits.seconds)) == ("unreachable", 2)
    assert address in str(failure)
    assert (await failing(connect(f"http://user:{KEY}@{address}"))).code == "unreachable"
    assert (await failing(connect("http://no-such-host.invalid/v1", attempts=1))).code == "unreachable"
    assert (await failing(connect("ftp://127.0.0.1/v1"))).code == "unreachable"


async def test_cancelling_closes_the_connection_at_once(
    server: ScriptedModel, connect: Connect, sink: RecordingSink
) -> None:
    for script in (hang(), hang("some text")):
        server.reply(script)
        before = server.dropped
        asking = asyncio.create_task(connect(server.base_url).ask(HELLO, sink))
        await server.arrived(before + 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await until(server.drops, before + 1, seconds=5)


async def test_a_connection_is_reused_for_the_next_request(server: ScriptedModel, connect: Connect) -> None:
    model = connect(server.base_url)
    for _ in range(3):
        await model.ask(HELLO)
    assert len({asked.peer for asked in server.asked}) == 1


async def test_a_server_that_ignores_streaming_is_understood(
    server: ScriptedModel, connect: Connect, sink: RecordingSink
) -> None:
    server.reply(
        json_response({"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]})
    )
    assert (await connect(server.base_url).ask(HELLO, sink)).text == "hi"
    assert sink.texts == ["hi"]


@pytest.mark.parametrize("field", ["stream_options", "temperature"])
async def test_a_field_that_a_server_refuses_is_left_out_from_then_on(field: str, connect: Connect) -> None:
    async with ScriptedModel(rejects=(field,)) as server:
        model = connect(server.base_url, temperature=0.5)
        assert (await model.ask(HELLO)).text == "Understood."
        assert (await model.ask(HELLO)).text == "Understood."
        assert len(server.requests) == 2
        assert field not in server.requests[0]


async def test_the_newer_name_of_max_tokens_is_used_after_a_refusal(server: ScriptedModel, connect: Connect) -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    server.reply(error(400, said))
    await connect(server.base_url).ask(ModelRequest(HELLO.messages, max_tokens=5))
    assert server.requests[1]["max_completion_tokens"] == 5
    assert "max_tokens" not in server.requests[1]


async def test_a_check_requests_one_token_once(server: ScriptedModel, connect: Connect) -> None:
    model = connect(server.base_url)
    await model.check()
    assert server.requests[0]["max_tokens"] == 1
    server.reply(error(503))
    with pytest.raises(ModelError):
        await model.check()
    assert len(server.requests) == 2
