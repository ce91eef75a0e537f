"""What Slack shows is not sent again because the database could not record it at once."""

import logging
import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from tests.e2e.slack_with_hermes import HERMES, SlackWithHermes
from tests.fakes.model_scripts import calls, text

LOCKED = "sent message not recorded, trying again"


class LockingChat:
    """A chat that locks the database right after one method has succeeded, until a write has failed."""

    def __init__(self, slack: SlackWithHermes, method: str) -> None:
        self._chat, self._method = slack.hermes.runner.services.chat, method
        self._lock = sqlite3.connect(slack.hermes.db.path, isolation_level=None, check_same_thread=False)
        self.locked = False

    def __getattr__(self, name: str) -> Any:
        return self._and_lock if name == self._method else getattr(self._chat, name)

    async def _and_lock(self, *args: Any, **options: Any) -> Any:
        result = await getattr(self._chat, self._method)(*args, **options)
        if not self.locked:
            self.locked = True
            self._lock.execute("BEGIN IMMEDIATE")
        return result

    def release(self) -> None:
        self._lock.close()


async def locking(slack: SlackWithHermes, method: str) -> LockingChat:
    chat = LockingChat(slack, method)
    slack.hermes.runner.services = replace(slack.hermes.runner.services, chat=chat)
    return chat


async def until_a_write_failed(slack: SlackWithHermes, caplog: pytest.LogCaptureFixture, chat: LockingChat) -> None:
    await slack.until(lambda: any(record.message == LOCKED for record in caplog.records))
    chat.release()
    await slack.until(lambda: slack.hermes.runner.busy == 0)


async def test_a_notice_is_posted_once(slack: SlackWithHermes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    root = await slack.mention("hello")
    await slack.answer(root)
    chat = await locking(slack, "post")
    await slack.mention("!status", thread=root)
    await until_a_write_failed(slack, caplog, chat)
    await slack.mention("!tools", thread=root)  # the next notice must not send the first one again
    await slack.answer(root, lambda said: len(said) >= 3)
    assert len([said for said in slack.said(root) if "requests:" in said]) == 1


async def test_a_card_is_posted_once(slack: SlackWithHermes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    chat = await locking(slack, "post_card")
    slack.model.reply(calls(("deploy", {"service": "shop"})), text("Deployed."))
    root = await slack.mention("deploy")
    await until_a_write_failed(slack, caplog, chat)
    [card] = await slack.open_cards(root)
    await slack.click(card, "hermes_approve")
    await slack.answer(root, lambda said: "Deployed." in said)
    assert len([m for m in slack.cards(root) if m.user == HERMES]) == 1
