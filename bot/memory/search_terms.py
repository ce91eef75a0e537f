"""Turns text into words of the search index, and a question into terms to search for.

SQLite's tokenizer treats a run of Chinese as one word, so runs are cut into overlapping pairs, in text and question.
The index also gets the last character alone: every single character is then the beginning of a token.
"""

import re
import unicodedata

MAX_TEXT = 4000  # characters of a question that are read
MAX_TERMS = 48  # different words that are searched for

CJK = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_RUN = re.compile(f"[{CJK}]+|[^{CJK}\\W_]+")
_IS_CJK = re.compile(f"[{CJK}]")

# Question words and function words, which say nothing about what the question is about.
_ENGLISH = frozenset(
    re.findall(
        r"\w+",
        """a about am an and any are as at be been being but by can could did do does doing for from had has have having
        he her hers him his how i if in into is it its just let may me might mine my of on or our ours please she should
        so some tell than that the their them then there these they this those to us was we were what whats when where
        which who whom whose why will with would you your yours know remember remind s t d ll m re ve don doesn didn""",
    )
)
_CHINESE = re.compile(
    "什么时候|什么样|为什么|怎么样|是什么|有什么|叫什么|什么|哪一个|哪一天|哪一种|哪一部|哪一本|哪些|哪个|哪里|哪儿|哪天|哪位|"
    "多少|怎么|怎样|如何|是否|有没有|是不是|能不能|可不可以|几点|几个|请问|请你|告诉我|还记得|记不记得|记得|知道|曾经|"
    "曾|我们|你们|他们|她们|我的|你的|他的|她的|它的|我和你|和你|跟你|向你|对你|给我|我|你|您|吗|呢|吧|啊|呀|了|的|过|是|它|谁|请"
)


def for_index(text: str) -> str:
    """Return the words of a text, as the index stores them."""
    tokens: list[str] = []
    for run in _RUN.findall(_plain(text)):
        tokens += [*_pairs(run), run[-1]] if _IS_CJK.match(run) else [run]
    return " ".join(tokens)


def terms(question: str) -> tuple[str, ...]:
    """Return the distinct search words of a question; a trailing `*` marks the beginning of a word."""
    asked = _CHINESE.sub(" ", _plain(question[:MAX_TEXT]))
    found: dict[str, None] = {}
    for run in _RUN.findall(asked):
        if not _IS_CJK.match(run):
            if run not in _ENGLISH:
                found[run] = None
        elif len(run) == 1:
            found[f"{run}*"] = None
        else:
            found.update(dict.fromkeys(_pairs(run)))
    return tuple(found)[:MAX_TERMS]


def coverage(marked: str, words: tuple[str, ...]) -> float:
    """Return the share of the question's words that were found, from the text with its matches in \\x01…\\x02."""
    found = set(re.findall("\x01([^\x01\x02]*)\x02", marked))
    return min(1.0, len(found) / len(words)) if words else 0.0


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8")).lower()


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]
