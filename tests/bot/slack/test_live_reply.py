"""The live answer on native streams, in good weather."""

import pytest

from bot.simulator.server import Simulator
from bot.slack.slack_chat import SlackChat
from tests.bot.slack.slack_setup import Stage

LONG = "This is the first sentence of the answer. "


async def test_a_short_answer_is_one_post_and_one_status(stage: Stage) -> None:
    reply = stage.reply()
    await reply.finish("Hello!")
    assert stage.texts() == ["Hello!"]
    assert stage.methods() == ["chat.postMessage", "agents.sessions.setStatus"]
    assert stage.status() == "active"


async def test_text_appears_while_it_is_written_and_whole_at_the_end(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(LONG)
    seen = await stage.streaming()
    assert seen.text.strip() in LONG
    reply.text("And the end.")
    await reply.finish(LONG + "And the end.")
    assert stage.texts() == [LONG + "And the end."]
    assert stage.answers()[0].streaming_state == "completed"
    assert stage.status() == "active"


async def test_the_last_piece_is_sent_by_finish_alone(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(LONG + "Done.")
    seen = await stage.streaming()
    assert not seen.text.endswith("Done.")
    await reply.finish(LONG + "Done.")
    assert stage.texts() == [LONG + "Done."]


async def test_a_turn_with_a_tool_takes_three_calls_when_all_is_quick(sim: Simulator) -> None:
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url)
    await quick_turn(await Stage.set(sim, chat, "C0GENERAL"))
    await chat.close()


async def quick_turn(stage: Stage) -> None:
    await stage.chat.set_status(stage.thread, "processing")
    reply = stage.reply()
    reply.task("call1", "Reading the file", "in_progress")
    await stage.streaming()
    reply.task("call1", "Reading the file", "complete", "12 lines")
    await reply.finish("The file has 12 lines.")
    assert stage.methods() == ["agents.sessions.setStatus", "chat.startStream", "chat.stopStream"]
    assert [(t.title, t.status, t.output) for t in stage.answers()[0].tasks] == [
        ("Reading the file", "complete", "12 lines")
    ]
    assert stage.texts() == ["The file has 12 lines."]


async def test_messages_are_announced_and_recorded_in_order(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(LONG)
    seen = await stage.streaming()
    await reply.finish(LONG)
    assert stage.keeper.steps == [("opening", 0, ""), ("opened", 0, seen.ts)]
    assert stage.answers()[0].metadata == {
        "event_type": "hermes_delivery",
        "event_payload": {"key": "key-1", "part": 0},
    }
    assert [p.key for p in await stage.chat.read_thread(stage.thread, limit=10)] == [None, "key-1"]


async def test_steps_are_paragraphs(stage: Stage) -> None:
    reply = stage.reply()
    reply.text("I will look.")
    reply.end_step()
    assert reply.shown == ""
    reply.task("c", "Look", "complete")
    reply.text("Found it.")
    await reply.finish("Found it.")
    assert stage.answers()[0].text.split() == ["I", "will", "look.", "Found", "it."]
    assert "I will look.\n\n" in stage.answers()[0].text


async def test_a_dm_gets_a_stream_too(direct: Stage) -> None:
    reply = direct.reply()
    reply.text(LONG)
    await direct.streaming()
    await reply.finish(LONG)
    assert direct.texts() == [LONG]


async def test_a_broken_model_stream_is_marked_and_replaced_by_a_new_message(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(LONG)
    await stage.streaming()
    reply.restart()
    reply.text("The whole answer, again. ")
    await reply.finish("The whole answer, again. It is complete.")
    broken, whole = stage.texts()
    assert broken.endswith("_— interrupted —_")
    assert whole == "The whole answer, again. It is complete."


async def test_a_restart_before_anything_was_shown_leaves_no_trace(stage: Stage) -> None:
    reply = stage.reply()
    reply.text("Hm")
    reply.restart()
    await reply.finish("All of it.")
    assert stage.texts() == ["All of it."]


async def test_an_interrupted_answer_says_why_and_its_cards_are_closed(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(LONG)
    reply.end_step()
    reply.task("c", "Slow tool", "in_progress")
    await stage.streaming()
    await reply.interrupt("stopped by Ana")
    (seen,) = stage.answers()
    assert seen.text.endswith("_— stopped by Ana —_")
    assert [t.status for t in seen.tasks] == ["error"]
    assert seen.streaming_state == "completed"
    assert stage.status() == "active"


@pytest.mark.parametrize("said", ["The code is 4711.", "The code is 4711 and nothing else at all."])
async def test_what_was_said_before_an_interruption_is_shown_whole(stage: Stage, said: str) -> None:
    reply = stage.reply()
    reply.text(said)
    await reply.interrupt("stopped by Ana")
    assert stage.whole() == f"{said} _— stopped by Ana —_"


async def test_a_card_that_has_just_ended_keeps_its_end_when_the_answer_closes(stage: Stage) -> None:
    reply = stage.reply()
    reply.task("call1", "Deploying", "in_progress")
    await stage.streaming()
    reply.task("call1", "Deploying", "error", "lost")
    await reply.pause()
    assert [(t.status, t.output) for t in stage.answers()[0].tasks] == [("error", "lost")]


async def test_a_card_that_was_never_sent_is_closed_too(stage: Stage) -> None:
    reply = stage.reply()
    reply.task("call1", "Deploying", "in_progress")
    await reply.interrupt("stopped by Ana")
    assert [t.status for t in stage.answers()[0].tasks] == ["error"]


async def test_a_reply_that_is_let_go_leaves_no_card_at_work(stage: Stage) -> None:
    reply = stage.reply()
    reply.task("call1", "Deploying", "in_progress")
    await stage.streaming()
    await reply.close()
    assert [t.status for t in stage.answers()[0].tasks] == ["error"]


async def test_an_interruption_before_anything_was_shown_is_a_message(stage: Stage) -> None:
    await stage.reply().interrupt("stopped")
    assert stage.texts() == ["_— stopped —_"]


async def test_a_pause_closes_the_message_and_waits_for_people(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(LONG)
    reply.end_step()
    reply.task("c", "write_file", "in_progress")
    await stage.streaming()
    await reply.pause()
    (seen,) = stage.answers()
    assert seen.streaming_state == "completed"
    assert [t.status for t in seen.tasks] == ["complete"]
    assert stage.status() == "suspended"


async def test_a_pause_without_text_posts_nothing(stage: Stage) -> None:
    await stage.reply().pause()
    assert stage.texts() == []
    assert stage.status() == "suspended"


async def test_letting_go_stops_the_stream_without_a_word(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(LONG + "More to come here.")
    await stage.streaming()
    await reply.close()
    (seen,) = stage.answers()
    assert seen.streaming_state == "completed"
    assert "interrupted" not in seen.text


async def test_an_answer_unlike_the_text_shown_replaces_it(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(LONG)
    await stage.streaming()
    await reply.finish("Something quite different.")
    assert stage.texts()[-1] == "Something quite different."
    assert stage.texts()[0].endswith("_— interrupted —_")


async def test_mentions_in_model_text_ping_nobody(stage: Stage) -> None:
    reply = stage.reply()
    pieces = ["Dear <", "!chan", "nel> and @he", "re and <@U0B", "EN>, this is a rather long sentence. "]
    for piece in pieces:
        reply.text(piece)
    await stage.streaming()
    await reply.finish("".join(pieces) + "<!everyone>")
    text = stage.texts()[0]
    assert not any(live in text for live in ("<!channel>", "@here", "<@U0BEN>", "<!everyone>"))
    assert text.replace("\u200b", "") == "".join(pieces) + "<!everyone>"


async def test_an_empty_answer_posts_nothing(stage: Stage) -> None:
    await stage.reply().finish("  \n")
    assert stage.texts() == []
    assert stage.status() == "active"
