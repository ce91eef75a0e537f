"""The log: one JSON object per line, with the ids that are known, and no secret however it is written."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.ops import logs
from bot.ops.logs import HIDDEN, JsonLines


class RecordedLog:
    """A logger whose lines can be read."""

    def __init__(self, *secrets: str) -> None:
        self.stream = io.StringIO()
        handler = logging.StreamHandler(self.stream)
        handler.setFormatter(JsonLines(secrets))
        self.log = logging.Logger("test")
        self.log.addHandler(handler)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


def test_a_line_is_one_object_whatever_is_in_it() -> None:
    recorded = RecordedLog()
    recorded.log.info("two\nlines %s", "\ud800\x00", extra={"session": "s1", "odd": object(), "when": {1, 2}})
    try:
        raise ValueError("inside")
    except ValueError:
        recorded.log.exception("failed")
    first, second = recorded.lines()
    assert (first["message"], first["session"], first["level"], first["log"]) == (
        "two\nlines \ud800\x00",
        "s1",
        "info",
        "test",
    )
    assert "ValueError: inside" in second["trace"]
    assert first["at"].endswith("+00:00")


@given(secret=st.text(min_size=6, max_size=20).filter(lambda s: s.strip() and s not in HIDDEN and "test" not in s))
def test_a_known_secret_is_hidden_as_it_stands_in_json(secret: str) -> None:
    recorded = RecordedLog(secret)
    recorded.log.warning("<%s>", f"--{secret}--", extra={"more": [f"=={secret}=="]})
    assert f"--{secret}--" not in str(recorded.lines()[0]["message"])
    assert f"=={secret}==" not in str(recorded.lines()[0]["more"][0])


@pytest.mark.parametrize(
    "token",
    [
        "xoxb-1234567890-abcdef",
        "xapp-1-A0-123-abc",
        "sk-proj-abc123def",
        "Bearer abcdef.123456",
        "?ticket=0123456789abcdef",
    ],
)
def test_what_looks_like_a_token_is_hidden_though_nobody_named_it(token: str) -> None:
    recorded = RecordedLog()
    recorded.log.info("got %s here", token)
    assert token[-6:] not in recorded.stream.getvalue()
    assert HIDDEN in recorded.lines()[0]["message"]


async def test_ids_follow_the_task_and_what_it_starts_and_no_other() -> None:
    recorded = RecordedLog()

    async def call(number: int) -> None:
        logs.add_fields(call=number)
        await asyncio.sleep(0)
        recorded.log.info("call")

    async def session(name: str) -> None:
        logs.add_fields(session=name)
        await asyncio.gather(call(1), call(2))
        recorded.log.info("session")

    await asyncio.gather(session("a"), session("b"))
    recorded.log.info("nobody")
    ids = sorted((str(line.get("session")), str(line.get("call"))) for line in recorded.lines())
    of_each = [("1",), ("2",), ("None",)]
    assert ids == sorted([("None", "None"), *((s, c) for s in "ab" for (c,) in of_each)])


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    found = logging.getLogger()
    handlers, level = found.handlers[:], found.level
    loud = {name: logging.getLogger(name).level for name in logs.NOISY}
    yield found
    found.handlers[:] = handlers
    found.setLevel(level)
    logging.captureWarnings(False)
    for name, before in loud.items():
        logging.getLogger(name).setLevel(before)


def test_at_debug_the_sdks_still_do_not_write_bodies(root: logging.Logger) -> None:
    logs.set_up("DEBUG", [])
    assert root.level == logging.DEBUG
    for name in ("slack_bolt.app", "slack_sdk.socket", "slack_sdk.web", "openai._base_client", "httpx2", "mcp.client"):
        assert not logging.getLogger(name).isEnabledFor(logging.INFO)
