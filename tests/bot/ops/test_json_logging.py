"""Each log line is one JSON object with the ids of its task and without secrets."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.ops import json_logging
from bot.ops.json_logging import HIDDEN, JsonLines


class RecordedLog:
    """A logger that records its lines."""

    def __init__(self, *secrets: str) -> None:
        self.stream = io.StringIO()
        handler = logging.StreamHandler(self.stream)
        handler.setFormatter(JsonLines(secrets))
        self.log = logging.Logger("test")
        self.log.addHandler(handler)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


def test_a_log_line_is_one_json_object_whatever_it_contains() -> None:
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
def test_a_known_secret_is_hidden_in_its_json_form_too(secret: str) -> None:
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
def test_text_that_looks_like_a_token_is_hidden(token: str) -> None:
    recorded = RecordedLog()
    recorded.log.info("got %s here", token)
    assert token[-6:] not in recorded.stream.getvalue()
    assert HIDDEN in recorded.lines()[0]["message"]


async def test_log_ids_apply_to_a_task_and_the_tasks_it_starts() -> None:
    recorded = RecordedLog()

    async def call(number: int) -> None:
        json_logging.add_fields(call=number)
        await asyncio.sleep(0)
        recorded.log.info("call")

    async def session(name: str) -> None:
        json_logging.add_fields(session=name)
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
    loud = {name: logging.getLogger(name).level for name in json_logging.NOISY}
    yield found
    found.handlers[:] = handlers
    found.setLevel(level)
    logging.captureWarnings(False)
    for name, before in loud.items():
        logging.getLogger(name).setLevel(before)


def test_at_debug_level_the_sdks_log_no_bodies(root: logging.Logger) -> None:
    json_logging.set_up("DEBUG", [])
    assert root.level == logging.DEBUG
    for name in ("slack_bolt.app", "slack_sdk.socket", "slack_sdk.web", "openai._base_client", "httpx2", "mcp.client"):
        assert not logging.getLogger(name).isEnabledFor(logging.INFO)
