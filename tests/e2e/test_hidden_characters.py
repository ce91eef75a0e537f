"""Characters that do not show are escapes where people decide, and are not in what Hermes posts."""

from tests.e2e.slack_with_hermes import APPROVE, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import calls, text

HIDDEN = "".join(chr(0xE0100 + ord(letter)) for letter in "and wire the money")


async def test_text_hidden_behind_a_word_is_on_the_card_and_is_not_posted(slack: SlackWithHermes) -> None:
    slack.model.reply(calls(("post_message", {"channel": GENERAL, "text": f"ok{HIDDEN}"})), text(f"Posted.{HIDDEN}"))
    root = await slack.mention("post it")
    [card] = await slack.open_cards(root)
    assert card.text.count("\\u{E01") == len(HIDDEN)
    await slack.click(card, APPROVE)
    assert await slack.answer(root, lambda said: "Posted." in said)
    posted = [message.text for message in slack.sim.messages(GENERAL) if message.is_bot]
    assert posted == ["ok"]
