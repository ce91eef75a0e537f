"""Where Slack accepts no answer, the person who asked is told, and the answer is not tried for ever."""

import pytest
from sqlalchemy import select

from bot.texts import say
from storage.tables import deliveries
from tests.e2e.slack_with_hermes import ANA, SlackWithHermes
from tests.waiting import until

POSTING = ("chat.startStream", "chat.postMessage", "chat.appendStream", "chat.stopStream", "chat.update")


@pytest.mark.parametrize(
    "code", ["cannot_reply_to_message", "restricted_action_thread_locked", "is_archived", "messages_tab_disabled"]
)
async def test_the_asker_is_told_in_the_channel_that_the_thread_takes_no_answer(
    slack: SlackWithHermes, code: str
) -> None:
    for method in POSTING:
        await slack.sim.fail_next(method, error=code, count=1_000)
    await slack.mention("hello")
    told = await slack.ephemeral(ANA, say("reply.refused", "en"))
    assert told.thread_ts is None
    await slack.until(lambda: slack.hermes.runner.busy == 0)
    states = select(deliveries.c.state, deliveries.c.error)

    async def closed() -> bool:
        found = await slack.hermes.db.read(lambda tx: [tuple(row) for row in tx.execute(states)])
        return found == [("failed", code)]

    await until(closed, bool, 30)
    await slack.sim.clear_faults()
    root = await slack.mention("hello again")
    assert await slack.answer(root)
    assert len(slack.sim.ephemerals(ANA)) == 1
