"""A field value is used only if a person said it; values from tools or the model are stored but not used."""

from hypothesis import given
from hypothesis import strategies as st

from bot.session.model_call.session_fields import merged, said_values
from storage.records import Entry

WANTED = {"order_id": "the customer's order number"}


def said(seq: int, text: str, user: str = "U0ANA", **more: str) -> Entry:
    return Entry(seq, 1, 1, "user", {"text": text, "name": "Ana", "user": user, "ts": "1.0", **more})


def result(seq: int, text: str) -> Entry:
    return Entry(seq, 1, 1, "tool", {"text": text, "call": "c1", "name": "look"})


def test_a_value_that_a_person_said_is_used() -> None:
    fields = merged(
        {}, {"order_id": {"value": "A-17", "entry": 3}}, WANTED, [said(3, "my order is a-17, please")], "U0ANA"
    )
    assert fields == {"order_id": {"value": "A-17", "entry": 3, "said": True, "by": "U0ANA"}}
    assert said_values(fields) == {"order_id": {"value": "A-17", "by": "U0ANA"}}


def test_a_value_from_a_tool_is_stored_but_not_used() -> None:
    fields = merged({}, {"order_id": {"value": "B-2", "entry": 4}}, WANTED, [result(4, "order B-2")], "U0ANA")
    assert fields["order_id"]["said"] is False
    assert said_values(fields) == {}


def test_a_value_attributed_to_a_person_who_did_not_say_it_is_not_used() -> None:
    fields = merged({}, {"order_id": {"value": "C-3", "entry": 3}}, WANTED, [said(3, "hello")], "U0ANA")
    assert said_values(fields) == {}


def test_a_value_in_the_words_of_another_person_or_of_an_app_is_not_used() -> None:
    for foreign in (said(3, "order D-4", "U0BEN"), said(3, "order D-4", "B0APP"), said(3, "order D-4", by="bot")):
        fields = merged({}, {"order_id": {"value": "D-4", "entry": 3}}, WANTED, [foreign], "U0ANA")
        assert said_values(fields) == {}


def test_a_persons_value_is_replaced_only_by_a_persons_value() -> None:
    known = {"order_id": {"value": "A-17", "entry": 3, "said": True}}
    assert merged(known, {"order_id": {"value": "B-2", "entry": 4}}, WANTED, [result(4, "B-2")], "U0ANA") == known
    newer = merged(known, {"order_id": {"value": "B-2", "entry": 5}}, WANTED, [said(5, "sorry, it is B-2")], "U0ANA")
    assert said_values(newer) == {"order_id": {"value": "B-2", "by": "U0ANA"}}


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_any_model_answer_adds_only_configured_fields(answer: object) -> None:
    assert set(merged({}, answer, WANTED, [said(3, "x")], "U0ANA")) <= set(WANTED)
