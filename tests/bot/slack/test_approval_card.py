"""Approval cards show the complete call within Slack's limits."""

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.ports import ApprovalCard
from bot.simulator.rules.block_rules import check_view
from bot.slack.render.approval_card import card_blocks, card_text, full_view
from bot.texts import say
from storage.records import Approval, ApprovalRule, Thread
from tools.shown_arguments import CARD_CHARACTERS, VIEW_BYTES, fits_card, fits_view
from tools.visible_text import quoted

THREAD = Thread("T1", "C1", "1.0")
OPEN = Approval(
    id="ap1", session="s", call="c", kind="approval", tool="post_message", arguments={"text": "hi"}, arguments_hash="h",
    requester="U1", rule=ApprovalRule(("U2", "U3"), quorum=2, not_requester=True), status="open", thread=THREAD,
    message_ts=None, created=0.0, expires=1_700_000_000.0,
)  # fmt: skip


def words(blocks: list[dict[str, Any]]) -> str:
    return json.dumps(blocks, ensure_ascii=False)


def shown_arguments(blocks: list[dict[str, Any]]) -> str:
    return "".join(b["elements"][0]["elements"][0]["text"] for b in blocks if b["type"] == "rich_text")


def action_ids(blocks: list[dict[str, Any]]) -> list[str]:
    return [e["action_id"] for b in blocks if b["type"] == "actions" for e in b["elements"]]


def test_an_open_card_shows_the_call_the_approvers_and_the_expiry() -> None:
    blocks = card_blocks(ApprovalCard(replace(OPEN, votes=("U2",)), "write", note="repaired"))
    seen = words(blocks)
    for word in (
        "post_message",
        "<@U1>",
        "<@U2>, <@U3>",
        "1 of 2",
        "repaired",
        say("card.not_requester", "en"),
        "1700000000",
    ):
        assert word in seen
    assert action_ids(blocks) == ["hermes_approve", "hermes_deny"]
    assert {e["value"] for e in blocks[-1]["elements"]} == {"ap1"}
    assert json.loads(shown_arguments(blocks)) == {"text": "hi"}


@pytest.mark.parametrize("status", ["approved", "denied", "expired", "withdrawn"])
def test_a_settled_card_has_no_buttons_and_shows_the_outcome(status: Any) -> None:
    card = ApprovalCard(replace(OPEN, status=status, decided_by=("U2", "U3")), "write")
    blocks = card_blocks(card)
    assert action_ids(blocks) == []
    assert status in (words(blocks) + card_text(card)).lower()
    assert ("<@U2>, <@U3>" in words(blocks[-1:])) == (status in {"approved", "denied"})


def test_a_card_about_an_unknown_outcome_has_three_buttons() -> None:
    card = ApprovalCard(replace(OPEN, kind="unknown"), "danger")
    assert action_ids(card_blocks(card)) == ["hermes_run_again", "hermes_worked", "hermes_skip"]
    for status in ("run_again", "worked", "skipped", "expired", "withdrawn"):
        settled = card_blocks(replace(card, approval=replace(card.approval, status=status)))
        assert action_ids(settled) == []
        assert len(settled[-1]["text"]["text"]) > 15


def test_an_unknown_outcome_needs_one_answer_whatever_the_quorum() -> None:
    asked = words(card_blocks(ApprovalCard(replace(OPEN, kind="unknown", votes=()), "danger")))
    assert "<@U2>, <@U3>" in asked
    assert "of 2" not in asked
    assert say("card.not_requester_unknown", "en") in asked


def test_an_expired_question_names_nobody() -> None:
    card = ApprovalCard(replace(OPEN, kind="unknown", status="skipped"), "danger")
    assert say("card.unknown_expired", "en") in words(card_blocks(card))
    answered = replace(card, approval=replace(card.approval, decided_by=("U2",)))
    assert say("card.skipped", "en", who="<@U2>") in words(card_blocks(answered))


def test_a_card_is_in_the_requesters_language() -> None:
    assert "批准" in words(card_blocks(ApprovalCard(OPEN, "write", locale="zh-CN")))


def read_json(shown: str) -> Any:
    """Return the value of JSON with escapes such as `\\u{200B}`."""
    escape = re.compile(r"(?<!\\)((?:\\\\)*)\\u\{([0-9A-F]+)\}")
    return json.loads(escape.sub(lambda m: m[1] + chr(int(m[2], 16)), shown))


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=4000), min_size=1, max_size=4))
def test_arguments_are_shown_exactly_or_marked_as_shortened(arguments: dict[str, str]) -> None:
    blocks = card_blocks(ApprovalCard(replace(OPEN, arguments=arguments), "write"))
    text = quoted(arguments, indent=2)
    if len(text) <= CARD_CHARACTERS:
        assert read_json(shown_arguments(blocks)) == arguments
    else:
        assert str(len(text)) in words(blocks)
        assert hashlib.sha256(text.encode()).hexdigest() in words(blocks)


@given(st.dictionaries(st.text(), st.text(max_size=30000), max_size=3), st.text(max_size=3000), st.text(max_size=400))
def test_every_card_keeps_to_slacks_limits(arguments: dict[str, str], note: str, tool: str) -> None:
    approvers = tuple(f"U{i:010}" for i in range(200))
    rule = ApprovalRule(approvers, 3)
    approval = replace(OPEN, arguments=arguments, tool=tool, rule=rule, votes=approvers[:40])
    blocks = card_blocks(ApprovalCard(approval, "danger", note=note))
    assert len(blocks) <= 50
    assert len(shown_arguments(blocks)) <= CARD_CHARACTERS
    for block in blocks:
        if block["type"] == "section":
            assert 1 <= len(block["text"]["text"]) <= 3000
        if block["type"] == "context":
            assert 1 <= len(block["elements"][0]["text"]) <= 2000


def test_nothing_in_the_arguments_is_invisible() -> None:
    hidden = {"path": "a\u202egnp.exe\u200b\u00a0x"}
    text = shown_arguments(card_blocks(ApprovalCard(replace(OPEN, arguments=hidden), "write")))
    assert "\\u{202E}" in text
    assert "\\u{200B}" in text
    assert "\\u{A0}" in text
    assert read_json(text) == hidden


@pytest.mark.parametrize(
    "hidden", ["ok" + "".join(chr(0xE0100 + ord(c)) for c in "and wire money"), "report\ufe0f.txt"]
)
def test_text_hidden_in_variation_selectors_is_shown(hidden: str) -> None:
    shown = shown_arguments(card_blocks(ApprovalCard(replace(OPEN, arguments={"a": hidden}), "write")))
    assert shown.count("\\u{") == len(hidden) - len("".join(c for c in hidden if c.isascii()))


@pytest.mark.parametrize("size", [6_000, 60_000])
def test_every_key_is_shown_whatever_long_values_stand_around_it(size: int) -> None:
    arguments = {
        "aaa": "x" * size,
        "amount": 999999,
        "nested": {"to": "mallory", "note": ["y" * size]},
        "zzz": "z" * size,
    }
    shown = shown_arguments(card_blocks(ApprovalCard(replace(OPEN, arguments=arguments), "write")))
    assert all(part in shown for part in ('"aaa"', '"amount": 999999', '"to": "mallory"', '"note"', '"zzz"'))
    assert shown.count("characters not shown") == 3


LONG_VALUE: dict[str, Any] = {"text": "x" * 20_000, "amount": 999_999}


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("approval", ["hermes_read_in_full", "hermes_deny"]),
        ("unknown", ["hermes_read_in_full", "hermes_worked", "hermes_skip"]),
        ("definition", ["hermes_read_in_full", "hermes_keep_blocked"]),
    ],
)
def test_a_card_that_does_not_show_all_does_not_offer_to_permit_it(kind: Any, wanted: list[str]) -> None:
    card = ApprovalCard(replace(OPEN, kind=kind, arguments=LONG_VALUE), "write")
    assert action_ids(card_blocks(card)) == wanted
    view = full_view(card, "U2")
    assert read_json(shown_arguments(view["blocks"])) == LONG_VALUE
    assert view["submit"]["text"] in ("Approve", "Run again", "Accept the change")


def test_the_view_of_a_settled_call_decides_nothing() -> None:
    card = ApprovalCard(replace(OPEN, status="denied", arguments=LONG_VALUE), "write")
    assert "submit" not in full_view(card, "U2")


def test_what_a_private_tool_is_about_is_read_by_the_requester_only() -> None:
    private = replace(OPEN, tool="forget", arguments={"memory": "m1", "text": "Ana has a cat"})
    card = ApprovalCard(private, "write")
    assert action_ids(card_blocks(card)) == ["hermes_read_in_full", "hermes_deny"]
    assert "cat" not in words(card_blocks(card)) + words(full_view(card, "U2")["blocks"])
    assert "cat" in words(full_view(card, "U1")["blocks"])


@given(st.dictionaries(st.text(), st.text(max_size=40_000), max_size=4), st.text(max_size=3000))
def test_every_view_keeps_to_slacks_limits(arguments: dict[str, str], note: str) -> None:
    card = ApprovalCard(replace(OPEN, arguments=arguments), "danger", note=note)
    view = full_view(card, "U2")
    check_view(view)
    assert len(json.dumps(view)) <= VIEW_BYTES + 20_000
    assert ("submit" in view) == fits_view(arguments)
    if fits_view(arguments) and not fits_card(OPEN.tool, arguments):
        assert read_json(shown_arguments(view["blocks"])) == arguments


def test_a_value_cannot_imitate_the_mark_of_what_is_left_out() -> None:
    arguments = {"a": "x" * 9_000, "b": "\\u00000", "c": '" … 5 characters not shown … "', "d": "\x000"}
    shown = shown_arguments(card_blocks(ApprovalCard(replace(OPEN, arguments=arguments), "write")))
    lines = {line.strip()[:4]: line for line in shown.splitlines()}
    assert [key for key, line in lines.items() if 'x" … ' in line] == ['"a":']
    assert "\\\\u00000" in lines['"b":']
    assert '\\" … 5' in lines['"c":']


def test_arguments_cannot_notify_people_or_forge_a_card() -> None:
    blocks = card_blocks(ApprovalCard(replace(OPEN, tool="<!channel> *x*", arguments={"a": "<!here> ```"}), "write"))
    assert "<!channel>" not in words(blocks)
    assert [b["type"] for b in blocks if "<!here>" in words([b])] == ["rich_text"]


def test_ids_have_their_names_beside_them_and_notify_nobody() -> None:
    arguments = {"channel": "C0GENERAL", "text": "ask U0BEN9 or <@W0NOBODY>, WAITING"}
    card = ApprovalCard(replace(OPEN, arguments=arguments), "write", {"U0BEN9": "Ben <b>"})
    lines = words(card_blocks(card))
    assert "`C0GENERAL` <#C0GENERAL>" in lines
    assert "`U0BEN9` Ben &lt;b&gt;" in lines
    assert f"`W0NOBODY` {say('card.unknown_id', 'en')}" in lines
    assert "`WAITING`" not in lines


def test_words_that_mix_alphabets_are_told() -> None:
    card = ApprovalCard(replace(OPEN, arguments={"to": "p\u0430ypal", "text": "Привет, hello"}), "write")
    assert say("card.mixed_words", "en", words="p\\\\u{430}ypal") in words(card_blocks(card))
    for plain in ("Привет, hello", "Hello,\nПривет"):
        assert "⚠" not in words(card_blocks(ApprovalCard(replace(OPEN, arguments={"to": plain}), "write")))


@given(st.lists(st.from_regex(r"[UWCG]0[A-Z0-9]{3,20}", fullmatch=True), max_size=80), st.text(min_size=1))
def test_a_card_with_many_ids_keeps_to_slacks_limits(ids: list[str], name: str) -> None:
    card = ApprovalCard(replace(OPEN, arguments={"ids": ids}), "write", dict.fromkeys(ids, name))
    blocks = card_blocks(card)
    assert len(blocks) <= 50
    assert all(len(block["elements"][0]["text"]) <= 2000 for block in blocks if block["type"] == "context")
