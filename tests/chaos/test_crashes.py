"""The process is killed at a chosen point: each message is answered once and no side effect happens twice."""

import signal

import pytest

from tests.chaos.crash_scenario import CrashScenario
from tests.fakes.model_scripts import Gate, calls, text

pytestmark = pytest.mark.timeout(240)


async def test_a_message_sent_while_hermes_is_down_is_answered_once(scenario: CrashScenario) -> None:
    scenario.model.reply(text("Here I am."))
    root = await scenario.mention("anybody there?")
    await scenario.start()
    await scenario.answer(root, "Here I am.")
    await scenario.settled()


async def test_a_message_that_was_stored_but_not_acknowledged_is_answered_once(scenario: CrashScenario) -> None:
    gate = Gate()
    scenario.model.on("hello", text("Hello.").behind(gate))
    await scenario.start()
    scenario.sim.switches.drop_acks = -1
    root = await scenario.mention("hello")
    await scenario.pending("reasoning")
    await scenario.kill()
    scenario.sim.switches.drop_acks = 0
    gate.release()
    await scenario.start()
    await scenario.answer(root, "Hello.")
    await scenario.sim.wait_settled()
    await scenario.settled()
    assert scenario.said(root) == ["Hello."]


async def test_a_model_request_cut_off_by_the_crash_is_sent_again(scenario: CrashScenario) -> None:
    gate = Gate()
    scenario.model.reply(text("lost").behind(gate), text("Good morning."))
    await scenario.start()
    root = await scenario.mention("good morning")
    await gate.arrived()
    await scenario.restart()
    await scenario.answer(root, "Good morning.")
    await scenario.settled()


async def test_a_partial_answer_is_marked_as_interrupted_and_the_complete_one_follows(scenario: CrashScenario) -> None:
    gate = Gate()
    long = "The first half of it. " * 8
    scenario.model.reply(text(long + "The end.", chunks=6).behind(gate, after=4), text("All of it, to the end."))
    await scenario.start()
    root = await scenario.mention("tell me all")
    await scenario.see(root, lambda m: m.streaming_state == "in_progress" and "first half" in m.text)
    await scenario.restart()
    await scenario.see(root, lambda m: "to the end" in m.text)
    await scenario.settled()
    partial, complete = scenario.said(root)
    assert "first half" in partial
    assert "interrupted by a restart" in partial
    assert complete == "All of it, to the end."


@pytest.mark.parametrize("effect", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.stopStream", "chat.startStream"])
async def test_a_complete_answer_whose_delivery_is_uncertain_appears_once(
    scenario: CrashScenario, method: str, effect: bool
) -> None:
    gate = Gate()
    # One word is posted as one message; of a longer answer all but the last word is streamed first.
    words = text("It is committed, word by word, and sent.", chunks=4).behind(gate, after=3)
    scenario.model.reply(text("sent.") if method == "chat.postMessage" else words)
    await scenario.start()
    if method != "chat.stopStream":
        await scenario.fail_uncertainly(method, effect=effect)
    root = await scenario.mention("tell me")
    if method == "chat.stopStream":
        await scenario.see(root, lambda m: m.streaming_state == "in_progress")
        await scenario.fail_uncertainly(method, effect=effect)
    gate.release()
    await scenario.pending("answer uncertain")
    await scenario.restart()
    await scenario.see(root, lambda m: m.text.endswith("sent.") and m.streaming_state != "in_progress")
    await scenario.settled()
    assert sum("sent." in said for said in scenario.said(root)) == 1


async def test_a_long_answer_interrupted_twice_repeats_nothing_after_the_interruption_note(
    scenario: CrashScenario,
) -> None:
    whole = "\n\n".join(f"Paragraph {n}. " + "Some words that fill it. " * 90 for n in range(12)) + " The end."
    scenario.model.reply(text(whole, chunks=1))
    await scenario.start()
    await scenario.hang_at_second("chat.startStream")
    root = await scenario.mention("tell me all")
    await scenario.see(root, lambda m: "Paragraph 0." in m.text and m.streaming_state != "in_progress")
    await scenario.pending("answer uncertain")
    await scenario.kill()
    await scenario.sim.clear_faults()
    await scenario.hang_at_second("chat.postMessage")
    await scenario.start()
    await scenario.see(root, lambda m: "Paragraph 0." in m.text and "interrupted" not in m.text)
    await scenario.restart()
    await scenario.see(root, lambda m: m.text.endswith("The end."))
    await scenario.settled()
    first, *again = scenario.said(root)
    assert first.endswith("— interrupted by a restart, continues below —")
    assert "".join("".join(again).split()) == "".join(whole.split())


async def test_a_repeatable_call_is_repeated_after_a_crash(scenario: CrashScenario) -> None:
    look = calls(("effects_look", {"mark": "seen", "until": str(scenario.release_file)}))
    scenario.model.reply(look, text("I looked."))
    await scenario.start()
    root = await scenario.mention("look")
    await scenario.tool_waits()
    await scenario.kill()
    scenario.release_file.touch()
    await scenario.start()
    await scenario.see(root, lambda m: m.text == "I looked.")
    await scenario.settled()


@pytest.mark.parametrize(
    ("verdict", "times", "told"),
    [("hermes_run_again", 1, "appended it"), ("hermes_worked", 0, "confirmed"), ("hermes_skip", 0, "not known")],
)
async def test_a_call_that_is_not_repeatable_is_asked_about_after_a_crash(
    scenario: CrashScenario, verdict: str, times: int, told: str
) -> None:
    mark = calls(("effects_mark", {"mark": "it", "until": str(scenario.release_file)}))
    scenario.model.reply(mark, text("Noted."))
    await scenario.start()
    root = await scenario.mention("do it")
    await scenario.tool_waits()
    await scenario.kill()
    await scenario.start()
    card = await scenario.card(root, verdict)
    scenario.release_file.touch()
    await scenario.click(card, verdict)
    await scenario.see(root, lambda m: m.text == "Noted.")
    await scenario.settled()
    assert scenario.mark_count("it") == times
    assert told in scenario.model.asked[-1].results[0]


async def test_a_message_that_arrived_during_a_tool_call_is_answered_after_a_crash(scenario: CrashScenario) -> None:
    mark = calls(("effects_mark", {"mark": "it", "until": str(scenario.release_file)}))
    scenario.model.reply(mark, text("Both are done."))
    await scenario.start()
    root = await scenario.mention("do it")
    await scenario.tool_waits()
    await scenario.mention("and tell me the time", thread=root)
    await scenario.pending("message waiting")
    scenario.release_file.touch()
    await scenario.sim.wait_settled()
    await scenario.see(root, lambda m: m.text == "Both are done.")
    await scenario.restart()
    await scenario.settled()
    assert scenario.said(root) == ["Both are done."]
    assert "tell me the time" in str(scenario.model.requests[-1]["messages"])


async def test_a_card_that_was_posted_but_not_recorded_is_found_and_not_posted_again(scenario: CrashScenario) -> None:
    scenario.model.reply(calls(("write_file", {"path": "a.txt", "content": "a"})), text("Written."))
    await scenario.start()
    await scenario.fail_uncertainly("chat.postMessage", effect=True)
    root = await scenario.mention("write it")
    await scenario.card(root, "hermes_approve")
    await scenario.restart()
    await scenario.click(await scenario.card(root, "hermes_approve"), "hermes_approve")
    await scenario.see(root, lambda m: m.text == "Written.")
    await scenario.settled()
    assert len([m for m in scenario.bot_messages(root) if "a.txt" in m.text]) == 1


async def test_an_acknowledged_click_takes_effect_after_a_crash(scenario: CrashScenario) -> None:
    scenario.model.reply(calls(("write_file", {"path": "a.txt", "content": "a"})), text("Written."))
    await scenario.start()
    root = await scenario.mention("write it")
    await scenario.click(await scenario.card(root, "hermes_approve"), "hermes_approve")
    await scenario.restart()
    await scenario.see(root, lambda m: m.text == "Written.")
    await scenario.settled()
    assert (scenario.bot.folder / "data" / "files" / "a.txt").read_text() == "a"


async def test_sigterm_commits_the_running_step_and_leaves_no_process_or_stream_open(scenario: CrashScenario) -> None:
    mark = calls(("effects_mark", {"mark": "it", "until": str(scenario.release_file)}))
    scenario.model.reply(mark, text("Done, a little later."))
    await scenario.start()
    root = await scenario.mention("do it")
    await scenario.tool_waits()
    scenario.bot.send(signal.SIGTERM)
    await scenario.sim.wait_for(lambda: not scenario.sim.sockets.connected)
    scenario.release_file.touch()
    assert await scenario.bot.ended() == 0
    assert scenario.bot.children() == []
    assert all(m.streaming_state != "in_progress" for m in scenario.bot_messages(root))
    await scenario.start()
    await scenario.see(root, lambda m: m.text == "Done, a little later.")
    await scenario.settled()
    assert scenario.mark_count("it") == 1
