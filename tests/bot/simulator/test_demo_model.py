"""The demonstration model over HTTP. Its examples run in tests/e2e/test_demo_examples.py."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from bot.model.openai_client import ModelSettings, OpenAIModel
from bot.ports import ModelReply, ModelRequest
from bot.simulator.demo_model.demo_model_server import DemonstrationModel
from bot.simulator.demo_model.demo_replies import EXAMPLES
from tests.fakes import model_request_checks

NAMES = (
    "current_time", "read_thread", "post_message", "list_directory", "search_files", "read_file", "write_file",
    "remember", "recall", "forget", "demo_add",
)  # fmt: skip
TOOLS = [
    {"type": "function", "function": {"name": name, "description": name, "parameters": {"type": "object"}}}
    for name in NAMES
]


class Talk:
    """One conversation, in the messages that Hermes would send; each method returns the model's next reply."""

    def __init__(self, model: OpenAIModel, url: str) -> None:
        self.model, self.url = model, url
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "You are Hermes. Strict JSON arguments."}]
        self.tools = TOOLS

    async def say(self, text: str, where: str = "a direct message", memory: str = "") -> ModelReply:
        said = {"from": "U0ANA", "name": "Ana", "text": text}
        turn: dict[str, Any] = {"now": "Sunday, 2026-11-29 21:00 (UTC)", "requester": "U0ANA", "in": where}
        turn |= {"remember": [{"text": memory, "type": "preference", "said": "2026-11-01"}]} if memory else {}
        self.messages.append({"role": "user", "content": f"{json.dumps(said)}\n{json.dumps({'turn': turn})}"})
        return await self._ask()

    async def result(self, data: Any = None, code: str = "", message: str = "") -> ModelReply:
        """Give every call of the last reply this result."""
        error = {"ok": False, "error": {"code": code, "message": message, "suggestion": ""}}
        text = json.dumps(error if code else {"ok": True, "data": data})
        for call in self.messages[-1]["tool_calls"]:
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        return await self._ask()

    async def _ask(self) -> ModelReply:
        body = {"model": "m", "messages": self.messages, "tools": self.tools}
        headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}
        assert model_request_checks.violations(body, headers) == []
        reply = await self.model.ask(ModelRequest(self.messages, self.tools))
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in reply.calls
        ]
        self.messages.append({"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})})
        return reply


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with DemonstrationModel(delay=0) as server:
        model = OpenAIModel(ModelSettings("demonstration", server.base_url))
        yield Talk(model, server.base_url)
        await model.aclose()


def calls_of(reply: ModelReply) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "meanwhile, what time is it in Tokyo, in Lima and in New York right now?": [
        ("current_time", {"timezone": "tokyo"}),
        ("current_time", {"timezone": "lima"}),
        ("current_time", {"timezone": "new york"}),
    ],
    "what time is it?": [("current_time", {})],
    "北京现在几点": [("current_time", {"timezone": "Shanghai"})],
    'post "lunch is ready" in #general (C0GENERAL)': [
        ("post_message", {"channel": "C0GENERAL", "text": "lunch is ready"})
    ],
    "please post in C0GENERAL: doors close at 9": [
        ("post_message", {"channel": "C0GENERAL", "text": "doors close at 9"})
    ],
    "please remember that I prefer green tea.": [("remember", {"content": "I prefer green tea", "type": "preference"})],
    "Remember: my desk is on the third floor": [
        ("remember", {"content": "my desk is on the third floor", "type": "fact"})
    ],
    "what do you know about me?": [("recall", {"query": "what do you know about me?"})],
    "写文件 plans/q3.txt：买牛奶": [("write_file", {"path": "plans/q3.txt", "content": "买牛奶"})],
    "please open plans/q3.txt": [("read_file", {"path": "plans/q3.txt"})],
    "which files are there?": [("list_directory", {})],
    'run demo_add with {"a": 2, "note": "two words"}': [("demo_add", {"a": 2, "note": "two words"})],
    "run demo_add": [("demo_add", {})],
}


@pytest.mark.parametrize("text", CALLS)
@pytest.mark.parametrize("where", ["a direct message", "a channel thread"])
async def test_a_keyword_becomes_a_call(text: str, where: str, talk: Talk) -> None:
    reply = await talk.say(text, where)
    assert calls_of(reply) == CALLS[text]
    assert reply.finish == "tool_calls"
    assert reply.text


RESULTS: list[tuple[str, Any, list[str]]] = [
    ("time?", {"time": "2026-11-30T06:00:00+09:00", "timezone": "Asia/Tokyo"}, ["Asia/Tokyo", "06:00", "Monday"]),
    ("东京几点", {"time": "2026-11-30T06:00:00+09:00", "timezone": "Asia/Tokyo"}, ["06:00", "星期一"]),
    ("which files?", {"entries": []}, ["nothing in the folder"]),
    ("read a.md", {"text": "x ```y``` z"}, ["````\nx ```y``` z\n````"]),
    ("search for “pie”", {"matches": [{"path": "a.md", "line": 3, "text": "a pie"}]}, ["`a.md`: a pie"]),
    ("search for “pie”", {"matches": []}, ["No file"]),
    ("this thread", {"messages": [{"from": "U0BEN", "name": "Ben", "text": "pie?"}]}, ["Ben: pie?"]),
    ("what do you know about me", [], ["know nothing"]),
    ("demo_add", 3, ["demo_add", "3"]),
    ("time?", "another format", ["another format"]),
]


@pytest.mark.parametrize(("text", "data", "words"), RESULTS)
async def test_a_result_is_put_into_words(text: str, data: Any, words: list[str], talk: Talk) -> None:
    assert (await talk.say(text)).calls
    reply = await talk.result(data)
    assert not reply.calls
    assert [word for word in words if word not in reply.text] == []


async def test_what_is_known_includes_the_memories_of_the_turn(talk: Talk) -> None:
    await talk.say("what do you know about me?", memory="I like pie")
    assert "I like pie" in (await talk.result([])).text


@pytest.mark.parametrize(
    ("code", "word"),
    [("denied", "denied"), ("awaiting_approval", "approval"), ("outcome_unknown", "know whether"),
     ("unknown", "know whether"), ("not_found", "did not work: because")],
)  # fmt: skip
async def test_a_call_that_did_not_succeed_is_reported_as_such(code: str, word: str, talk: Talk) -> None:
    await talk.say("post in C0GENERAL: pie")
    reply = await talk.result(code=code, message="because of it")
    assert word in reply.text
    assert "`post_message`" in reply.text
    assert not reply.calls


async def test_the_result_of_an_approved_call_is_reported_under_its_name(talk: Talk) -> None:
    await talk.say("post in C0GENERAL: pie")
    first = talk.messages[-1]["tool_calls"][0]["id"]
    await talk.result(code="awaiting_approval")
    function = {"name": "approval_result", "arguments": f'{{"call": "{first}"}}'}
    call = {"id": "o1", "type": "function", "function": function}
    talk.messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
    assert "posted in <#C0GENERAL>" in (await talk.result({"ts": "1.2"})).text


async def test_forgetting_looks_the_memory_up_and_asks_if_several_match(talk: Talk) -> None:
    assert calls_of(await talk.say("please forget that I like tea")) == [("recall", {"query": "I like tea"})]
    reply = await talk.result([{"id": "ab12", "content": "I like tea"}])
    assert calls_of(reply) == [("forget", {"id": "ab12"})]
    assert "private message" in (await talk.result(None)).text
    await talk.say("forget that I like tea")
    reply = await talk.result([{"id": "a", "content": "x"}, {"id": "b", "content": "y"}])
    assert not reply.calls
    assert "Which one" in reply.text


async def test_a_new_message_is_answered_after_the_results(talk: Talk) -> None:
    await talk.say("any files?")
    call = talk.messages[-1]["tool_calls"][0]["id"]
    talk.messages.append({"role": "tool", "tool_call_id": call, "content": '{"ok": true, "data": {"entries": []}}'})
    reply = await talk.say("and what time is it in Oslo?")
    assert "nothing" in reply.text
    assert calls_of(reply) == [("current_time", {"timezone": "oslo"})]


async def test_a_missing_tool_is_named_and_not_called(talk: Talk) -> None:
    talk.tools = [TOOLS[0]]
    reply = await talk.say("open notes.md")
    assert not reply.calls
    assert "`read_file`" in reply.text


@pytest.mark.parametrize("text", ["post in #general", "post in C0GENERAL", "write x.txt", "remember", "发消息", "请写"])
async def test_a_missing_argument_is_asked_for(text: str, talk: Talk) -> None:
    reply = await talk.say(text)
    assert reply.text
    assert not reply.calls


@pytest.mark.parametrize("text", ["Book me a flight to Paris", "明天会下雨吗", "hello", "", "x" * 100_000, "sometimes"])
async def test_everything_else_is_answered_with_the_tries(text: str, talk: Talk) -> None:
    reply = await talk.say(text)
    assert not reply.calls
    assert "demonstration" in reply.text or "演示" in reply.text
    language = 1 if "演示" in reply.text else 0
    assert [sentences for sentences in EXAMPLES if sentences[language] not in reply.text] == []


async def test_a_request_for_json_gets_an_empty_object(talk: Talk) -> None:
    messages = [{"role": "system", "content": "Answer with one JSON object"}, {"role": "user", "content": "x"}]
    assert (await talk.model.ask(ModelRequest(messages))).text == "{}"


async def test_an_answer_streams_in_pieces(talk: Talk) -> None:
    pieces: list[str] = []

    class Sink:
        def text(self, delta: str) -> None:
            pieces.append(delta)

        def restart(self) -> None:
            pieces.clear()

    for text in ("a long answer", "长的回答"):
        pieces.clear()
        reply = await talk.model.ask(ModelRequest([{"role": "user", "content": text}]), Sink())
        assert "".join(pieces) == reply.text
        assert reply.usage.completion > 0


async def test_it_streams_with_its_delay_and_stops_when_the_client_disconnects() -> None:
    slept: list[float] = []
    reached, stopped = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

    async with DemonstrationModel(delay=0.5, sleep=sleep) as server:
        model = OpenAIModel(ModelSettings("demonstration", server.base_url))
        asking = asyncio.create_task(model.ask(ModelRequest([{"role": "user", "content": "a long answer"}])))
        async with asyncio.timeout(30):
            await reached.wait()
            asking.cancel()
            await stopped.wait()
        assert slept == [0.5] * 3
        await model.aclose()


async def test_it_answers_without_streaming_and_refuses_invalid_requests(talk: Talk) -> None:
    url = f"{talk.url}/chat/completions"
    async with aiohttp.ClientSession() as http:
        for invalid in ("{", "[]", '{"messages": 3}', '{"messages": []}'):
            async with http.post(url, data=invalid) as response:
                assert response.status == 400
        async with http.post(url, json={"messages": [{"role": "user", "content": "hi"}]}) as response:
            assert "demonstration" in (await response.json())["choices"][0]["message"]["content"]
