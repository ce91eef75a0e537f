"""Slack's text becomes what a person reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.slack_markup import (
    mentioned_users,
    mentions,
    readable,
    unescape,
    with_ids,
    without_leading_mention,
    without_quotes,
)
from tools.text_cleanup import storable

NAMES = {"U1": "Ann", "C1": "general", "S1": "crew"}


@pytest.mark.parametrize(
    ("slack", "seen"),
    [
        ("<@U0BOT> hello", "hello"),
        ("<@U0BOT>, ask <@U1>", "ask @Ann"),
        ("hey <@U0BOT> hello", "hey @Hermes hello"),
        ("<@U0BOT>: do it", "do it"),
        ("<@U0BOT> :tada:", ":tada:"),
        ("<@U0BOT>, :tada: now", ":tada: now"),
        ("<@U0BOT>：好的", "好的"),
        ("<@U0BOT>:do it", "do it"),
        ("<@U0BOT>:+1::skin-tone-2: yes", ":+1::skin-tone-2: yes"),
        ("<@U2|bob> and <@U3>", "@bob and @U3"),
        ("<#C1> <#C2|random> <#C3>", "#general (C1) #random (C2) #C3"),
        ("<https://a.b/?x=1&amp;y=2>", "https://a.b/?x=1&y=2"),
        ("<https://a.b|the page>", "the page (https://a.b)"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        ("<http://a.b|http://a.b>", "http://a.b"),
        ("<!here> <!channel|channel> <!subteam^S1> <!subteam^S2|@ops>", "@here @channel @crew @ops"),
        ("<!date^1392734382^{date}|18 Feb>", "18 Feb"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2, &amp;lt; stays", "1 < 2 && 3 > 2, &lt; stays"),
        ("a &lt;@U1&gt; typed", "a <@U1> typed"),
        ("<@U0BOT>", ""),
        ("a\x00b", "ab"),
    ],
)
def test_each_form_is_readable(slack: str, seen: str) -> None:
    assert readable(without_leading_mention(slack, "U0BOT"), NAMES | {"U0BOT": "Hermes"}) == seen


@pytest.mark.parametrize(
    ("slack", "text", "names"),
    [
        ("<@U0BOT> ask <@U1> in <#C1>", "ask @U1 in #C1", {"U1": "@Ann", "C1": "#general"}),
        ("<@U0BOT>, ,: see <#C2|random>, <@U2|bob>", "see #C2, @U2", {"C2": "#random", "U2": "@bob"}),
        ("thank <!subteam^S2|@ops> and <@U0BOT>", "thank @S2 and @Hermes", {"S2": "@ops"}),
        ("<@U3> <#C3|>", "@U3 #C3", {}),
    ],
)
def test_the_model_reads_ids_and_names_stand_apart(slack: str, text: str, names: dict[str, str]) -> None:
    assert with_ids(slack, NAMES, "U0BOT") == (text, names)


def test_only_markup_tokens_are_mentions() -> None:
    assert mentioned_users("<@U1> <@U2|b> <@U1> @U3") == ["U1", "U2"]
    assert mentions("hi <@U0BOT>", "U0BOT")
    assert not mentions("hi U0BOT &lt;@U0BOT&gt;", "U0BOT")


@given(st.text())
def test_escaping_and_reading_give_the_text_back(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert unescape(escaped) == text
    assert readable(escaped, {}) == storable(text).strip()


@pytest.mark.parametrize(
    ("text", "own", "quotes"),
    [
        ("a\nb", "a\nb", []),
        ("&gt; a\n&gt;b\nc\n&gt; d", "c", ["a\nb", "d"]),
        ("1 &gt; 0\n&amp;gt; a", "1 &gt; 0\n&amp;gt; a", []),
        ("a\n&gt;&gt;&gt; b\n&gt; c\n d", "a", ["b\n&gt; c\n d"]),
        ("&gt;&gt; a\nb", "b", ["&gt; a"]),
    ],
)
def test_quotes_stand_apart(text: str, own: str, quotes: list[str]) -> None:
    assert without_quotes(text) == (own, quotes)
