"""The demonstration model over real HTTP, asked as Hermes asks any model."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.ports import ModelReply, ModelRequest
from tests.bot.simulator.demo_model_talk import TOOLS, Talk, talking


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with talking() as made:
        yield made


def asked(reply: ModelReply) -> list[tuple[str, dict[str, Any]]]:
    return [(c.name, json.loads(c.arguments)) for c in reply.calls]


CALLED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "Is everyone in Tokyo and Rome asleep right now?": [
        ("current_time", {"timezone": "Asia/Tokyo"}),
        ("current_time", {"timezone": "Europe/Rome"}),
    ],
    "how late is it?": [("current_time", {})],
    "旧金山那边几点啦": [("current_time", {"timezone": "America/Los_Angeles"})],
    "peek into the reports folder, will you": [("list_directory", {"path": "reports"})],
    "any documents around?": [("list_directory", {})],
    "please open plans/q3.txt": [("read_file", {"path": "plans/q3.txt"})],
    "念一下 notes.md 的内容": [("read_file", {"path": "notes.md"})],
    "which files mention invoice?": [("search_files", {"query": "invoice"})],
    "jot down 'buy milk' into shopping.txt": [("write_file", {"path": "shopping.txt", "content": "buy milk"})],
    "let #general (C0GENERAL) know lunch is ready": [
        ("post_message", {"channel": "C0GENERAL", "text": "lunch is ready"})
    ],
    "在 C0GENERAL 通知大家：会议改到三点": [("post_message", {"channel": "C0GENERAL", "text": "会议改到三点"})],
    "fill me in on this discussion": [("read_thread", {})],
    "keep in mind that I prefer window seats": [
        ("remember", {"content": "I prefer window seats", "type": "preference"})
    ],
    "别忘了我对花生过敏": [("remember", {"content": "我对花生过敏", "type": "fact"})],
    "have I told you about my diet?": [("recall", {"query": "diet"})],
    'run demo_add with a=2, b=3.5 and note="two words"': [("demo_add", {"a": 2, "b": 3.5, "note": "two words"})],
    'demo_add {"a": 1}': [("demo_add", {"a": 1})],
}


@pytest.mark.parametrize("text", CALLED)
@pytest.mark.parametrize("where", ["a direct message", "a channel thread"])
async def test_a_wish_becomes_the_right_call(text: str, where: str, talk: Talk) -> None:
    reply = await talk.say(text, where)
    assert asked(reply) == CALLED[text]
    assert reply.finish == "tool_calls"
    assert reply.text


RESULTS: list[tuple[str, Any, list[str]]] = [
    ("clock in Tokyo?", {"time": "2026-11-30T06:00:00+09:00", "timezone": "Asia/Tokyo"}, ["Tokyo", "06:00", "Monday"]),
    ("东京几点", {"time": "2026-11-30T06:00:00+09:00", "timezone": "Asia/Tokyo"}, ["06:00", "星期一"]),
    ("any files?", {"path": "", "entries": [{"name": "a.txt"}, {"name": "b", "kind": "folder"}]}, ["`a.txt`", "`b/`"]),
    ("any files?", {"entries": []}, ["nothing"]),
    ("open a.md", {"path": "a.md", "text": "x ```y``` z"}, ["````\nx ```y``` z\n````"]),
    ("grep the docs for pie", {"matches": [{"path": "a.md", "line": 3, "text": " a pie "}]}, ["`a.md`, 3: a pie"]),
    ("write to a.md: pie", {"path": "a.md"}, ["`a.md` is written"]),
    ("post in C0GENERAL: pie", {"ts": ["1.2"]}, ["<#C0GENERAL>"]),
    ("recap please", {"messages": [{"author": "Ben", "text": "pie?"}]}, ["1 messages", "Ben: pie?"]),
    ("keep in mind I like pie", {"id": "ab12"}, ["I like pie"]),
    ("what do you know about me", {"memories": [{"content": "Likes pie"}]}, ["Likes pie"]),
    ("what do you know about me", [], ["nothing"]),
    ("demo_add a=1", 3, ["demo_add", "3"]),
    ("clock in Rome?", "a strange form", ["a strange form"]),
]


@pytest.mark.parametrize(("text", "data", "words"), RESULTS)
async def test_a_result_is_put_into_words(text: str, data: Any, words: list[str], talk: Talk) -> None:
    assert (await talk.say(text)).calls
    reply = await talk.result(data)
    assert not reply.calls
    for word in words:
        assert word in reply.text


@pytest.mark.parametrize(
    ("code", "word"),
    [("denied", "denied"), ("expired", "in time"), ("awaiting_approval", "waits"), ("outcome_unknown", "cannot tell"),
     ("denied_by_policy", "may not"), ("not_found", "did not work"), ("withdrawn", "withdrawn")],
)  # fmt: skip
async def test_every_way_not_to_run_is_said_plainly(code: str, word: str, talk: Talk) -> None:
    await talk.say("post in C0GENERAL: pie")
    reply = await talk.result(code=code, message="because of it")
    assert word in reply.text
    assert not reply.calls


async def test_the_outcome_of_an_earlier_call_is_told_under_that_calls_name(talk: Talk) -> None:
    await talk.say("post in C0GENERAL: pie")
    first = talk.messages[-1]["tool_calls"][0]["id"]
    await talk.result(code="awaiting_approval")
    call = {
        "id": "o1",
        "type": "function",
        "function": {"name": "approval_result", "arguments": f'{{"call": "{first}"}}'},
    }
    talk.messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
    assert "<#C0GENERAL>" in (await talk.result({"ts": ["1.2"]})).text


async def test_forgetting_finds_the_memory_first_and_asks_when_several_fit(talk: Talk) -> None:
    await talk.say("please forget my coffee preference")
    reply = await talk.result({"memories": [{"id": "ab12", "content": "Coffee black"}]})
    assert asked(reply) == [("forget", {"id": "ab12"})]
    assert "forgotten" in (await talk.result(None)).text
    await talk.say("please forget my coffee preference")
    reply = await talk.result({"memories": [{"id": "a", "content": "x"}, {"id": "b", "content": "y"}]})
    assert not reply.calls
    assert "which one" in reply.text


async def test_steering_is_heard_after_the_results(talk: Talk) -> None:
    await talk.say("any files?")
    call = talk.messages[-1]["tool_calls"][0]["id"]
    talk.messages.append({"role": "tool", "tool_call_id": call, "content": '{"ok": true, "data": {"entries": []}}'})
    reply = await talk.say("and how late is it in Oslo?")
    assert "nothing" in reply.text
    assert asked(reply) == [("current_time", {"timezone": "Europe/Oslo"})]


async def test_a_tool_that_is_not_offered_is_named_and_not_called(talk: Talk) -> None:
    talk.tools = [TOOLS[0]]
    reply = await talk.say("open notes.md")
    assert not reply.calls
    assert "`read_file`" in reply.text


UNCLEAR = {
    "open the document, read it": "Which file",
    "post in the channel": "its id",
    "post a message in C0GENERAL": "What should",
    "tell #general that lunch is ready": "its id",
    "create x.txt": "What should I write",
    "remember": "What should I remember",
    "search": "look for",
    "": "no words",
}


@pytest.mark.parametrize("text", UNCLEAR)
async def test_what_is_missing_is_asked_for(text: str, talk: Talk) -> None:
    reply = await talk.say(text)
    assert UNCLEAR[text] in reply.text
    assert not reply.calls


async def test_a_long_paste_is_answered_at_once_and_honestly(talk: Talk) -> None:
    for text in ("x" * 100_000, "记住" * 2000, "remember " + "a." * 40_000):
        reply = await talk.say(text)
        assert str(len(text)) in reply.text
        assert not reply.calls


async def test_it_says_what_it_is_and_what_it_does_not_understand_in_both_languages(talk: Talk) -> None:
    assert "demonstration" in (await talk.say("who might you be?")).text
    assert "演示" in (await talk.say("你能做些什么呢")).text
    lost = (await talk.say("Book me a flight to Paris")).text
    assert "did not understand" in lost
    assert "streaming" in lost
    assert "没有听懂" in (await talk.say("明天会下雨吗")).text


async def test_a_remembered_name_is_used(talk: Talk) -> None:
    assert "Hello, Captain" in (await talk.say("hi!", memory="Call me Captain")).text
    assert "老王" in (await talk.say("你好", memory="以后叫我老王")).text
    await talk.say("what do you know about me?", memory="Likes pie")
    assert "Likes pie" in (await talk.result([])).text


async def test_it_sums_nothing_up_when_it_is_asked_for_json(talk: Talk) -> None:
    messages = [{"role": "system", "content": "Answer with one JSON object"}, {"role": "user", "content": "x"}]
    assert (await talk.model.ask(ModelRequest(messages))).text == "{}"
