"""The parent process of a stdio server: ends the server and all its children when the bot ends for any reason.

Run as `python -S -E process_guard.py BOT_PID COMMAND ARG…`. It imports only the standard library and runs until the
server ends; then it kills the server's remaining children, in its process group or (on Linux) detached from it.
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
GREETING = b"hermes guard "  # followed by our process id: the first line on stderr. The SDK does not expose the id
GRACE_S = 1.5  # between SIGTERM and the kill; after 2 s the SDK would kill us before we can end the children


def descendants() -> list[int]:
    """Return the ids of all descendant processes, including detached ones; none if there is no /proc."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # the program name in parentheses may itself contain spaces and parentheses
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {os.getpid()})


def end(*_: object) -> None:
    """Kill all descendants, then our own process group, including this process."""
    for _round in range(3):  # a process that is forked during this round is found in the next one
        found = descendants()
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            break
    os.killpg(0, signal.SIGKILL)


def prctl(option: int, value: int) -> None:
    """Set an option of this process in the Linux kernel."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def end_with(bot: int) -> None:
    """End when the bot ends. On Linux the kernel sends a signal; elsewhere, check once a second."""

    def check(*_: object) -> None:
        if os.getppid() != bot:
            end()
        # On Linux this is reached only if the *thread* that started us ended: poll from now on.
        signal.setitimer(signal.ITIMER_REAL, POLL_S)

    signal.signal(signal.SIGALRM, check)
    signal.signal(signal.SIGUSR1, check)
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_PDEATHSIG, signal.SIGUSR1)
        if os.getppid() != bot:  # it ended before the signal was requested
            os._exit(1)
    else:
        check()


def end_soon(*_: object) -> None:
    """Wait a grace period for the server to end (the SDK has signalled the process group), then end everything."""
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, GRACE_S)


def main(bot: int, command: list[str]) -> None:
    """Run the command until it ends, then end this process; never returns."""
    if os.getpgrp() != os.getpid():
        os.setsid()  # the group that we kill must contain only our processes
    signal.signal(signal.SIGTERM, end_soon)
    end_with(bot)
    os.write(2, GREETING + b"%d\n" % os.getpid())
    signal.signal(signal.SIGHUP, lambda *_: None)  # SIG_IGN would be inherited by the server
    try:
        # The server must end if this guard is killed. preexec_fn is safe here: this process has no threads.
        before = die_with_guard if LINUX else None
        server = subprocess.Popen(command, preexec_fn=before)  # noqa: S603, PLW1509 - the configured command
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)
    os.close(0)  # only the server has the pipes open, so that each side sees when the other ends
    os.close(1)
    while os.wait()[0] != server.pid:  # other children: as subreaper we get the detached ones
        pass
    end()


def die_with_guard() -> None:
    """Make the kernel kill the server with its guard; runs in the server's process before its program."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
