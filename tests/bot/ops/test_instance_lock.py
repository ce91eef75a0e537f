"""One process per database: a second one is refused with the id of the first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.ops.instance_lock import FolderError, InstanceLock, LockedError


def test_a_second_process_is_refused_with_the_id_of_the_first(tmp_path: Path) -> None:
    first, second = InstanceLock(tmp_path / "new/hermes.db"), InstanceLock(tmp_path / "new/hermes.db")
    first.acquire()
    with pytest.raises(LockedError, match=rf"process {os.getpid()}\) uses .*/new/hermes\.db; .*HERMES_DATA_DIR"):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    second.release()


def test_a_child_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    first, second = InstanceLock(tmp_path / "hermes.db"), InstanceLock(tmp_path / "hermes.db")
    first.acquire()
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout is not None
        child.stdout.readline()  # wait until the kernel has closed the inherited files
        first.release()
        second.acquire()
        second.release()
        child.communicate(b"\n")


def test_a_folder_that_cannot_be_created_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match=r"cannot write .*file \((File exists|Not a directory)\): .*HERMES_DATA_DIR"):
        InstanceLock(tmp_path / "file/hermes.db").acquire()
