"""Pending content returns all that was added, in order and once, whatever is taken when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.reply.reply_content import Batch, PendingContent, TaskCard, Text

DELTAS = st.lists(st.text("ab \n@here<!", min_size=1, max_size=40), max_size=20)
MOVES = st.lists(st.tuples(st.booleans(), st.integers(300, 2000)), max_size=20)


@given(DELTAS, MOVES)
def test_content_that_is_given_back_is_neither_lost_nor_repeated(deltas: list[str], moves: list) -> None:
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
def test_the_last_characters_of_a_growing_step_are_not_taken(text: str) -> None:
    pending = PendingContent()
    pending.add(text)
    assert len(pending.take(2000, "").text) <= max(0, len(text) - 16)
    assert pending.step_text == text


def test_only_the_newest_state_of_a_card_is_taken() -> None:
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
def test_a_new_card_follows_the_growing_text(end: str) -> None:
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


def test_a_shown_card_is_updated_while_text_grows() -> None:
    pending = PendingContent()
    pending.set_card(TaskCard("c", "Look", "in_progress"))
    pending.take(2000, "")
    pending.add("Words that grow until they are who")
    pending.set_card(TaskCard("c", "Look", "complete"))
    assert pending.take(2000, "").items[0] == TaskCard("c", "Look", "complete")
    pending.complete("Words that grow until they are whole.")
    assert pending.take(2000, "").text.endswith("whole.")


def test_titles_and_outputs_fit_a_card_and_notify_nobody() -> None:
    pending = PendingContent()
    pending.set_card(TaskCard("c", "@here " + "x" * 400, "error", "line\nline " + "y" * 400))
    (task,) = pending.take(2000, "").items
    assert isinstance(task, TaskCard)
    assert task.title.startswith("@\u200bhere")
    assert len(task.title) == len(task.output or "") == 256


def test_after_a_restart_nothing_is_taken_until_the_broken_step_is_marked() -> None:
    pending = PendingContent()
    pending.add("This was shown in part, and then it broke. ")
    assert pending.take(2000, "").text
    pending.restart()
    pending.add("A new text that is long enough to be sent at once. ")
    assert pending.broken
    assert pending.take(2000, "") == Batch()
    pending.broken = False
    assert pending.take(2000, "").text.startswith("A new text")


def test_a_restart_drops_text_that_was_given_back() -> None:
    pending = PendingContent()
    pending.add("This could not be sent when it was to be sent. ")
    pending.give_back(pending.take(2000, "").items)
    pending.restart()
    pending.broken = False
    pending.complete("Whole.")
    assert pending.take(2000, "", final=True).text == "Whole."


def test_text_given_back_after_a_restart_is_dropped() -> None:
    pending = PendingContent()
    pending.add("This was on its way to Slack when the step broke off. ")
    on_its_way = pending.take(2000, "")
    pending.restart()
    pending.give_back(on_its_way.items)
    pending.broken = False
    pending.complete("Whole.")
    assert pending.take(2000, "", final=True).text == "Whole."


def test_a_batch_says_when_the_message_is_full() -> None:
    pending = PendingContent()
    pending.complete("word " * 500)
    piece = pending.take(1000, "", final=True)
    assert piece.full
    assert piece.text.endswith("word ")
    assert 900 < len(piece.text) <= 1000


def test_without_content_the_batch_is_empty() -> None:
    assert not PendingContent().take(1000, "", final=True)
