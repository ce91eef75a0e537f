"""The script gives back what was fed: all of it, in order, once, whatever is taken when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.reply.outbox import Piece, Script, Task, Words

DELTAS = st.lists(st.text("ab \n@here<!", min_size=1, max_size=40), max_size=20)
MOVES = st.lists(st.tuples(st.booleans(), st.integers(300, 2000)), max_size=20)


@given(DELTAS, MOVES)
def test_what_is_taken_and_given_back_is_neither_lost_nor_doubled(deltas: list[str], moves: list) -> None:
    script, shown = Script(), ""
    for at, delta in enumerate(deltas):
        script.add(delta)
        if at < len(moves):
            fails, room = moves[at]
            piece = script.take(room, shown)
            if fails:
                script.untake(piece)
            else:
                shown += piece.text
    script.complete("".join(deltas))
    while piece := script.take(2000, shown, final=True):
        shown += piece.text
    assert shown.replace("\u200b", "") == "".join(deltas)


@given(st.text(max_size=200))
def test_a_growing_step_keeps_its_last_characters_back(text: str) -> None:
    script = Script()
    script.add(text)
    assert len(script.take(2000, "").text) <= max(0, len(text) - 16)
    assert script.step == text


def test_of_several_states_of_a_card_the_newest_is_sent() -> None:
    script = Script()
    script.task(Task("c", "Look", "in_progress"))
    script.add("Words between the two states of one card.")
    script.end_step()
    script.task(Task("c", "Look", "complete", "found"))
    assert script.take(2000, "").items == (
        Task("c", "Look", "complete", "found"),
        Words("Words between the two states of one card.\n\n", 0),
    )


@pytest.mark.parametrize("end", ["end_step", "complete", "restart", "final"])
def test_a_new_card_tears_no_text_that_grows_and_stands_below_it(end: str) -> None:
    script = Script()
    script.add("Words that grow until they are who")
    script.task(Task("c", "Look", "in_progress"))
    before = script.take(2000, "")
    assert before.text
    assert not any(isinstance(item, Task) for item in before.items)
    script.add("le.")
    match end:
        case "end_step":
            script.end_step()
        case "complete":
            script.complete("Words that grow until they are whole.")
        case "restart":
            script.restart()
            script.broken = False
    after = script.take(2000, before.text, final=end == "final")
    assert after.items[-1] == Task("c", "Look", "in_progress")
    if end != "restart":
        assert (before.text + after.text).strip() == "Words that grow until they are whole."


def test_a_card_that_stands_is_brought_up_to_date_while_text_grows() -> None:
    script = Script()
    script.task(Task("c", "Look", "in_progress"))
    script.take(2000, "")
    script.add("Words that grow until they are who")
    script.task(Task("c", "Look", "complete"))
    assert script.take(2000, "").items[0] == Task("c", "Look", "complete")
    script.complete("Words that grow until they are whole.")
    assert script.take(2000, "").text.endswith("whole.")


def test_titles_and_outputs_fit_a_card_and_ping_nobody() -> None:
    script = Script()
    script.task(Task("c", "@here " + "x" * 400, "error", "line\nline " + "y" * 400))
    (task,) = script.take(2000, "").items
    assert isinstance(task, Task)
    assert task.title.startswith("@\u200bhere")
    assert len(task.title) == len(task.output or "") == 256


def test_a_restart_forgets_the_step_and_holds_back_what_follows_until_it_is_marked() -> None:
    script = Script()
    script.add("This was shown in part, and then it broke. ")
    assert script.take(2000, "").text
    script.restart()
    script.add("A new text that is long enough to be sent at once. ")
    assert script.broken
    assert script.take(2000, "") == Piece()
    script.broken = False
    assert script.take(2000, "").text.startswith("A new text")


def test_text_that_was_given_back_is_forgotten_by_a_restart() -> None:
    script = Script()
    script.add("This could not be sent when it was to be sent. ")
    script.untake(script.take(2000, ""))
    script.restart()
    script.broken = False
    script.complete("Whole.")
    assert script.take(2000, "", final=True).text == "Whole."


def test_text_of_a_step_that_broke_off_is_not_taken_back() -> None:
    script = Script()
    script.add("This was on its way to Slack when the step broke off. ")
    on_its_way = script.take(2000, "")
    script.restart()
    script.untake(on_its_way)
    script.broken = False
    script.complete("Whole.")
    assert script.take(2000, "", final=True).text == "Whole."


def test_a_full_message_is_said_to_be_full() -> None:
    script = Script()
    script.complete("word " * 500)
    piece = script.take(1000, "", final=True)
    assert piece.full
    assert piece.text.endswith("word ")
    assert 900 < len(piece.text) <= 1000


def test_an_empty_script_gives_nothing() -> None:
    assert not Script().take(1000, "", final=True)
