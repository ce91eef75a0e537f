"""`python -m tests.chaos [--kills 60] [--seed N]`: kills the real `hermes run` at random moments and reports."""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.nursery import Nursery
from tests.chaos.storm import Storm


def main() -> int:
    """Run one storm; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it")
    parser.add_argument("--preloaded", action="store_true", help="fork each process from one that has imported all")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        nursery = Nursery() if chosen.preloaded else None
        storm = Storm(folder, chosen.seed, nursery=nursery, threads=chosen.threads)
        report = asyncio.run(storm.run(chosen.kills))
        if nursery is not None:
            nursery.close()
    sys.stdout.write("\n".join(report.lines()) + "\n")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
