"""Readiness, metrics and log fields of a running bot."""

import json
import logging

import aiohttp
import pytest

from bot.ops.json_logging import JsonLines
from tests.e2e.conftest import Start
from tests.e2e.slack_with_hermes import ANA, GENERAL, SlackWithHermes
from tests.fakes.mcp_test_hub import minimal_server
from tests.fakes.model_scripts import calls, text
from tests.waiting import until


async def look(slack: SlackWithHermes, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(f"{slack.hermes.address}{path}") as answer:
        return answer.status, await answer.text()


async def test_the_bot_is_ready_only_while_its_socket_is_connected(slack: SlackWithHermes) -> None:
    async def ready() -> tuple[int, str]:
        return await look(slack, "/readyz")

    await until(ready, (200, '{"ok": true, "socket": true, "token": true, "database": true}'))
    slack.sim.switches.bad_tickets = True
    await slack.sim.kill_sockets()
    await until(ready, (503, '{"ok": false, "socket": false, "token": true, "database": true}'))
    assert (await look(slack, "/healthz"))[0] == 200


async def test_the_bot_is_not_ready_while_slack_refuses_its_token(
    slack: SlackWithHermes, caplog: pytest.LogCaptureFixture
) -> None:
    async def ready() -> dict[str, bool]:
        return json.loads((await look(slack, "/readyz"))[1])

    await slack.sim.fail_next("*", error="token_revoked", count=1_000)
    root = await slack.mention("hello")
    await until(ready, {"ok": False, "socket": True, "token": False, "database": True})
    refused = [r for r in caplog.records if r.message.startswith("Slack refuses SLACK_BOT_TOKEN")]
    assert [vars(r)["reason"] for r in refused] == ["token_revoked"]
    await slack.sim.clear_faults()
    await slack.idle()
    await slack.hermes.runner.recover()
    assert await slack.answer(root) == ["Understood."]
    await until(ready, {"ok": True, "socket": True, "token": True, "database": True})


async def test_the_bot_is_not_ready_without_its_database(slack: SlackWithHermes) -> None:
    slack.hermes.db.path.unlink()

    async def ready() -> dict[str, bool]:
        return json.loads((await look(slack, "/readyz"))[1])

    await until(ready, {"ok": False, "socket": True, "token": True, "database": False})


async def test_metrics_count_turns_tools_approvals_memories_and_servers(start: Start) -> None:
    slack = await start(mcp_servers={"good": minimal_server("plain"), "bad": minimal_server("exits")})
    steps = calls(("current_time", {}), ("post_message", {"channel": GENERAL, "text": "hi"}))
    slack.model.reply(steps, text("Done."))
    root = await slack.mention("work")

    async def card() -> list[str]:
        found = [m for m in slack.sim.thread(GENERAL, root) if m.is_bot and "hermes_deny" in str(m.blocks)]
        return [m.ts for m in found]

    shown = await until(card, bool)
    await slack.sim.click(ANA, shown[0], "hermes_deny")
    await slack.answer(root)
    await slack.sim.command(ANA, GENERAL, "/memory", "add I like tea")

    async def numbers() -> set[str]:
        return set((await look(slack, "/metrics"))[1].splitlines())

    wanted = {
        'hermes_turns_total{outcome="answered"} 1.0',
        'hermes_tool_execution_duration_seconds_count{state="succeeded",tool="current_time"} 1.0',
        'hermes_argument_validation_total{result="valid"} 2.0',
        'hermes_approvals_total{verdict="denied"} 1.0',
        'hermes_memory_total{event="added"} 1.0',
        'hermes_mcp_up{server="good"} 1.0',
        'hermes_mcp_up{server="bad"} 0.0',
        "hermes_inbox_depth 0.0",
        "hermes_state_timeout_total 0.0",
    }

    async def lacking() -> set[str]:
        return wanted - await numbers()

    await until(lacking, set())
    text_of_all = "\n".join(await numbers())
    for name in ("hermes_deliveries_total{", "hermes_model_tokens_total{", "hermes_turn_seconds_count 1.0"):
        assert name in text_of_all


async def test_log_lines_of_a_turn_have_its_ids(slack: SlackWithHermes, caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []
    reader = logging.Handler(logging.INFO)
    reader.setFormatter(JsonLines())
    reader.emit = lambda record: lines.append(reader.format(record))  # type: ignore[method-assign]
    for name in ("bot", "tools"):
        logging.getLogger(name).addHandler(reader)
        logging.getLogger(name).setLevel(logging.INFO)
    slack.model.reply(calls(("current_time", {})), text("Done."))
    root = await slack.mention("work")
    await slack.answer(root)
    for name in ("bot", "tools"):
        logging.getLogger(name).removeHandler(reader)
        logging.getLogger(name).setLevel(logging.NOTSET)
    (ended,) = [line for line in map(json.loads, lines) if line["message"] == "tool call ended"]
    assert len(ended["session"]) == 36
    assert (ended["turn"], ended["tool"], bool(ended["call"])) == (1, "current_time", True)


async def test_an_unknown_tool_in_the_configuration_is_logged_at_start(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    tools = {"post_mesage": {"risk": "deny"}, "later_tool": {"risk": "deny"}, "read_file": {"risk": "ask"}}
    await start(tools=tools, mcp_servers={"later": minimal_server("plain")})
    said = [getattr(r, "key", "") for r in caplog.records if "unknown tool" in r.message]
    assert said == ["post_mesage"]
