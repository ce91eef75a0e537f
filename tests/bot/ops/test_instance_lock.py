"""One file, one process: the second is told who has it, and no child keeps it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.ops.instance_lock import InstanceLock, LockedError


def test_the_second_is_told_who_has_the_file(tmp_path: Path) -> None:
    first, second = InstanceLock(tmp_path / "new/hermes.db"), InstanceLock(tmp_path / "new/hermes.db")
    first.acquire()
    with pytest.raises(LockedError, match=rf"process {os.getpid()}\) works on .*/new/hermes\.db; .*HERMES_DATA_DIR"):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    second.release()


def test_a_child_does_not_keep_it(tmp_path: Path) -> None:
    first, second = InstanceLock(tmp_path / "hermes.db"), InstanceLock(tmp_path / "hermes.db")
    first.acquire()
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout is not None
        child.stdout.readline()  # the kernel closes inherited files a moment after the parent goes on
        first.release()
        second.acquire()
        second.release()
        child.communicate(b"\n")


def test_a_folder_that_cannot_be_made_is_the_systems_own_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"File exists|Not a directory"):
        InstanceLock(tmp_path / "file/hermes.db").acquire()
