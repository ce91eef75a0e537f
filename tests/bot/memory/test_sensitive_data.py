"""Secrets, identity numbers and payment data are recognized; ordinary talk about them is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory.sensitive_data import sensitive_kind
from tests.bot.memory.sensitive_samples import HARMLESS, SECRET, chinese_id, digits, luhn, some


@pytest.mark.parametrize("text", SECRET)
def test_sensitive_text_is_recognized(text: str) -> None:
    assert sensitive_kind(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_not_sensitive(text: str) -> None:
    assert sensitive_kind(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"use sk-proj-{some(60)}", "secret"),
        (f"AKIA{some(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}", "secret"),
        ("-----BEGIN OPENSSH " + "PRIVATE KEY-----", "secret"),
        (f"my password is {some(5)}4!", "secret"),
        ('the wifi password is "' + "hunter" + '"', "secret"),
        (f"我的密码：{some(6)}{digits(3)}", "secret"),
        (f"card {luhn('4' + digits(14))}", "payment"),
        (f"银行卡号 {digits(19)}", "payment"),
        ("IBAN DE89 3704 0044 0532 0130 00, please", "payment"),
        (f"身份证 {chinese_id('110105199003071' + '23')}", "identity"),
        ("her SSN is 219-" + "09-1234", "identity"),
        (f"护照号 E{digits(8)}", "identity"),
    ],
)
def test_the_kind_is_named(text: str, kind: str) -> None:
    assert sensitive_kind(text) == kind


def test_wide_digits_and_invisible_characters_hide_nothing() -> None:
    number = luhn("4" + digits(14))
    assert sensitive_kind("".join(chr(ord(c) + 0xFEE0) for c in number)) == "payment"
    assert sensitive_kind("\u200b".join(number)) == "payment"


@given(st.text(max_size=400))
def test_any_text_is_classified_without_an_error(text: str) -> None:
    assert sensitive_kind(text) in {None, "secret", "identity", "payment"}


@pytest.mark.parametrize(
    "number", ["4111 1111 1111 1111", "5555555555554444", "5555-5555-5555-4444", "378282246310005"]
)
def test_test_cards_of_few_different_digits_are_payment_data(number: str) -> None:
    assert sensitive_kind(f"my card is {number}") is not None
