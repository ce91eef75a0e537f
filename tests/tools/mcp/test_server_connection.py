"""Connections that fail and are restored: a hand-written stdio server that misbehaves on request."""

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.mcp_test_hub import QUICK, McpTestHub, alive, mcp_test_hub, minimal_server, sdk_server
from tests.waiting import until
from tools.mcp.health_and_tool_list import ConnectionTiming
from tools.mcp.mcp_settings import load_settings
from tools.mcp.server_hub import ServerHub
from tools.tool_definition import Tool, ToolError

SECRET = {"API_TOKEN": "t0psecret-t0psecret"}


async def error_of(made: McpTestHub) -> str:
    await made.until_state("down")
    return made.row().error or ""


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (minimal_server("exits", env=SECRET), "the program ended; its last stderr line: cannot work with [redacted]"),
        ({"command": "no-such-command-here"}, "the command no-such-command-here was not found or is not executable"),
        ({"command": "/etc/passwd"}, "the command /etc/passwd was not found or is not executable"),
        ({"command": "true", "cwd": "/no/such/place"}, "the folder /no/such/place (cwd) does not exist"),
        (minimal_server("endless"), "its tool list has more than 100 pages"),
        (minimal_server("circle"), "its tool list repeats itself"),
    ],
)
async def test_a_server_that_cannot_work_is_reported_with_the_reason(entry: dict, words: str) -> None:
    async with mcp_test_hub({"t": entry}) as made:
        assert await error_of(made) == words
        assert made.tools == {}
        (sentence,) = made.hub.missing()
        assert '"t" is not connected' in sentence
        assert "stderr" not in sentence


async def test_a_server_that_prints_other_text_on_stdout_still_works() -> None:
    async with mcp_test_hub({"t": minimal_server("garbage")}) as made:
        assert int(await made.call("t_echo")) > 0


async def test_all_pages_of_a_list_are_read() -> None:
    async with mcp_test_hub({"t": minimal_server("pages")}) as made:
        assert list(made.tools) == ["t_echo", "t_second"]


async def test_a_call_over_its_time_limit_times_out_and_the_connection_stays() -> None:
    async with mcp_test_hub({"t": minimal_server("ok", timeout_s=2)}) as made:
        pid = await made.call("t_echo")
        with pytest.raises(ToolError, match=r"did not answer within 2 s") as caught:
            await made.call("t_echo", wait=True)
        assert (caught.value.code, caught.value.retryable) == ("timeout", True)
        assert await made.call("t_echo") == pid


@pytest.mark.parametrize(
    ("mode", "code", "words"),
    [
        ("malformed", "bad_reply", "does not fit the protocol"),
        ("giant", "result_too_large", r"larger than 8\.0 MiB"),
        ("refusing", "invalid_arguments", r"answered with an error: wrong \[redacted\] second line$"),
    ],
)
async def test_a_bad_answer_is_a_tool_error(mode: str, code: str, words: str) -> None:
    async with mcp_test_hub({"t": minimal_server(mode, env=SECRET)}) as made:
        with pytest.raises(ToolError, match=words) as caught:
            await made.call("t_echo")
        assert caught.value.code == code
        assert made.row().up


async def test_a_server_that_ends_in_a_call_is_restarted_and_the_outcome_is_unknown() -> None:
    async with mcp_test_hub({"t": minimal_server("ok")}) as made:
        before = await made.call("t_echo")
        with pytest.raises(ToolError, match="it is not known whether the call ran") as caught:
            await made.call("t_echo", die=True)
        assert (caught.value.code, caught.value.retryable) == ("outcome_unknown", True)
        assert await made.call("t_echo") != before
        assert made.changes == ["t"]  # the same tools: nothing to tell


async def test_a_server_that_ends_while_idle_is_restarted_without_a_call() -> None:
    async with mcp_test_hub({"t": minimal_server("ok")}) as made:
        pid = int(await made.call("t_echo"))
        os.kill(pid, signal.SIGKILL)
        await made.until_state("down")
        assert "t_echo" in made.tools  # the prompt stays as it is
        await made.until_state("ready")
        assert int(await made.call("t_echo")) != pid


async def test_a_server_that_stops_answering_is_replaced_by_the_health_check() -> None:
    timing = replace(QUICK, health_s=0.05, health_timeout_s=0.1)
    async with mcp_test_hub({"t": minimal_server("fades")}, timing) as made:
        pid = await made.call("t_echo")

        async def answering() -> str:
            try:
                return await made.call("t_echo")
            except ToolError:  # met just while it was being replaced
                return pid

        await until(answering, lambda now: now != pid)


async def test_a_call_to_an_ended_server_fails_soon_with_the_reason(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    timing = ConnectionTiming(first_delay_s=0.02, longest_delay_s=0.05, ready_wait_s=0.3)
    async with mcp_test_hub({"t": minimal_server("once", str(gone))}, timing) as made:
        await made.call("t_echo")
        gone.touch()
        with pytest.raises(ToolError):
            await made.call("t_echo", die=True)

        async def reason() -> str:
            return made.row().error or ""

        await until(reason, lambda error: "only once" in error)
        with pytest.raises(ToolError, match="the program ended; its last stderr line: only once") as caught:
            await made.call("t_echo")
        assert (caught.value.code, caught.value.retryable) == ("unavailable", True)


async def test_the_delay_between_attempts_grows() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    timing = ConnectionTiming(first_delay_s=1, longest_delay_s=8, sleep=sleep, jitter=lambda: 1.0)
    async with mcp_test_hub({"t": {"command": "no-such-command-here"}}, timing):

        async def pauses() -> int:
            return len(slept)

        await until(pauses, lambda count: count >= 6)
    assert slept[:6] == [1, 2, 4, 8, 8, 8]


async def test_an_ended_and_a_silent_server_delay_no_other() -> None:
    servers = {"dead": {"command": "no-such-command-here"}, "mute": minimal_server("mute", connect_timeout_s=0.5)}
    async with mcp_test_hub(servers | {"t": minimal_server("ok"), "off": {"command": "x", "disabled": True}}) as made:
        assert int(await made.call("t_echo")) > 0
        assert [row.up for row in made.hub.status()] == [False, False, True, False]
        assert made.row("off").state == "disabled"
        assert made.row("mute").error == "did not answer within 0.5 s"
        assert len(made.hub.missing()) == 2


async def test_a_turn_continues_without_a_server_that_is_still_connecting() -> None:
    async def ignore(server: str, tools: list[Tool]) -> None: ...

    hub = ServerHub(load_settings({"t": minimal_server("mute", connect_timeout_s=60)}, {}), ignore)
    await hub.start()
    try:
        await hub.ready(0.05)
        assert hub.status()[0].state == "connecting"
        assert "still connecting" in hub.missing()[0]
    finally:
        await hub.close()
    assert hub.status()[0].state == "closed"


async def test_an_error_in_on_change_does_not_harm_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(server: str, tools: list[Tool]) -> None:
        raise RuntimeError("the registry is full")

    hub = ServerHub(load_settings({"t": minimal_server("ok")}, {}), refuse, timing=QUICK)
    await hub.start()
    try:
        await hub.ready(60)
        assert hub.status()[0].up
        assert "not registered" in caplog.text
    finally:
        await hub.close()


async def test_a_server_that_ignores_sigterm_and_blocks_in_a_call_is_ended_in_time(tmp_path: Path) -> None:
    here = tmp_path / "here"
    async with mcp_test_hub({"t": sdk_server(), "u": minimal_server("ok")}) as made:
        stubborn = (await made.call("t_stubborn"))["result"]
        server, child = (await made.call("t_spawn"))["result"]
        _, detached = (await made.call("t_spawn", detached=True))["result"]
        blocked = asyncio.create_task(made.call("t_block", file=str(here)))
        await until(lambda: asyncio.to_thread(here.exists), True)
        async with asyncio.timeout(8):
            await made.hub.close()
        with pytest.raises(ToolError) as caught:
            await blocked
        assert caught.value.code == "outcome_unknown"
    assert stubborn == server
    assert [row.state for row in made.hub.status()] == ["closed", "closed"]
    assert not [pid for pid in (server, child, detached) if alive(pid)]
