"""What Slack makes of typed text (slack.md §4.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.simulator.rules.typed_text import encode_typed_text

NAMES = {"ana": "U0ANA", "hermes": "U0HERMES"}
PLACES = {"general": "C0GENERAL"}


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("1 < 2 & 3 > 2", "1 &lt; 2 &amp; 3 &gt; 2"),
        ("@hermes hi @Ana", "<@U0HERMES> hi <@U0ANA>"),
        ("<@U0HERMES> hi", "<@U0HERMES> hi"),
        ("ana@hermes.example", "ana@hermes.example"),
        ("@nobody", "@nobody"),
        ("@channel now", "<!channel> now"),
        ("see https://x.example/a?b=1&c=2.", "see <https://x.example/a?b=1&amp;c=2>."),
        ("`@ana <b>`", "`@ana &lt;b&gt;`"),
        ("```\nhttps://x\n```", "```\nhttps://x\n```"),
        ("你好 @hermes，在吗", "你好 <@U0HERMES>，在吗"),
        ("post in #general, please", "post in <#C0GENERAL|general>, please"),
        ("#nowhere a#general `#general`", "#nowhere a#general `#general`"),
        ("https://x.example/#general", "<https://x.example/#general>"),
        ("<#C0GENERAL|general> it is", "<#C0GENERAL|general> it is"),
        ("<script>", "&lt;script&gt;"),
        ("", ""),
    ],
)
def test_typed_text_is_encoded_as_slack_does(typed: str, sent: str) -> None:
    assert encode_typed_text(typed, NAMES, PLACES) == sent


@given(st.text(alphabet="a <>&;`lt", max_size=30))
def test_typed_text_can_be_decoded(typed: str) -> None:
    sent = encode_typed_text(typed, {}, {})
    assert sent.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == typed
