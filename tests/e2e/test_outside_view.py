"""What a running bot shows: it is ready while its socket is, and it counts what people did."""

import json
import logging

import aiohttp
import pytest

from bot.ops.logs import JsonLines
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, GENERAL, Team
from tests.fakes.mcp_bench import tiny
from tests.fakes.model_script import calls, text
from tests.waiting import until


async def look(team: Team, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(f"{team.hermes.address}{path}") as answer:
        return answer.status, await answer.text()


async def test_it_is_ready_while_its_socket_is(team: Team) -> None:
    async def ready() -> tuple[int, str]:
        return await look(team, "/readyz")

    await until(ready, (200, '{"ok": true, "socket": true, "token": true, "database": true}'))
    team.sim.switches.bad_tickets = True
    await team.sim.kill_sockets()
    await until(ready, (503, '{"ok": false, "socket": false, "token": true, "database": true}'))
    assert (await look(team, "/healthz"))[0] == 200


async def test_it_is_not_ready_while_slack_refuses_its_token(team: Team, caplog: pytest.LogCaptureFixture) -> None:
    async def ready() -> dict[str, bool]:
        return json.loads((await look(team, "/readyz"))[1])

    await team.sim.fail_next("*", error="token_revoked", count=1_000)
    root = await team.mention("hello")
    await until(ready, {"ok": False, "socket": True, "token": False, "database": True})
    refused = [r for r in caplog.records if r.message.startswith("Slack refuses SLACK_BOT_TOKEN")]
    assert [vars(r)["reason"] for r in refused] == ["token_revoked"]
    await team.sim.clear_faults()
    await team.until(lambda: team.hermes.runner.busy == 0)
    await team.hermes.runner.recover()
    assert await team.answer(root) == ["Understood."]
    await until(ready, {"ok": True, "socket": True, "token": True, "database": True})


async def test_it_is_not_ready_when_its_database_is_gone(team: Team) -> None:
    team.hermes.db.path.unlink()

    async def ready() -> dict[str, bool]:
        return json.loads((await look(team, "/readyz"))[1])

    await until(ready, {"ok": False, "socket": True, "token": True, "database": False})


async def test_it_counts_turns_tools_approvals_memories_and_servers(start: Start) -> None:
    team = await start(mcp_servers={"good": tiny("plain"), "bad": tiny("exits")})
    steps = calls(("current_time", {}), ("post_message", {"channel": GENERAL, "text": "hi"}))
    team.model.reply(steps, text("Done."))
    root = await team.mention("work")

    async def card() -> list[str]:
        found = [m for m in team.sim.thread(GENERAL, root) if m.is_bot and "hermes_deny" in str(m.blocks)]
        return [m.ts for m in found]

    shown = await until(card, bool)
    await team.sim.click(ANA, shown[0], "hermes_deny")
    await team.answer(root)
    await team.sim.command(ANA, GENERAL, "/memory", "add I like tea")

    async def numbers() -> set[str]:
        return set((await look(team, "/metrics"))[1].splitlines())

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


async def test_log_lines_of_a_turn_bear_its_ids(team: Team, caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []
    reader = logging.Handler(logging.INFO)
    reader.setFormatter(JsonLines())
    reader.emit = lambda record: lines.append(reader.format(record))  # type: ignore[method-assign]
    for name in ("bot", "tools"):
        logging.getLogger(name).addHandler(reader)
        logging.getLogger(name).setLevel(logging.INFO)
    team.model.reply(calls(("current_time", {})), text("Done."))
    root = await team.mention("work")
    await team.answer(root)
    for name in ("bot", "tools"):
        logging.getLogger(name).removeHandler(reader)
        logging.getLogger(name).setLevel(logging.NOTSET)
    (ended,) = [line for line in map(json.loads, lines) if line["message"] == "tool call ended"]
    assert len(ended["session"]) == 36
    assert (ended["turn"], ended["tool"], bool(ended["call"])) == (1, "current_time", True)


async def test_a_key_that_no_tool_bears_is_said_at_the_start(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    tools = {"post_mesage": {"risk": "deny"}, "later_tool": {"risk": "deny"}, "read_file": {"risk": "ask"}}
    await start(tools=tools, mcp_servers={"later": tiny("plain")})
    said = [getattr(r, "key", "") for r in caplog.records if "unknown tool" in r.message]
    assert said == ["post_mesage"]
