"""Decides whether a memory says what a person wrote. Pure.

The model words a memory. It may turn "my badge is 17" into "Ana's badge is 17", but each word that carries meaning must
be the person's own, in their order, without a "not", "only" or "if" lost or added. In doubt the answer is no, and the
person is asked.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from bot.memory.search_terms import CJK

MAX_SENTENCES = 3  # that one memory may be taken from

_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^[ \t]*>(?:>>.*|[^\n]*)", re.DOTALL | re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?;](?:\s|$)|[。！？；\n]+")
_TOKEN = re.compile(f"[{CJK}]|[^\\W_{CJK}]+")
_REQUEST = re.compile(
    r"\b(?:please |can you |could you |always )?(?:remember|note|save|keep in mind|(?:don't|do not|never) forget)\b"
    r"(?:(?: down)?(?: that| this| to)?\b)?|\bfrom now on\b|从现在起"
    r"|(?:请|帮我)?(?:记住|记下来?|记得|记一下|记着|别忘了?|不要忘记?)"
)
_CONTRACTED = [(re.compile(r"\b(wo|ca|sha)n't\b"), " not"), (re.compile(r"n't\b"), " not"), (re.compile(r"'s\b"), "")]
_CONTRACTED += [(re.compile(r"\bcannot\b"), "can not"), (re.compile(r"用户"), "")]
# Words that say nothing about what is remembered, or change when somebody else tells it.
_NEUTRAL = frozenset(
    re.findall(
        r"\w+",
        """a an the i me my mine myself you your yours yourself he she it its him her his hers we us our ours they them
        their theirs user person am is are was were be been being do does did have has had will would this that these
        those of so and please hermes m d ll re ve s 我 你 您 他 她 它 们 的 了 是 吗 呢 吧 啊 呀 请 这 那 个""",
    )
)
# Words that turn a meaning around, or limit it.
_LIMITS = frozenset(
    re.findall(
        r"\w+",
        """not no never none nothing nobody neither nor without except unless until only if but stop avoid hardly
        instead before after 不 没 别 勿 未 无 莫 非 除 仅 只 若 如 前 后 禁 少""",
    )
)
_ENDINGS = ("ies", "ing", "ed", "es", "s", "y", "e")


def is_said(content: str, said: Sequence[str], *, name: str = "", complete: bool = False) -> bool:
    """Return True if `content` says what the person's messages `said` say. `name`: what others call the person.

    `complete`: it must also leave out nothing of the sentences that it is taken from. Quotes and code in a message may
    be other people's words, so they do not count.
    """
    wanted = _words(content)
    sentences = [s for text in said for s in _sentences(text)]
    own = {word for sentence in sentences for word in sentence}
    wanted = [w for w in wanted if w in own or w not in set(_words(name))]
    return bool(wanted) and any(_tells(wanted, sentences[n:], complete) for n in range(len(sentences)))


def _tells(wanted: list[str], sentences: list[list[str]], complete: bool) -> bool:
    """Return True if these sentences have the wanted words in order, the first of them in the first sentence."""
    used: set[int] = set()
    at = 0
    for number, sentence in enumerate(sentences):
        for word in sentence:
            if at < len(wanted) and word == wanted[at]:
                used.add(number)
                at += 1
    if at < len(wanted) or 0 not in used or max(used) >= MAX_SENTENCES:
        return False
    source, told = Counter(w for n in used for w in sentences[n]), Counter(wanted)
    return source == told if complete else _limits(source) == _limits(told)


def _limits(words: Counter[str]) -> Counter[str]:
    return Counter({word: n for word, n in words.items() if word in _LIMITS})


def _sentences(text: str) -> list[list[str]]:
    own = _QUOTED.sub("\n", text)
    return [words for part in _SENTENCE_END.split(own) if (words := _words(part))]


def _words(text: str) -> list[str]:
    """Return the words that carry meaning, each without its ending."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    plain = _REQUEST.sub(" ", "".join(c for c in plain if unicodedata.category(c) != "Cf"))
    for pattern, full in _CONTRACTED:
        plain = pattern.sub(full, plain)
    return list(_stems(w for w in _TOKEN.findall(plain) if w not in _NEUTRAL))


def _stems(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), "")
        yield word if word in _LIMITS or not word.isalpha() else word.removesuffix(ending)
