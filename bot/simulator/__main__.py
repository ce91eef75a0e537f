"""`python -m bot.simulator`: run a simulator until SIGINT or SIGTERM."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

import yaml

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings


def read_options(argv: list[str]) -> tuple[SimulatorSettings, dict[str, object]]:
    """Return settings and switches from the command line."""
    parser = argparse.ArgumentParser(prog="python -m bot.simulator", description="A local Slack for Hermes.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8091, help="0 chooses a free port (default: 8091)")
    parser.add_argument("--manifest", type=Path, help="the app's manifest.yaml (default: the one of Hermes)")
    parser.add_argument("--bot-token", default="xoxb-simulator")
    parser.add_argument("--app-token", default="xapp-simulator")
    parser.add_argument("--banner", help="a line at the top of the page")
    parser.add_argument("--no-log", action="store_true", help="keep no log of calls, for benchmarks")
    parser.add_argument("--no-echo", action="store_true", help="do not send the bot's own messages back as events")
    parser.add_argument("--enforce-tiers", action="store_true", help="answer 429 beyond Slack's rate limits")
    parser.add_argument("--no-streams", action="store_true", help="refuse native streams")
    options = parser.parse_args(argv)
    settings = SimulatorSettings(
        host=options.host,
        port=options.port,
        manifest=yaml.safe_load(options.manifest.read_text("utf-8")) if options.manifest else None,
        bot_token=options.bot_token,
        app_token=options.app_token,
        banner=options.banner,
        keep_log=not options.no_log,
    )
    switches: dict[str, object] = {
        "echo_events": not options.no_echo,
        "enforce_tiers": options.enforce_tiers,
        "streams_enabled": not options.no_streams,
    }
    return settings, switches


async def serve(settings: SimulatorSettings, switches: dict[str, object]) -> None:
    """Run until a signal; the first line on standard output is the address."""
    simulator = Simulator(settings)
    for name, value in switches.items():
        setattr(simulator.switches, name, value)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with simulator:
        sys.stdout.write(f"{simulator.url}\n")
        sys.stdout.flush()
        await stopped.wait()


def main() -> None:
    """Serve; a port in use or an unreadable manifest is one line of error and exit status 2."""
    try:
        asyncio.run(serve(*read_options(sys.argv[1:])))
    except (OSError, yaml.YAMLError) as problem:
        sys.stderr.write(f"simulator: {problem}\n")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
