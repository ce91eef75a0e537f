"""Allows one process per SQLite file, by a file lock that the kernel releases when the process ends."""

import fcntl
import os
from pathlib import Path


class LockedError(Exception):
    """Another process uses the database. `str()` names it in one line, with the remedy."""


class FolderError(Exception):
    """A folder cannot be written. `str()` is one line with the remedy."""

    def __init__(self, path: Path, error: OSError) -> None:
        what = f"cannot write {error.filename or path} ({error.strerror or type(error).__name__})"
        super().__init__(f"{what}: make the folder writable for this user, or set HERMES_DATA_DIR to another")


def make_folder(path: Path) -> None:
    """Create a folder and its parents unless it exists. Raise FolderError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(path, error) from error


class InstanceLock:
    """A lock on `<database>.lock` that child processes do not inherit."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + ".lock")
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock. Raise LockedError, or FolderError if the lock file cannot be written."""
        make_folder(self.path.parent)
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise FolderError(self.path, error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            process = os.pread(file, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(file)
            raise LockedError(
                f"another Hermes (process {process}) uses {self.path.with_suffix('')}; stop it, or set "
                "HERMES_DATA_DIR to another folder"
            ) from None
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        self._file = file

    def release(self) -> None:
        """Release the lock; safe to call twice."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
