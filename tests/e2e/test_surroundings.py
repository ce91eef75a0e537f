"""Variables that were meant for other programs do not change how Hermes works."""

import pytest

from tests.e2e.conftest import Start
from tests.fakes.model_script import text


async def test_another_apps_oauth_variables_do_not_take_the_bot_over(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET", "SLACK_SIGNING_SECRET", "SLACK_SCOPES"):
        monkeypatch.setenv(name, "of-another-app")
    team = await start()
    team.model.reply(text("Good morning."))
    assert await team.answer(await team.mention("good morning")) == ["Good morning."]
    answer = await team.sim.command("U0ANA", "C0GENERAL", "/hermes", "help")
    assert "status" in str(answer)
