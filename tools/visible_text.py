"""Text as people see it: characters that do not show become escapes, or are removed where nobody decides. Pure.

`visible` and `quoted` are for what a person reads to decide: approval cards, memories, names. `without_hidden` and
`StreamFilter` are for what Hermes sends: hidden characters are gone, unless an emoji or a word needs them.
"""

import json
import re
import unicodedata
from typing import Any

# Default_Ignorable_Code_Point (Unicode 17.0, DerivedCoreProperties.txt), the reserved code points among them included.
_IGNORABLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Blank in most fonts: the braille blank, annotation marks, the object replacement character, a musical notehead, and
# fillers of Egyptian and Khitan.
_BLANK = r"\u2800\ufff9-\ufffc\U0001d159\U00013441\U00013442\U00016fe4"
_SPACE = r"\u00a0\u1680\u2000-\u200a\u202f\u205f"  # category Zs without U+0020 and U+3000
_BREAK = r"\x0b\x0c\x1c-\x1e\x85\u2028\u2029"  # line breaks besides \n and \r
_CONTROL = r"\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # category Cc without tab and line breaks
_NOT_TEXT = r"\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff\ufdd0-\ufdef\ufffe\uffff"  # surrogates, private use, none
_EAST_ASIAN = r"\u2e80-\u2fff\u3001-\u3163\u3165-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff9f\U00020000-\U0003fffd"
_WIDE_SPACE = rf"\u3000(?!\u3000{{0,8}}[{_EAST_ASIAN}])"  # it is usual before Chinese text, and only there
# Emoji=Yes (Unicode 17.0, emoji-data.txt) without digits, # and *; blocks that are nearly all emoji in full.
_EMOJI = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa"
    r"\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030"
    r"\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# Letters and marks of scripts that write words with joiners: Arabic to N'Ko, Indic to Khmer, Mongolian, Arabic forms.
_JOINED = (
    r"\u0620-\u065f\u066e-\u06ef\u06fa-\u074a\u074d-\u07f5\u08a0-\u0963\u0971-\u0df4\u0f00-\u109f\u1780-\u17b3"
    r"\u17b6-\u17d3\u1820-\u18aa\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
)
_FLAGS = "|".join(  # tags of the flags of England, Scotland and Wales, the only ones recommended for interchange
    "".join(chr(0xE0000 + ord(letter)) for letter in code) + "\U000e007f" for code in ("gbeng", "gbsct", "gbwls")
)
_MEANT = (
    rf"(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=\U0001f3f4)(?:{_FLAGS})"
    rf"|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}][\ufe0e\ufe0f]))\u200d(?=[{_EMOJI}])|(?<=[{_JOINED}])[\u200c\u200d]"
)
_HIDDEN = rf"\r{_IGNORABLE}{_BLANK}{_SPACE}{_BREAK}{_CONTROL}{_NOT_TEXT}"
_TO_SEND = re.compile(rf"({_MEANT})|(\r\n?|[{_BREAK}])|([{_SPACE}]|{_WIDE_SPACE})|[{_HIDDEN}]")
_UNDECIDED = re.compile(rf"[{_HIDDEN}\u3000]{{1,10}}\Z")  # what follows a hidden character decides about it

# More than three diacritics on one letter cover the lines above and below.
_MARKS = r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_PILED_UP = rf"(?<=[{_MARKS}]{{3}})[{_MARKS}]"
_TO_SHOW = re.compile(rf"[\t{_HIDDEN}]|{_WIDE_SPACE}|{_PILED_UP}")
_CATEGORIES = {"Cf", "Cn"}  # formats such as Arabic number signs, and what this Python's Unicode does not know

# Letters of other alphabets that look like Latin ones (Unicode, confusables.txt), and Latin ones like each other.
_LOOKS_LIKE = str.maketrans(
    "аАвВеЕЅѕіІјЈКкМмНоОрРсСтТуУхХһԁԛԜԝӏαΑΒΕΖΗΙΚΜΝνΟοΡρΤΥΧγɑɡıօոսհցᎪᏴᏟᎬᎻᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃI1|0",
    "aABBeESsillJKkMmHoOpPcCtTyYxXhdqWwlaABEZHlKMNvOopPTYXyagiounhgABCEHJKLMPRSTVWZlllO",
)
_OTHER_ALPHABETS = (  # Cyrillic, Armenian, Cherokee, Coptic, Lisu; full-width and mathematical letters; look-alikes
    r"\u0400-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u2c80-\u2cff\u2de0-\u2dff\ua4d0-\ua4ff\ua640-\ua69f\uab70-\uabbf"
    r"\uff21-\uff5a\U0001d400-\U0001d7ff\u0251\u0261\u0131" + "αΑΒΕΖΗΙΚΜΝνΟοΡρΤΥΧγ"
)
_LOOK_ALIKE = re.compile(rf"[{_OTHER_ALPHABETS}]")
_LATIN = re.compile(r"[A-Za-z]")
_LATIN_OR_DIGIT = re.compile(r"[A-Za-z0-9]")


def visible(text: str, *, keep_emoji: bool = False) -> str:
    r"""Return the text with an escape such as `\u{200B}` for each character that does not show; line feeds stay.

    A backslash that could be taken for one of an escape is doubled, so different texts never look the same.
    `keep_emoji`: the joiners and selectors inside emoji and words stay as they are, because what they do shows.
    """
    pattern = _to_escape(text)
    if pattern is None and "\\u{" not in text:
        return text
    hidden = pattern.pattern if pattern else r"(?!)"
    meant = _MEANT if keep_emoji else r"(?!)"
    search = re.compile(rf"({meant})|(?<!\\)(\\++)(?=u\{{|{hidden})|(?:{hidden})")
    return search.sub(lambda m: m[1] or (m[2] * 2 if m[2] else _escape(m[0])), text)


def quoted(value: Any, indent: int | None = None) -> str:
    r"""Return a value as JSON in which characters that do not show are escapes such as `\u{200B}`."""
    literal = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    pattern = _to_escape(literal)
    return pattern.sub(lambda m: _escape(m[0]), literal) if pattern else literal


def without_hidden(text: str) -> str:
    """Return the text without characters that do not show; unusual blanks and line breaks become plain ones.

    What an emoji consists of stays, and joiners inside words of scripts that write with them.
    """
    return _TO_SEND.sub(_sent, text)


class StreamFilter:
    """Applies `without_hidden` to a text that arrives in pieces."""

    def __init__(self) -> None:
        self._text = ""  # the last two characters that were returned, as they arrived, and what is undecided
        self._start = 0  # of what is undecided

    def feed(self, piece: str) -> str:
        """Return what is certain after one more piece."""
        text = self._text + piece
        undecided = _UNDECIDED.search(text, max(self._start, len(text) - 10))
        return self._take(text, undecided.start() if undecided else len(text))

    def close(self) -> str:
        """Return the rest at the end of the text."""
        return self._take(self._text, len(self._text))

    def _take(self, text: str, end: int) -> str:
        pieces: list[str] = []
        at = self._start
        for match in _TO_SEND.finditer(text, at):
            if match.start() >= end:
                break
            pieces += (text[at : match.start()], _sent(match))
            at = match.end()
        pieces.append(text[at:end])
        at = max(at, end)
        self._text, self._start = text[max(0, at - 2) :], min(at, 2)
        return "".join(pieces)


def skeleton(text: str) -> str:
    """Return a form that is the same for texts that look the same, for comparison only."""
    plain = unicodedata.normalize("NFKC", without_hidden(text)).replace("\ufe0f", "").replace("\ufe0e", "")
    return " ".join(plain.translate(_LOOKS_LIKE).replace("rn", "m").split())


def mixed_words(text: str) -> list[str]:
    """Return the words that mix Latin letters with look-alikes of other alphabets, each once, these as escapes.

    A word of look-alikes only counts too where it is part of a name, path or number with Latin letters or digits.
    """
    names = re.findall(r"[\w.@:/-]+", text) if _LOOK_ALIKE.search(text) else []
    words = dict.fromkeys(w for name in names if _LATIN_OR_DIGIT.search(name) for w in re.findall(r"\w+", name))
    mixed = [w for w in words if _LOOK_ALIKE.search(w) and (_LATIN.search(w) or w.translate(_LOOKS_LIKE).isascii())]
    return [_LOOK_ALIKE.sub(lambda match: _escape(match[0]), word) for word in mixed]


def _to_escape(text: str) -> re.Pattern[str] | None:
    """Return a pattern for the characters of this text that do not show, or None if there are none."""
    if text.isascii() and _TO_SHOW.search(text) is None:
        return None
    formats = sorted({c for c in set(text) if not c.isascii() and unicodedata.category(c) in _CATEGORIES})
    if not formats:
        return _TO_SHOW if _TO_SHOW.search(text) else None
    return re.compile(rf"{_TO_SHOW.pattern}|[{''.join(formats)}]")


def _sent(match: re.Match[str]) -> str:
    return match[1] or ("\n" if match[2] else " " if match[3] else "")


def _escape(character: str) -> str:
    return f"\\u{{{ord(character):X}}}"
