"""The measured process: Hermes alone. It reads commands on standard input and answers with JSON lines.

`stats` → CPU seconds, commits, resident bytes, turns ended; `wait N` → {} once N turns ended and were delivered.
"""

import asyncio
import gc
import json
import os
import resource
import sys
import time
from pathlib import Path

from pydantic import SecretStr

from bot.app import Hermes
from bot.config.schema import Config


def config(folder: str, slack: str, model: str) -> Config:
    """Return the configuration of the measured bot: the defaults of `hermes run`."""
    return Config.model_validate(
        {
            "model": {"name": "bench", "base_url": model},
            "bot_token": SecretStr("xoxb-simulator"),
            "app_token": SecretStr("xapp-simulator"),
            "slack_api_url": slack,
            "database_url": f"sqlite+aiosqlite:///{folder}/hermes.db",
            "data_dir": folder,
            "http_port": 0,
        }
    )


def resident() -> int:
    """Return the resident memory in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def thread_seconds() -> tuple[float, float]:
    """Return the CPU seconds of the main thread and of all other threads (mostly database threads)."""
    tick = os.sysconf("SC_CLK_TCK")
    spent = {}
    for task in Path("/proc/self/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        spent[int(task.name)] = (int(fields[11]) + int(fields[12])) / tick
    main = spent.pop(os.getpid(), 0.0)
    return main, sum(spent.values())


def stats(hermes: Hermes) -> dict[str, float]:
    main, others = thread_seconds()
    use = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "cpu": use.ru_utime + use.ru_stime,
        "main": main,
        "others": others,
        "commits": hermes.db.commits,
        "resident": resident(),
        "turns": hermes.metrics.turns,
        "at": time.perf_counter(),
    }


async def main() -> None:
    hermes = Hermes(config(*sys.argv[1:4]))
    await hermes.start()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while line := (await reader.readline()).decode().split():
        if line[0] == "wait":
            while hermes.metrics.turns < int(line[1]) or hermes.runner.busy:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.02)  # seldom, because polling costs CPU too
        if line[0] == "collect":
            gc.collect()
        # Reading all figures costs half a millisecond, so `wait` does not return them.
        sys.stdout.write(json.dumps({} if line[0] == "wait" else stats(hermes)) + "\n")
        sys.stdout.flush()
    await hermes.stop()


if __name__ == "__main__":
    asyncio.run(main())
