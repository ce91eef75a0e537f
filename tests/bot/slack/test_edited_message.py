"""A reply where Slack refuses streams: one message that is edited."""

import pytest

from tests.bot.slack.slack_setup import SlackThread

FIRST = "This is the first sentence of the answer, which is long enough to be seen. "


@pytest.fixture
def plain(slack: SlackThread) -> SlackThread:
    slack.sim.switches.streams_enabled = False
    return slack


async def shown(slack: SlackThread, word: str) -> None:
    await slack.sim.wait_for(lambda: word in slack.all_text())


async def test_the_stop_button_is_shown_until_the_reply_ends(plain: SlackThread) -> None:
    reply = plain.reply()
    reply.text(FIRST)
    await shown(plain, "first sentence")
    button = plain.answers()[0].button("hermes_stop")
    assert (button.text, button.value) == ("Stop", plain.thread.root)
    await reply.finish(FIRST + "The end.")
    assert plain.answers()[0].buttons == []
    assert plain.texts() == [FIRST + "The end."]
    assert plain.status() == "active"


async def test_tools_are_shown_as_lines_above_the_text(plain: SlackThread) -> None:
    reply = plain.reply(locale="zh-CN")
    reply.task("c", "read_file", "in_progress")
    await shown(plain, "… read_file")
    assert "正在处理" in plain.all_text()
    assert plain.answers()[0].button("hermes_stop").text == "停止"
    reply.task("c", "read_file", "complete", "12 lines")
    await reply.finish("It has 12 lines.")
    assert plain.all_text() == "✓ read_file: 12 lines It has 12 lines."


async def test_a_restarted_step_is_replaced_in_the_same_message(plain: SlackThread) -> None:
    reply = plain.reply()
    reply.text("I will look. ")
    reply.end_step()
    reply.task("c", "look", "complete")
    reply.text(FIRST)
    await shown(plain, "first sentence")
    reply.restart()
    reply.text("Another beginning, with quite other words in it. ")
    await reply.finish("Another beginning, with quite other words in it. And an end.")
    (text,) = plain.texts()
    wanted = "✓ look I will look. Another beginning, with quite other words in it. And an end."
    assert text.split() == wanted.split()


async def test_close_removes_the_stop_button(plain: SlackThread) -> None:
    reply = plain.reply()
    reply.text(FIRST)
    await shown(plain, "first sentence")
    await reply.close()
    assert plain.answers()[0].buttons == []


async def test_an_interrupted_reply_says_why(plain: SlackThread) -> None:
    reply = plain.reply()
    reply.text(FIRST)
    await shown(plain, "first sentence")
    await reply.interrupt("stopped by Ana")
    assert plain.texts()[0].endswith("_— stopped by Ana —_")
    assert plain.answers()[0].buttons == []


async def test_an_edited_message_has_its_delivery_key(plain: SlackThread) -> None:
    reply = plain.reply()
    reply.text(FIRST)
    await shown(plain, "first sentence")
    await reply.finish(FIRST)
    assert plain.answers()[0].metadata["event_payload"] == {"key": "key-1", "part": 0}
    assert [p.text for p in await plain.chat.read_thread(plain.thread, limit=1)] == [FIRST]


@pytest.mark.parametrize("fault", [{"status": 500}, {"drop": True}, {"status": 429, "retry_after": 1}])
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_a_failing_edit_loses_nothing(plain: SlackThread, method: str, fault: dict) -> None:
    await plain.sim.fail_next(method, **fault, effect="retry_after" not in fault)
    reply = plain.reply()
    reply.text(FIRST)
    await plain.sim.wait_for(lambda: plain.sim.calls(method) or plain.answers())
    await reply.finish(FIRST + FIRST)
    assert plain.all_text().split() == (FIRST + FIRST).split()
    assert len(plain.answers()) == 1
