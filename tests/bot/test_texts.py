"""Every sentence exists in both languages, says the same in both, and is said somewhere."""

import re
import string
from pathlib import Path

import pytest

from bot.texts import TEXTS, chinese, say

ROOT = Path(__file__).parents[2]
SOURCES = [p for room in ("bot", "handlers", "tools", "storage") for p in sorted((ROOT / room).rglob("*.py"))]
CODE = "\n".join(p.read_text() for p in SOURCES if p.name != "texts.py" and "simulator" not in p.parts)
KEY = re.compile(r"[\"']([a-z]+(?:\.[a-z_]+)+)[\"']")
MADE = re.compile(r'f"([a-z]+(?:\.[a-z_]+)*\.)\{')  # keys that are put together


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_a_sentence_is_whole_in_both_languages(key: str) -> None:
    english, other = TEXTS[key]
    assert english.strip()
    assert fields(english) == fields(other)
    assert english.count("`") == other.count("`")
    assert not re.search(r"[\u4e00-\u9fff]", english)
    assert re.search(r"[\u4e00-\u9fff]", other) or not re.search(r"[a-z]{3}", re.sub(r"\{\w+\}", "", english))


def test_every_sentence_is_said_somewhere() -> None:
    said, made = set(KEY.findall(CODE)), tuple(MADE.findall(CODE))
    assert [key for key in TEXTS if key not in said and not key.startswith(made)] == []


def test_a_locale_chooses_the_language() -> None:
    assert chinese("zh-CN")
    assert not chinese("en-GB")
    assert say("end.stopped", "zh-TW", name="ana") == "已由 ana 停止。"
    assert say("end.stopped", "de-DE", name="ana") == "Stopped by ana."
