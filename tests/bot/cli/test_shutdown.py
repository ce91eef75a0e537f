"""After a signal Hermes exits with 0, without child processes and without secrets in its output."""

import os
import re
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import yaml

from bot.simulator.server import Simulator
from tests.fakes.mcp_test_hub import HERE, alive
from tests.fakes.model_scripts import calls, hang
from tests.fakes.scripted_model import ScriptedModel
from tests.hermes_process import APP_TOKEN, BOT_TOKEN, KEY, HermesProcess, bot_environment, run_hermes
from tests.storage.test_database import end_threads
from tests.waiting import until

GENERAL, ANA = "C0GENERAL", "U0ANA"
STOP_S = 10.0  # a container runtime waits this long between SIGTERM and SIGKILL


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as server:
        yield server


async def stopped(hermes: HermesProcess, number: signal.Signals) -> None:
    """Send the signal; check the exit code, the time, and that every log line is JSON without a secret."""
    hermes.signal(number)
    assert await hermes.ends(STOP_S) == 0
    assert hermes.lines()[-1]["message"] == "stopped"
    said = hermes.out + hermes.err
    assert not [secret for secret in (BOT_TOKEN, APP_TOKEN, KEY, "ticket=") if secret in said]
    assert not [line for line in hermes.lines() if line["level"] in ("error", "critical")]
    assert "slack_bolt" not in hermes.err


async def connected(address: str) -> None:
    """Wait until the MCP server is connected: on a busy machine it starts more slowly than a turn waits for it."""

    async def numbers() -> str:
        async with aiohttp.ClientSession() as http, http.get(f"{address}/metrics") as answer:
            return await answer.text()

    await until(numbers, lambda text: 'hermes_mcp_up{server="t"} 1.0' in text, 60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_an_idle_bot_stops_at_either_signal(sim: Simulator, tmp_path: Path, number: signal.Signals) -> None:
    async with HermesProcess(tmp_path, "run", **bot_environment(sim, HERMES_LOG_LEVEL="debug")) as hermes:
        address = await hermes.ready()
        await sim.wait_connected()
        async with aiohttp.ClientSession() as http, http.get(f"{address}/healthz") as answer:
            assert await answer.json() == {"ok": True}
        await stopped(hermes, number)


async def test_a_hanging_model_request_does_not_delay_shutdown(
    sim: Simulator, model: ScriptedModel, tmp_path: Path
) -> None:
    model.default = hang("I think ")
    async with HermesProcess(tmp_path, "run", **bot_environment(sim, OPENAI_BASE_URL=model.base_url)) as hermes:
        await hermes.ready()
        await sim.wait_connected()
        await sim.say(ANA, GENERAL, "@hermes think")
        await model.arrived(1)
        await stopped(hermes, signal.SIGTERM)


async def test_an_mcp_server_that_ignores_sigterm_during_a_call_is_ended_too(
    sim: Simulator, model: ScriptedModel, tmp_path: Path
) -> None:
    server = {"command": sys.executable, "args": [str(HERE / "sdk_mcp_server.py"), "stdio"]}
    names = ("t_spawn", "t_stubborn", "t_block")
    said = {"mcp_servers": {"t": server}, "tools": {name: {"risk": "allow", "timeout_s": 60} for name in names}}
    (tmp_path / "hermes.yaml").write_text(yaml.safe_dump(said))
    blocked = tmp_path / "blocked"
    steps = [calls(("t_spawn", {"detached": True})), calls(("t_stubborn", {}))]
    model.reply(*steps, calls(("t_block", {"file": str(blocked)})))
    async with HermesProcess(tmp_path, "run", **bot_environment(sim, OPENAI_BASE_URL=model.base_url)) as hermes:
        await connected(await hermes.ready())
        await sim.wait_connected()
        await sim.say(ANA, GENERAL, "@hermes work")

        async def in_the_call() -> bool:
            return blocked.exists()

        await until(in_the_call, True, 30)
        pids = [int(n) for n in re.findall(r"\d{2,}", model.asked[1].results[0])]
        assert len(pids) == 2
        assert all(alive(pid) for pid in pids)
        await stopped(hermes, signal.SIGTERM)
        assert not [pid for pid in pids if alive(pid)]


async def test_two_signals_at_once_stop_the_bot_normally(sim: Simulator, tmp_path: Path) -> None:
    async with HermesProcess(tmp_path, "run", **bot_environment(sim)) as hermes:
        await hermes.ready()
        os.kill(hermes.pid, signal.SIGTERM)
        await stopped(hermes, signal.SIGTERM)


def run_until_the_writer_dies(arguments: list[str], env: dict[str, str], folder: str) -> None:
    """Run Hermes, and end its database threads once the file `end` exists."""

    def end() -> None:
        while not (Path(folder) / "end").exists():
            time.sleep(0.05)
        end_threads()

    threading.Thread(target=end, daemon=True).start()
    run_hermes(arguments, env, folder)


async def test_a_dead_database_writer_ends_the_process_with_one_line(sim: Simulator, tmp_path: Path) -> None:
    async with HermesProcess(tmp_path, "run", run=run_until_the_writer_dies, **bot_environment(sim)) as hermes:
        await hermes.ready()
        await sim.wait_connected()
        (tmp_path / "end").touch()
        assert await hermes.ends() == 1
        [line] = [line for line in hermes.err.splitlines() if line.startswith("hermes: ")]
        assert "Start Hermes again" in line


async def test_the_local_slack_stops_with_its_bot(tmp_path: Path) -> None:
    async with HermesProcess(tmp_path, "dev", "--port", "0", SLACK_BOT_TOKEN="xoxb-real", OPENAI_API_KEY="") as hermes:

        async def page() -> str:
            return next(iter(re.findall(r"http://\S+", hermes.out)), "")

        address = await until(page, bool, 40)
        async with aiohttp.ClientSession() as http, http.get(address) as answer:
            assert answer.status == 200
        assert (tmp_path / "data/dev/hermes.db").exists()
        (tmp_path / "second").mkdir()
        port, data = address.rpartition(":")[2].strip("/"), str(tmp_path / "data")
        async with HermesProcess(tmp_path / "second", "dev", "--port", port, HERMES_DATA_DIR=data) as second:
            assert await second.ends() == 2
            assert f"another Hermes (process {hermes.pid})" in second.err
        await stopped(hermes, signal.SIGINT)
        assert "xoxb-real" not in hermes.err
