"""The parent of a stdio server: it ends the server and all it started when the bot dies, however it dies.

Run as `python -S -E guard.py BOT_PID COMMAND ARG…`. It imports nothing but the standard library and stays until the
server ends; then it kills what the server left behind, in its process group or (Linux) detached from it.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <sys/prctl.h>
LINUX = sys.platform.startswith("linux")
POLL_S = 1.0
GREETING = b"hermes guard "
"""The first line on stderr is this and our process id, so that we can be told to end though the SDK hides us."""

GRACE_S = 1.5
"""Seconds between SIGTERM and the end: under the 2 s after which the SDK kills us before we could sweep."""


def descendants() -> list[int]:
    """Return the processes below this one, detached ones too; nothing where there is no /proc."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # the name in parentheses may itself contain blanks and parentheses
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {os.getpid()})


def end(*_: object) -> None:
    """Kill everything below us, then our own group, ourselves included."""
    for _round in range(3):  # what is being forked while we look shows in the next look
        below = descendants()
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not below:
            break
    os.killpg(0, signal.SIGKILL)


def prctl(option: int, value: int) -> None:
    """Ask the Linux kernel for something about this process."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def follow(bot: int) -> None:
    """End when the bot does: told by the kernel on Linux, by looking once a second elsewhere."""

    def look(*_: object) -> None:
        if os.getppid() != bot:
            end()
        # on Linux we come here only when the *thread* that started us ended: from now on look as well
        signal.setitimer(signal.ITIMER_REAL, POLL_S)

    signal.signal(signal.SIGALRM, look)
    signal.signal(signal.SIGUSR1, look)
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_PDEATHSIG, signal.SIGUSR1)
        if os.getppid() != bot:  # it died before we asked
            os._exit(1)
    else:
        look()


def wind_down(*_: object) -> None:
    """The SDK signalled the whole group: give the server a moment, then sweep."""
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, GRACE_S)


def main(bot: int, command: list[str]) -> None:
    """Run the command and stay until it has ended; never returns to the caller alive."""
    if os.getpgrp() != os.getpid():
        os.setsid()  # the group we kill must be ours alone
    signal.signal(signal.SIGTERM, wind_down)
    follow(bot)
    os.write(2, GREETING + b"%d\n" % os.getpid())
    signal.signal(signal.SIGHUP, lambda *_: None)  # not SIG_IGN, which the server would inherit
    try:
        # if we ourselves are killed, the server goes with us; there are no threads here that a preexec_fn could upset
        before = die_with_guard if LINUX else None
        server = subprocess.Popen(command, preexec_fn=before)  # noqa: S603, PLW1509 - the operator's own command
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)
    os.close(0)  # the pipes are the server's alone, so that each side sees the other's end
    os.close(1)
    while os.wait()[0] != server.pid:  # as the reaper of what was detached we must not collect its dead
        pass
    end()


def die_with_guard() -> None:
    """Runs in the server's process before its program does."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
