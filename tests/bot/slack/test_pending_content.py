"""The pending gives back what was fed: all of it, in order, once, whatever is taken when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.reply.reply_content import Batch, PendingContent, TaskCard, Text

DELTAS = st.lists(st.text("ab \n@here<!", min_size=1, max_size=40), max_size=20)
MOVES = st.lists(st.tuples(st.booleans(), st.integers(300, 2000)), max_size=20)


@given(DELTAS, MOVES)
def test_what_is_taken_and_given_back_is_neither_lost_nor_doubled(deltas: list[str], moves: list) -> None:
    pending, shown = PendingContent(), ""
    for at, delta in enumerate(deltas):
        pending.add(delta)
        if at < len(moves):
            fails, room = moves[at]
            piece = pending.take(room, shown)
            if fails:
                pending.give_back(piece.items)
            else:
                shown += piece.text
    pending.complete("".join(deltas))
    while piece := pending.take(2000, shown, final=True):
        shown += piece.text
    assert shown.replace("\u200b", "") == "".join(deltas)


@given(st.text(max_size=200))
def test_a_growing_step_keeps_its_last_characters_back(text: str) -> None:
    pending = PendingContent()
    pending.add(text)
    assert len(pending.take(2000, "").text) <= max(0, len(text) - 16)
    assert pending.step_text == text


def test_of_several_states_of_a_card_the_newest_is_sent() -> None:
    pending = PendingContent()
    pending.set_card(TaskCard("c", "Look", "in_progress"))
    pending.add("Words between the two states of one card.")
    pending.end_step()
    pending.set_card(TaskCard("c", "Look", "complete", "found"))
    assert pending.take(2000, "").items == (
        TaskCard("c", "Look", "complete", "found"),
        Text("Words between the two states of one card.\n\n", 0),
    )


@pytest.mark.parametrize("end", ["end_step", "complete", "restart", "final"])
def test_a_new_card_tears_no_text_that_grows_and_stands_below_it(end: str) -> None:
    pending = PendingContent()
    pending.add("Words that grow until they are who")
    pending.set_card(TaskCard("c", "Look", "in_progress"))
    before = pending.take(2000, "")
    assert before.text
    assert not any(isinstance(item, TaskCard) for item in before.items)
    pending.add("le.")
    match end:
        case "end_step":
            pending.end_step()
        case "complete":
            pending.complete("Words that grow until they are whole.")
        case "restart":
            pending.restart()
            pending.broken = False
    after = pending.take(2000, before.text, final=end == "final")
    assert after.items[-1] == TaskCard("c", "Look", "in_progress")
    if end != "restart":
        assert (before.text + after.text).strip() == "Words that grow until they are whole."


def test_a_card_that_stands_is_brought_up_to_date_while_text_grows() -> None:
    pending = PendingContent()
    pending.set_card(TaskCard("c", "Look", "in_progress"))
    pending.take(2000, "")
    pending.add("Words that grow until they are who")
    pending.set_card(TaskCard("c", "Look", "complete"))
    assert pending.take(2000, "").items[0] == TaskCard("c", "Look", "complete")
    pending.complete("Words that grow until they are whole.")
    assert pending.take(2000, "").text.endswith("whole.")


def test_titles_and_outputs_fit_a_card_and_ping_nobody() -> None:
    pending = PendingContent()
    pending.set_card(TaskCard("c", "@here " + "x" * 400, "error", "line\nline " + "y" * 400))
    (task,) = pending.take(2000, "").items
    assert isinstance(task, TaskCard)
    assert task.title.startswith("@\u200bhere")
    assert len(task.title) == len(task.output or "") == 256


def test_a_restart_forgets_the_step_and_holds_back_what_follows_until_it_is_marked() -> None:
    pending = PendingContent()
    pending.add("This was shown in part, and then it broke. ")
    assert pending.take(2000, "").text
    pending.restart()
    pending.add("A new text that is long enough to be sent at once. ")
    assert pending.broken
    assert pending.take(2000, "") == Batch()
    pending.broken = False
    assert pending.take(2000, "").text.startswith("A new text")


def test_text_that_was_given_back_is_forgotten_by_a_restart() -> None:
    pending = PendingContent()
    pending.add("This could not be sent when it was to be sent. ")
    pending.give_back(pending.take(2000, "").items)
    pending.restart()
    pending.broken = False
    pending.complete("Whole.")
    assert pending.take(2000, "", final=True).text == "Whole."


def test_text_of_a_step_that_broke_off_is_not_taken_back() -> None:
    pending = PendingContent()
    pending.add("This was on its way to Slack when the step broke off. ")
    on_its_way = pending.take(2000, "")
    pending.restart()
    pending.give_back(on_its_way.items)
    pending.broken = False
    pending.complete("Whole.")
    assert pending.take(2000, "", final=True).text == "Whole."


def test_a_full_message_is_said_to_be_full() -> None:
    pending = PendingContent()
    pending.complete("word " * 500)
    piece = pending.take(1000, "", final=True)
    assert piece.full
    assert piece.text.endswith("word ")
    assert 900 < len(piece.text) <= 1000


def test_an_empty_pending_gives_nothing() -> None:
    assert not PendingContent().take(1000, "", final=True)
