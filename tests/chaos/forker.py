"""An interpreter that has imported the bot, and forks one for each order (a line of JSON) on standard input.

The children are the real `hermes run`, from `bot.cli.main` on; only the seconds of importing are saved.
"""

import json
import os
import signal
import sys
from typing import Any

import tools.mcp.server_hub  # noqa: F401 - loaded on demand by the bot: here for speed
from bot.cli.main import main


def child(order: dict[str, Any]) -> None:
    """Become `hermes run`."""
    out = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["folder"])
    sys.argv = ["hermes", "run"]
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(int(end.code or 0))
    finally:
        os._exit(70)


def serve() -> None:
    """Obey orders until stdin ends, then leave nothing running."""
    living: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            pid = order["wait"]
            answer = os.waitpid(pid, 0)[1]
            living.discard(pid)
        else:
            answer = os.fork()
            if answer == 0:
                child(order)
            living.add(answer)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in living:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    serve()
