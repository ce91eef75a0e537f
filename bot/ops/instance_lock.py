"""One SQLite file has one process. The lock is the kernel's: it ends with the process, whatever kills it."""

import fcntl
import os
from pathlib import Path


class LockedError(Exception):
    """Another process has the file. `str()` says which, in one line."""


class InstanceLock:
    """Holds `<database>.lock`; children do not inherit it."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + ".lock")
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock or raise LockedError; OSError when the folder cannot be written."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(file, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(file)
            raise LockedError(
                f"another Hermes (process {holder}) works on {self.path.with_suffix('')}; stop it, or set "
                "HERMES_DATA_DIR to another folder"
            ) from None
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        self._file = file

    def release(self) -> None:
        """Let go; safe to call twice."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
