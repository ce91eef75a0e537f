"""`python -m bot.simulator`: a simulator as a process of its own, until SIGINT or SIGTERM."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

import yaml

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings


def read_settings(argv: list[str]) -> tuple[SimulatorSettings, dict[str, object]]:
    """SimulatorSettings and switches from the command line."""
    parser = argparse.ArgumentParser(prog="python -m bot.simulator", description="A local Slack for Hermes.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8091, help="0 takes any free port (default: 8091)")
    parser.add_argument("--manifest", type=Path, help="the app's manifest.yaml (default: Hermes's own)")
    parser.add_argument("--bot-token", default="xoxb-simulator")
    parser.add_argument("--app-token", default="xapp-simulator")
    parser.add_argument("--banner", help="a line shown on top of the page")
    parser.add_argument("--no-log", action="store_true", help="keep no log of calls: for measuring")
    parser.add_argument("--no-echo", action="store_true", help="do not send the bot's own messages back as events")
    parser.add_argument("--enforce-tiers", action="store_true", help="answer 429 beyond Slack's rate limits")
    parser.add_argument("--no-streams", action="store_true", help="refuse native streams")
    chosen = parser.parse_args(argv)
    settings = SimulatorSettings(
        host=chosen.host,
        port=chosen.port,
        manifest=yaml.safe_load(chosen.manifest.read_text("utf-8")) if chosen.manifest else None,
        bot_token=chosen.bot_token,
        app_token=chosen.app_token,
        banner=chosen.banner,
        keep_log=not chosen.no_log,
    )
    switches: dict[str, object] = {
        "echo_events": not chosen.no_echo,
        "enforce_tiers": chosen.enforce_tiers,
        "streams_enabled": not chosen.no_streams,
    }
    return settings, switches


async def serve(settings: SimulatorSettings, switches: dict[str, object]) -> None:
    """Run until a signal comes; the first line on standard output is the address."""
    simulator = Simulator(settings)
    for name, value in switches.items():
        setattr(simulator.switches, name, value)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with simulator:
        sys.stdout.write(f"{simulator.url}\n")
        sys.stdout.flush()
        await ended.wait()


def main() -> None:
    """Serve; a port that is taken or a manifest that cannot be read is one line and status 2."""
    try:
        asyncio.run(serve(*read_settings(sys.argv[1:])))
    except (OSError, yaml.YAMLError) as problem:
        sys.stderr.write(f"simulator: {problem}\n")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
