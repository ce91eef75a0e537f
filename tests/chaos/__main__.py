"""`python -m tests.chaos [--kills 60] [--seed N]`: kill the real `hermes run` at random moments and report."""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.fork_client import ForkClient
from tests.chaos.kill_run import KillRun


def main() -> int:
    """Run once; return 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--keep", type=Path, help="use this folder and do not delete it")
    parser.add_argument("--preloaded", action="store_true", help="fork each bot from a preloaded process")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        fork_client = ForkClient() if chosen.preloaded else None
        kill_run = KillRun(folder, chosen.seed, fork_client=fork_client, threads=chosen.threads)
        report = asyncio.run(kill_run.run(chosen.kills))
        if fork_client is not None:
            fork_client.close()
    sys.stdout.write("\n".join(report.lines()) + "\n")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
