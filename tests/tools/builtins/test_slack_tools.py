"""Reading the thread and posting in channels."""

from dataclasses import replace

import pytest

from storage.records import CallState, Person, Thread
from tests.tools.fake_chat import FakeChat, context_for
from tests.tools.samples import call_of
from tools.builtins.slack_tools import post_message, read_thread
from tools.retrying_executor import Executor
from tools.tool_context import ChatError, Posted
from tools.tool_definition import ToolError
from tools.tool_policy import Policy

GUEST = Person("T", "U9", "Gus", guest=True)


@pytest.fixture
def chat() -> FakeChat:
    return FakeChat()


async def test_messages_come_with_their_authors_names(chat: FakeChat) -> None:
    chat.messages = [
        Posted("1700000000.0001", "U1", "hi <@U2> &amp; <@U7>", ours=False),
        Posted("1700000060.0001", "UB", "hello", ours=True),
        Posted("1700000120.0001", "B2", "<!here> see <https://a.example|the site>", ours=False, bot=True),
    ]
    told = await read_thread.run(context_for(chat=chat), {"limit": 10})
    assert told["messages"] == [
        {
            "time": "2023-11-14T22:13+00:00",
            "from": "U1",
            "name": "Ada",
            "text": "hi @U2 & @U7",
            "names": {"U2": "@Ben"},
        },
        {"time": "2023-11-14T22:14+00:00", "hermes": "UB", "name": "UB", "text": "hello"},
        {
            "time": "2023-11-14T22:15+00:00",
            "bot": "B2",
            "name": "B2",
            "text": "@here see the site (https://a.example)",
        },
    ]


async def test_an_empty_thread_and_a_silent_slack_are_said(chat: FakeChat) -> None:
    assert "empty" in (await read_thread.run(context_for(chat=chat), {}))["note"]
    chat.fail["read_thread"] = ChatError("unreachable")
    with pytest.raises(ToolError) as caught:
        await read_thread.run(context_for(chat=chat), {})
    assert caught.value.retryable


@pytest.mark.parametrize("channel", ["C2", "#C2", "<#C2|general>"])
async def test_a_message_goes_to_the_channel_root_with_the_key_of_the_call(chat: FakeChat, channel: str) -> None:
    told = await post_message.run(context_for(chat=chat), {"channel": channel, "text": "hello"})
    assert chat.posted == [(Thread("T", "C2", ""), "hello", "key-1")]
    assert told == {"channel": "C2", "ts": ["1.1"]}


@pytest.mark.parametrize(
    ("channel", "code"),
    [("general", "bad_channel"), ("D1ABC", "bad_channel"), ("C3", "channel_not_found"), ("C999", "channel_not_found")],
)
async def test_where_hermes_may_not_post_nothing_is_posted(chat: FakeChat, channel: str, code: str) -> None:
    with pytest.raises(ToolError) as caught:
        await post_message.run(context_for(chat=chat), {"channel": channel, "text": "hello"})
    assert caught.value.code == code
    assert not chat.posted


async def test_a_guest_posts_where_the_conversation_is_and_nowhere_else(chat: FakeChat) -> None:
    with pytest.raises(ToolError, match="guests"):
        await post_message.run(context_for(chat=chat, person=GUEST), {"channel": "C2", "text": "x"})
    await post_message.run(context_for(chat=chat, person=GUEST), {"channel": "C1", "text": "x"})
    here = context_for(chat=chat)
    private = replace(here, place=replace(here.place, channel="C3", kind="private"))
    await post_message.run(private, {"channel": "C3", "text": "x"})
    assert len(chat.posted) == 2


async def test_a_channel_without_hermes_is_explained(chat: FakeChat) -> None:
    chat.fail["post"] = ChatError("not_in_channel")
    with pytest.raises(ToolError, match="invite"):
        await post_message.run(context_for(chat=chat), {"channel": "C2", "text": "hello"})


@pytest.mark.parametrize(
    ("code", "words"), [("not_in_channel", "Hermes is not in that channel"), ("thread_not_found", "does not exist")]
)
async def test_why_a_thread_cannot_be_read_is_explained(chat: FakeChat, code: str, words: str) -> None:
    chat.fail["read_thread"] = ChatError(code)
    with pytest.raises(ToolError, match=words):
        await read_thread.run(context_for(chat=chat), {})


async def test_a_post_that_may_have_arrived_is_unknown_and_one_that_did_not_has_failed(chat: FakeChat) -> None:
    executor = Executor(Policy(), now=lambda: 0.0)
    call = call_of(post_message, channel="C2", text="hello")
    chat.fail["post"] = ChatError("unreachable", uncertain=True)
    assert (await executor.run(post_message, call, context_for(chat=chat))).state is CallState.UNKNOWN
    chat.fail["post"] = ChatError("ratelimited")
    assert (await executor.run(post_message, call, context_for(chat=chat))).state is CallState.FAILED
    await executor.close()
