"""Starts `hermes run` quickly: everything is imported once, each line on stdin forks a fresh process.

The children are the real command, from `bot.cli.main` on; only the seconds of importing are saved.
Prints each one's pid.
"""

import os
import signal
import sys

import tools.mcp.hub  # noqa: F401 - loaded on demand by the bot: here for speed
from bot.cli import main


def child(log: str) -> None:
    """Become `hermes run`."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, target)
    sys.argv = ["hermes", "run"]
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(int(end.code or 0))
    finally:
        os._exit(70)


if __name__ == "__main__":
    living: set[int] = set()
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "start":
            pid = os.fork()
            if pid == 0:
                child(rest)
            living.add(pid)
            sys.stdout.write(f"{pid}\n")
        else:  # the exit status of a child, once it has ended
            sys.stdout.write(f"{os.waitpid(int(rest), 0)[1]}\n")
            living.discard(int(rest))
        sys.stdout.flush()
    for pid in living:
        os.kill(pid, signal.SIGKILL)
