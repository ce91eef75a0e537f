"""Every text exists in both languages, is used somewhere, and has no internal words."""

import re
import string
from pathlib import Path

import pytest

from bot.texts import TEXTS, chinese, say

ROOT = Path(__file__).parents[2]
SOURCES = [p for room in ("bot", "handlers", "tools", "storage") for p in sorted((ROOT / room).rglob("*.py"))]
CODE = "\n".join(p.read_text() for p in SOURCES if not p.name.endswith("texts.py") and "simulator" not in p.parts)
SECTIONS = "|".join(sorted({key.split(".")[0] for key in TEXTS}))
KEY = re.compile(rf"[\"']((?:{SECTIONS})(?:\.[a-z_]+)+)[\"']")
PREFIX = re.compile(r'f"([a-z]+(?:\.[a-z_]+)*\.)\{')  # of keys that the code builds
INTERNAL = re.compile(
    r"\b(turns?|steps?|endpoints?|operators?|inbox|deliver(y|ies)|sessions?)\b"
    r"|\b(any more|no more|anew|owed|holds?|become of)\b"
)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_every_text_is_complete_in_both_languages(key: str) -> None:
    english, other = TEXTS[key]
    assert english.strip()
    assert fields(english) == fields(other)
    assert english.count("`") == other.count("`")
    assert not re.search(r"[\u4e00-\u9fff]", english)
    assert re.search(r"[\u4e00-\u9fff]", other) or not re.search(r"[a-z]{3}", re.sub(r"\{\w+\}", "", english))


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_no_text_for_people_has_an_internal_word(key: str) -> None:
    assert INTERNAL.search(re.sub(r"\{\w+\}", "", TEXTS[key][0]).lower()) is None


def test_every_text_is_used_somewhere() -> None:
    used, prefixes = set(KEY.findall(CODE)), tuple(PREFIX.findall(CODE))
    assert [key for key in TEXTS if key not in used and not key.startswith(prefixes)] == []


def test_every_key_that_the_code_uses_exists() -> None:
    assert set(KEY.findall(CODE)) - set(TEXTS) == set()


def test_a_locale_chooses_the_language() -> None:
    assert chinese("zh-CN")
    assert not chinese("en-GB")
    assert say("end.stopped", "zh-TW", name="ana") == "已由 ana 停止。"
    assert say("end.stopped", "de-DE", name="ana") == "Stopped by ana."
