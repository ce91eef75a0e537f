"""An interpreter that has imported the bot and forks a `hermes run` for each request, a line of JSON on stdin.

The children run the real command from `bot.cli.main` on; only the time for imports is saved.
"""

import json
import os
import signal
import sys
from typing import Any

import tools.mcp.server_hub  # noqa: F401 - the bot imports it on demand; imported here once
from bot.cli.main import main


def child(request: dict[str, Any]) -> None:
    """Run `hermes run` in the forked process."""
    out = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["folder"])
    sys.argv = ["hermes", "run"]
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(int(end.code or 0))
    finally:
        os._exit(70)


def serve() -> None:
    """Serve requests until stdin ends, then kill the children that still run."""
    running: set[int] = set()
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            pid = request["wait"]
            answer = os.waitpid(pid, 0)[1]
            running.discard(pid)
        else:
            answer = os.fork()
            if answer == 0:
                child(request)
            running.add(answer)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in running:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    serve()
