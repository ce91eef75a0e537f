"""Characters that do not show are escapes where a person decides, and are not sent, except in emoji and words."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.visible_text import StreamFilter, mixed_words, quoted, skeleton, visible, without_hidden

HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180e\u200b\u200d\u200e\u202e\u2063\u2066\u2800\u3164\ufe00\ufe0f\ufeff"
    "\uffa0\ufff9\ufffc\x00\x07\x1b\x7f\x9b\ue000\ud800\ufdd0\U000e0041\U000e0100\U000f0000\U0001d173\U0001d159"
)
BLANKS = "\u00a0\u1680\u2000\u2009\u202f\u205f"
BREAKS = "\x0b\x0c\x85\u2028\u2029"
MEANT = [
    "👩🏽‍❤️‍💋‍👨🏽 ❤️ ❤\ufe0e ✔️ 🏳️‍🌈 🐦‍⬛ 🧑‍🧑‍🧒", "1️⃣ #️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇺🇸", "می‌خواهم ه‍.ش", "क्‍ष ന്‍", "你好　世界　　第一段",
]  # fmt: skip
# Characters that have to do with each other, hidden or not.
PIECES = st.sampled_from([*HIDDEN, *BLANKS, *BREAKS, *"a1#*م❤👩🏽🏴\u3000中\r\n\\u{}\u0338\u20e3", *"".join(MEANT)])
TEXTS = st.lists(PIECES | st.characters(), max_size=30).map("".join)


@pytest.mark.parametrize("character", [*HIDDEN, *BLANKS, *BREAKS, "\r", "\t"])
def test_what_does_not_show_is_an_escape(character: str) -> None:
    escape = f"\\u{{{ord(character):X}}}"
    assert visible(f"ok{character}.txt") == f"ok{escape}.txt"
    assert visible(f"ok{character}.txt", keep_emoji=True) == f"ok{escape}.txt"
    if character not in "\x00\x07\x0b\x0c\x1b\r\t":  # JSON has its own escapes for these
        assert quoted(f"ok{character}.txt") == f'"ok{escape}.txt"'


@pytest.mark.parametrize("character", HIDDEN)
def test_what_does_not_show_is_not_sent(character: str) -> None:
    assert without_hidden(f"ok{character}.") == "ok."


def test_unusual_blanks_and_line_breaks_are_sent_as_plain_ones() -> None:
    assert without_hidden(f"a{BLANKS}b") == f"a{' ' * len(BLANKS)}b"
    assert without_hidden(f"a{BREAKS}b\r\nc\rd") == f"a{chr(10) * len(BREAKS)}b\nc\nd"
    assert without_hidden("report　final") == "report final"


@pytest.mark.parametrize("text", MEANT)
def test_emoji_and_joined_words_are_sent_unchanged(text: str) -> None:
    assert without_hidden(text) == text
    assert visible(text, keep_emoji=True) == text


def test_a_flag_made_of_tags_spells_no_message() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "payme")
    assert without_hidden(f"🏴{tags}\U000e007f") == "🏴"


def test_an_escape_differs_from_the_same_text_typed() -> None:
    shown = [visible(text) for text in ("\u200b", "\\u{200B}", "\\\u200b", "\\\\u{200B}", "\\\\\u200b")]
    assert len(set(shown)) == len(shown)
    assert visible("C:\\temp\\x") == "C:\\temp\\x"


def test_diacritics_cannot_cover_other_lines() -> None:
    assert visible("é" + "\u0301" * 3) == "é" + "\u0301" * 3
    assert visible("e" + "\u0301" * 5) == "e" + "\u0301" * 3 + "\\u{301}" * 2


@given(TEXTS)
def test_nothing_that_is_shown_is_hidden(text: str) -> None:
    shown = visible(text)
    kinds = {unicodedata.category(c) for c in shown if c not in "\n\u3000"}
    assert not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert not set(shown) & {*HIDDEN, *BLANKS}


@given(TEXTS, TEXTS)
def test_different_texts_are_shown_differently(one: str, other: str) -> None:
    for show in (visible, quoted):
        assert (show(one) == show(other)) is (one == other)


@given(TEXTS)
def test_what_is_sent_stays_the_same_when_it_is_cleaned_again(text: str) -> None:
    assert without_hidden(without_hidden(text)) == without_hidden(text)


@given(st.lists(TEXTS, max_size=8))
def test_a_stream_is_cleaned_as_its_complete_text_would_be(pieces: list[str]) -> None:
    stream = StreamFilter()
    sent = "".join([stream.feed(piece) for piece in pieces]) + stream.close()
    assert sent == without_hidden("".join(pieces))


@pytest.mark.parametrize(
    "other",
    [
        "rеport.txt",
        "report\ufe0f.txt",
        "rep\u200bort.txt",
        "ｒeport.txt",
        "report.txt ",
        "rероrt.txt",
        "repоrt\u00a0.txt"[:6] + ".txt",
    ],
)
def test_names_that_look_the_same_have_one_skeleton(other: str) -> None:
    assert skeleton(other) == skeleton("report.txt")
    assert skeleton("report2.txt") != skeleton("report.txt")


def test_words_that_mix_alphabets_are_found() -> None:
    assert mixed_words("pаypal.com Привет мир Δt αβγ café ｒoot 你好abc") == ["p\\u{430}ypal", "\\u{FF52}oot"]
    assert mixed_words("аррӏе.com 40О2") == ["\\u{430}\\u{440}\\u{440}\\u{4CF}\\u{435}", "40\\u{41E}2"]
    assert mixed_words("он, оса и рост; отчёт.pdf версия2") == []


@pytest.mark.parametrize(
    "text", ["\u200b" * 200_000, "\\" * 200_000 + "é", "\u3000" * 200_000, "a" * 200_000 + "а", "👩\u200d" * 70_000]
)
def test_long_texts_take_no_long_time(text: str) -> None:
    started = time.process_time()
    visible(text), quoted(text), without_hidden(text), mixed_words(text), skeleton(text)
    stream = StreamFilter()
    for at in range(0, 20_000, 2):
        stream.feed(text[at : at + 2])
    assert time.process_time() - started < 5
