"""Every sentence that the demonstration model suggests works with a real bot, in both languages."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.simulator.demo_model.demo_model_server import DemonstrationModel
from bot.simulator.demo_model.demo_replies import EXAMPLES
from bot.simulator.server import Simulator
from tests.e2e.slack_with_hermes import ANA, CHO, GENERAL, SlackWithHermes

# The reply in both languages, by the English sentence; some sentences need an approval first.
ANSWERS = {
    "What time is it in Tokyo?": ("In Asia/Tokyo it is", "Asia/Tokyo 现在是"),
    "Give me a long answer": ("The answer ends.", "结束。"),
    "Remember that I prefer green tea": ("I will remember: I prefer green tea", "我记住了：我喜欢绿茶"),
    "What do you know about me?": ("I prefer green tea", "我喜欢绿茶"),
    "Forget that I prefer green tea": ("I asked you in a private message.", "我已私下向您确认。"),
    "Post “lunch is ready” in #general": ("It is posted in", "已发到"),
    "Write the file plan.md: buy milk": ("`plan.md` is written.", "`plan.md` 已写入。"),
    "Which files are there?": ("plan.md", "plan.md"),
    "Search the files for “milk”": ("buy milk", "买牛奶"),
    "Read the file plan.md": ("buy milk", "买牛奶"),
    "Summarize this thread": ("Summarize this thread", "总结一下这个消息列"),
}
NEED_APPROVAL = (
    "Post “lunch is ready” in #general",
    "Write the file plan.md: buy milk",
)


@pytest.fixture
async def slack(sim: Simulator, tmp_path: Path) -> AsyncIterator[SlackWithHermes]:
    async with DemonstrationModel(delay=0) as model:
        slack = await SlackWithHermes.start((sim, model), tmp_path, {})
        yield slack
        await slack.stop()


@pytest.mark.parametrize(("language", "user"), [(0, ANA), (1, CHO)], ids=["English", "Chinese"])
async def test_each_suggested_sentence_has_its_effect(
    language: int, user: str, slack: SlackWithHermes, tmp_path: Path
) -> None:
    for sentences in EXAMPLES:
        root = await slack.mention(sentences[language], user)
        if sentences[0] in NEED_APPROVAL:
            [card] = await slack.open_cards(root)
            await slack.click(card, "hermes_approve", user)
        expected = ANSWERS[sentences[0]][language]
        await slack.answer(root, lambda said, expected=expected: any(expected in text for text in said))
        if sentences[0].startswith("Forget"):
            question = await slack.until(
                lambda: next((m for m in slack.sim.ephemerals(user) if len(m.buttons) == 2), None)
            )
            forget = question.buttons[0]
            await slack.click(question, forget.action_id, user, value=forget.value, answers=1)
    assert [m.text for m in slack.sim.messages(GENERAL) if m.is_bot] == [("lunch is ready", "午饭好了")[language]]
    assert (tmp_path / "files" / "plan.md").read_text() == ("buy milk", "买牛奶")[language]
    root = await slack.mention(EXAMPLES[3][language], user)
    await slack.answer(root, lambda said: any(("know nothing", "还什么都不知道")[language] in text for text in said))
