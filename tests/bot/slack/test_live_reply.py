"""Live replies as native streams, while Slack takes every call."""

import pytest

from bot.simulator.server import Simulator
from bot.slack.slack_chat import SlackChat
from tests.bot.slack.slack_setup import SlackThread

LONG = "This is the first sentence of the answer. "


async def test_a_short_answer_is_one_post_and_one_status(slack: SlackThread) -> None:
    reply = slack.reply()
    await reply.finish("Hello!")
    assert slack.texts() == ["Hello!"]
    assert slack.methods() == ["chat.postMessage", "agents.sessions.setStatus"]
    assert slack.status() == "active"


async def test_text_is_shown_while_it_grows_and_complete_at_the_end(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(LONG)
    seen = await slack.streaming()
    assert seen.text.strip() in LONG
    reply.text("And the end.")
    await reply.finish(LONG + "And the end.")
    assert slack.texts() == [LONG + "And the end."]
    assert slack.answers()[0].streaming_state == "completed"
    assert slack.status() == "active"


async def test_only_finish_sends_the_end_of_the_text(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(LONG + "Done.")
    seen = await slack.streaming()
    assert not seen.text.endswith("Done.")
    await reply.finish(LONG + "Done.")
    assert slack.texts() == [LONG + "Done."]


async def test_a_quick_turn_with_a_tool_takes_three_calls(sim: Simulator) -> None:
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url)
    await quick_turn(await SlackThread.create(sim, chat, "C0GENERAL"))
    await chat.close()


async def quick_turn(slack: SlackThread) -> None:
    await slack.chat.set_status(slack.thread, "processing")
    reply = slack.reply()
    reply.task("call1", "Reading the file", "in_progress")
    await slack.streaming()
    reply.task("call1", "Reading the file", "complete", "12 lines")
    await reply.finish("The file has 12 lines.")
    assert slack.methods() == ["agents.sessions.setStatus", "chat.startStream", "chat.stopStream"]
    assert [(t.title, t.status, t.output) for t in slack.answers()[0].tasks] == [
        ("Reading the file", "complete", "12 lines")
    ]
    assert slack.texts() == ["The file has 12 lines."]


async def test_messages_are_announced_and_recorded_in_order(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(LONG)
    seen = await slack.streaming()
    await reply.finish(LONG)
    assert slack.recorder.steps == [("opening", 0, ""), ("opened", 0, seen.ts)]
    assert slack.answers()[0].metadata == {
        "event_type": "hermes_delivery",
        "event_payload": {"key": "key-1", "part": 0},
    }
    assert [p.key for p in await slack.chat.read_thread(slack.thread, limit=10)] == [None, "key-1"]


async def test_steps_are_paragraphs(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text("I will look.")
    reply.end_step()
    assert reply.shown == ""
    reply.task("c", "Look", "complete")
    reply.text("Found it.")
    await reply.finish("Found it.")
    assert slack.answers()[0].text.split() == ["I", "will", "look.", "Found", "it."]
    assert "I will look.\n\n" in slack.answers()[0].text


async def test_a_reply_in_a_dm_is_a_stream(direct: SlackThread) -> None:
    reply = direct.reply()
    reply.text(LONG)
    await direct.streaming()
    await reply.finish(LONG)
    assert direct.texts() == [LONG]


async def test_a_broken_model_stream_is_marked_and_replaced_by_a_new_message(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(LONG)
    await slack.streaming()
    reply.restart()
    reply.text("The whole answer, again. ")
    await reply.finish("The whole answer, again. It is complete.")
    broken, whole = slack.texts()
    assert broken.endswith("_— interrupted —_")
    assert whole == "The whole answer, again. It is complete."


async def test_a_restart_before_anything_was_shown_is_invisible(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text("Hm")
    reply.restart()
    await reply.finish("All of it.")
    assert slack.texts() == ["All of it."]


async def test_an_interrupted_stream_says_why_and_its_cards_are_closed(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(LONG)
    reply.end_step()
    reply.task("c", "Slow tool", "in_progress")
    await slack.streaming()
    await reply.interrupt("stopped by Ana")
    (seen,) = slack.answers()
    assert seen.text.endswith("_— stopped by Ana —_")
    assert [t.status for t in seen.tasks] == ["error"]
    assert seen.streaming_state == "completed"
    assert slack.status() == "active"


@pytest.mark.parametrize("said", ["The code is 4711.", "The code is 4711 and nothing else at all."])
async def test_all_text_before_an_interruption_is_shown(slack: SlackThread, said: str) -> None:
    reply = slack.reply()
    reply.text(said)
    await reply.interrupt("stopped by Ana")
    assert slack.all_text() == f"{said} _— stopped by Ana —_"


async def test_a_card_that_has_just_failed_keeps_its_status_when_the_reply_pauses(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.task("call1", "Deploying", "in_progress")
    await slack.streaming()
    reply.task("call1", "Deploying", "error", "lost")
    await reply.pause()
    assert [(t.status, t.output) for t in slack.answers()[0].tasks] == [("error", "lost")]


async def test_a_card_that_was_not_sent_yet_is_shown_closed(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.task("call1", "Deploying", "in_progress")
    await reply.interrupt("stopped by Ana")
    assert [t.status for t in slack.answers()[0].tasks] == ["error"]


async def test_close_leaves_no_card_in_progress(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.task("call1", "Deploying", "in_progress")
    await slack.streaming()
    await reply.close()
    assert [t.status for t in slack.answers()[0].tasks] == ["error"]


async def test_an_interruption_before_anything_was_shown_posts_the_note(slack: SlackThread) -> None:
    await slack.reply().interrupt("stopped")
    assert slack.texts() == ["_— stopped —_"]


async def test_a_pause_closes_the_message_and_waits_for_people(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(LONG)
    reply.end_step()
    reply.task("c", "write_file", "in_progress")
    await slack.streaming()
    await reply.pause()
    (seen,) = slack.answers()
    assert seen.streaming_state == "completed"
    assert [t.status for t in seen.tasks] == ["complete"]
    assert slack.status() == "suspended"


async def test_a_pause_without_text_posts_nothing(slack: SlackThread) -> None:
    await slack.reply().pause()
    assert slack.texts() == []
    assert slack.status() == "suspended"


async def test_close_stops_the_stream_without_a_note(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(LONG + "More to come here.")
    await slack.streaming()
    await reply.close()
    (seen,) = slack.answers()
    assert seen.streaming_state == "completed"
    assert "interrupted" not in seen.text


async def test_a_final_text_unlike_the_shown_one_replaces_it(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(LONG)
    await slack.streaming()
    await reply.finish("Something quite different.")
    assert slack.texts()[-1] == "Something quite different."
    assert slack.texts()[0].endswith("_— interrupted —_")


async def test_mentions_in_model_text_notify_nobody(slack: SlackThread) -> None:
    reply = slack.reply()
    pieces = ["Dear <", "!chan", "nel> and @he", "re and <@U0B", "EN>, this is a rather long sentence. "]
    for piece in pieces:
        reply.text(piece)
    await slack.streaming()
    await reply.finish("".join(pieces) + "<!everyone>")
    text = slack.texts()[0]
    assert not any(live in text for live in ("<!channel>", "@here", "<@U0BEN>", "<!everyone>"))
    assert text.replace("\u200b", "") == "".join(pieces) + "<!everyone>"


async def test_an_empty_answer_posts_nothing(slack: SlackThread) -> None:
    await slack.reply().finish("  \n")
    assert slack.texts() == []
    assert slack.status() == "active"
