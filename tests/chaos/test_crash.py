"""Killed at each interesting point: what was asked is answered once, and no side effect happens twice."""

import signal

import pytest

from tests.chaos.scene import Scene
from tests.fakes.model_script import Gate, calls, text


async def test_a_message_sent_while_hermes_is_down_is_answered_once(scene: Scene) -> None:
    scene.model.reply(text("Here I am."))
    root = await scene.mention("anybody there?")
    await scene.start()
    await scene.answer(root, "Here I am.")
    await scene.settled()


async def test_a_message_stored_and_not_acknowledged_is_answered_once(scene: Scene) -> None:
    gate = Gate()
    scene.model.on("hello", text("Hello.").behind(gate))
    await scene.start()
    scene.sim.switches.drop_acks = -1
    root = await scene.mention("hello")
    await scene.owes("reasoning")
    await scene.kill()
    scene.sim.switches.drop_acks = 0
    gate.release()
    await scene.start()
    await scene.answer(root, "Hello.")
    await scene.sim.wait_settled()
    await scene.settled()
    assert scene.said(root) == ["Hello."]


async def test_a_request_to_the_model_that_died_with_the_process_is_made_again(scene: Scene) -> None:
    gate = Gate()
    scene.model.reply(text("lost").behind(gate), text("Good morning."))
    await scene.start()
    root = await scene.mention("good morning")
    await gate.arrived()
    await scene.restart()
    await scene.answer(root, "Good morning.")
    await scene.settled()


async def test_half_an_answer_is_marked_and_the_whole_one_follows(scene: Scene) -> None:
    gate = Gate()
    long = "The first half of it. " * 8
    scene.model.reply(text(long + "The end.", chunks=6).behind(gate, after=4), text("All of it, to the end."))
    await scene.start()
    root = await scene.mention("tell me all")
    await scene.see(root, lambda m: m.streaming_state == "in_progress" and "first half" in m.text)
    await scene.restart()
    await scene.see(root, lambda m: "to the end" in m.text)
    await scene.settled()
    half, whole = scene.said(root)
    assert "first half" in half
    assert "interrupted by a restart" in half
    assert whole == "All of it, to the end."


@pytest.mark.parametrize("effect", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.stopStream", "chat.startStream"])
async def test_a_whole_answer_of_which_nobody_knows_whether_it_arrived_is_there_once(
    scene: Scene, method: str, effect: bool
) -> None:
    gate = Gate()
    # One word is posted as a whole; of more, all but the last is streamed before the rest is known.
    words = text("It is committed, word by word, and sent.", chunks=4).behind(gate, after=3)
    scene.model.reply(text("sent.") if method == "chat.postMessage" else words)
    await scene.start()
    if method != "chat.stopStream":
        await scene.lose(method, effect=effect)
    root = await scene.mention("tell me")
    if method == "chat.stopStream":
        await scene.see(root, lambda m: m.streaming_state == "in_progress")
        await scene.lose(method, effect=effect)
    gate.release()
    await scene.owes("answer owed")
    await scene.restart()
    await scene.see(root, lambda m: m.text.endswith("sent.") and m.streaming_state != "in_progress")
    await scene.settled()
    assert sum("sent." in said for said in scene.said(root)) == 1


async def test_a_long_answer_that_is_killed_again_and_again_says_no_part_twice_after_the_word(scene: Scene) -> None:
    whole = "\n\n".join(f"Paragraph {n}. " + "Some words that fill it. " * 90 for n in range(12)) + " The end."
    scene.model.reply(text(whole, chunks=1))
    await scene.start()
    await scene.hang_at_second("chat.startStream")
    root = await scene.mention("tell me all")
    await scene.see(root, lambda m: "Paragraph 0." in m.text and m.streaming_state != "in_progress")
    await scene.owes("answer owed")
    await scene.kill()
    await scene.sim.clear_faults()
    await scene.hang_at_second("chat.postMessage")
    await scene.start()
    await scene.see(root, lambda m: "Paragraph 0." in m.text and "interrupted" not in m.text)
    await scene.restart()
    await scene.see(root, lambda m: m.text.endswith("The end."))
    await scene.settled()
    first, *again = scene.said(root)
    assert first.endswith("— interrupted by a restart, continues below —")
    assert "".join("".join(again).split()) == "".join(whole.split())


async def test_a_call_that_may_be_repeated_is_repeated(scene: Scene) -> None:
    look = calls(("effects_look", {"mark": "seen", "until": str(scene.signpost)}))
    scene.model.reply(look, text("I looked."))
    await scene.start()
    root = await scene.mention("look")
    await scene.tool_waits()
    await scene.kill()
    scene.signpost.touch()
    await scene.start()
    await scene.see(root, lambda m: m.text == "I looked.")
    await scene.settled()


@pytest.mark.parametrize(
    ("verdict", "times", "told"),
    [("hermes_run_again", 1, "left it"), ("hermes_worked", 0, "confirmed"), ("hermes_skip", 0, "not known")],
)
async def test_a_call_that_may_not_be_repeated_is_asked_about(
    scene: Scene, verdict: str, times: int, told: str
) -> None:
    mark = calls(("effects_mark", {"mark": "it", "until": str(scene.signpost)}))
    scene.model.reply(mark, text("So it is."))
    await scene.start()
    root = await scene.mention("do it")
    await scene.tool_waits()
    await scene.kill()
    await scene.start()
    card = await scene.card(root, verdict)
    scene.signpost.touch()
    await scene.press(card, verdict)
    await scene.see(root, lambda m: m.text == "So it is.")
    await scene.settled()
    assert scene.marks("it") == times
    assert told in scene.model.asked[-1].results[0]


async def test_a_message_that_waited_behind_a_tool_is_answered_after_a_crash(scene: Scene) -> None:
    mark = calls(("effects_mark", {"mark": "it", "until": str(scene.signpost)}))
    scene.model.reply(mark, text("Both are done."))
    await scene.start()
    root = await scene.mention("do it")
    await scene.tool_waits()
    await scene.mention("and tell me the time", thread=root)
    await scene.owes("message waiting")
    scene.signpost.touch()
    await scene.sim.wait_settled()
    await scene.see(root, lambda m: m.text == "Both are done.")
    await scene.restart()
    await scene.settled()
    assert scene.said(root) == ["Both are done."]
    assert "tell me the time" in str(scene.model.requests[-1]["messages"])


async def test_a_card_that_was_posted_and_not_recorded_is_found_again(scene: Scene) -> None:
    scene.model.reply(calls(("write_file", {"path": "a.txt", "content": "a"})), text("Written."))
    await scene.start()
    await scene.lose("chat.postMessage", effect=True)
    root = await scene.mention("write it")
    await scene.card(root, "hermes_approve")
    await scene.restart()
    await scene.press(await scene.card(root, "hermes_approve"), "hermes_approve")
    await scene.see(root, lambda m: m.text == "Written.")
    await scene.settled()
    assert len([m for m in scene.bot(root) if "a.txt" in m.text]) == 1


async def test_a_click_that_was_acknowledged_is_obeyed_after_a_crash(scene: Scene) -> None:
    scene.model.reply(calls(("write_file", {"path": "a.txt", "content": "a"})), text("Written."))
    await scene.start()
    root = await scene.mention("write it")
    await scene.press(await scene.card(root, "hermes_approve"), "hermes_approve")
    await scene.restart()
    await scene.see(root, lambda m: m.text == "Written.")
    await scene.settled()
    assert (scene.house.folder / "data" / "files" / "a.txt").read_text() == "a"


async def test_sigterm_brings_the_step_to_a_commit_and_leaves_nothing_open(scene: Scene) -> None:
    mark = calls(("effects_mark", {"mark": "it", "until": str(scene.signpost)}))
    scene.model.reply(mark, text("Done, a little later."))
    await scene.start()
    root = await scene.mention("do it")
    await scene.tool_waits()
    scene.house.send(signal.SIGTERM)
    await scene.sim.wait_for(lambda: not scene.sim.sockets.connected, timeout=10)
    scene.signpost.touch()
    assert await scene.house.ended() == 0
    assert scene.house.children() == []
    assert all(m.streaming_state != "in_progress" for m in scene.bot(root))
    await scene.start()
    await scene.see(root, lambda m: m.text == "Done, a little later.")
    await scene.settled()
    assert scene.marks("it") == 1
