"""`python -m bot.simulator`: run a simulator until SIGINT or SIGTERM."""

import argparse
import asyncio
import signal
import sys

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings


async def serve(port: int, *, keep_log: bool, echo_events: bool) -> None:
    """Run until a signal; the first line on standard output is the address."""
    simulator = Simulator(SimulatorSettings(port=port, keep_log=keep_log))
    simulator.switches.echo_events = echo_events
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with simulator:
        sys.stdout.write(f"{simulator.url}\n")
        sys.stdout.flush()
        await stopped.wait()


def main() -> None:
    """Serve; if the port is in use, print one line of error and exit with status 2."""
    parser = argparse.ArgumentParser(prog="python -m bot.simulator", description="A local Slack for Hermes.")
    parser.add_argument("--port", type=int, default=8091, help="0 chooses a free port (default: 8091)")
    parser.add_argument("--no-log", action="store_true", help="keep no log of calls, for benchmarks")
    parser.add_argument("--no-echo", action="store_true", help="do not send the bot's own messages back as events")
    options = parser.parse_args()
    try:
        asyncio.run(serve(options.port, keep_log=not options.no_log, echo_events=not options.no_echo))
    except OSError as error:
        sys.stderr.write(f"simulator: {error}\n")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
