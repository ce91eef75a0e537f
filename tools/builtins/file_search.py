"""Literal text search in the files of a confined folder, limited in files, bytes and time."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.builtins import confined_paths
from tools.tool_definition import ToolError

SEARCH_FILE_BYTES = 2 * 1024 * 1024
SEARCH_BYTES = 64 * 1024 * 1024
SEARCH_FILES = 5000
SEARCH_SECONDS = 8.0  # below the default time limit of a tool, so that the matches so far are returned
LINE_SHOWN = 200


@dataclass(slots=True)
class Search:
    """A search, its matches, and what it has used of its limits."""

    query: str
    case_sensitive: bool
    limit: int
    matches: list[dict[str, Any]] = field(default_factory=list)
    files: int = 0
    searched_bytes: int = 0
    skipped: int = 0
    deadline: float = field(default_factory=lambda: time.monotonic() + SEARCH_SECONDS)

    def run(self, root: Path, names: tuple[str, ...]) -> None:
        """Search a folder or a file below the root; a missing root has no matches. Raise OSError, ToolError."""
        try:
            with confined_paths.open_folder(root, names) as fd:
                self._search_folder(fd, "/".join(names), len(names))
        except FileNotFoundError:
            if names:
                raise
        except NotADirectoryError:
            if not names:
                raise
            with confined_paths.open_folder(root, names[:-1]) as fd:
                self._search_text("/".join(names), *confined_paths.read_bytes(fd, names[-1], SEARCH_FILE_BYTES))

    @property
    def full(self) -> bool:
        """Return True if the number of matches has reached the limit."""
        return len(self.matches) >= self.limit

    @property
    def exhausted(self) -> bool:
        """Return True if the search has reached its limit of files, bytes or time."""
        over = self.files >= SEARCH_FILES or self.searched_bytes >= SEARCH_BYTES
        return over or time.monotonic() > self.deadline

    def _search_file(self, parent: int, name: str, where: str) -> None:
        """Search one file of a folder; skip it if it cannot be opened."""
        try:
            data, size = confined_paths.read_bytes(parent, name, SEARCH_FILE_BYTES)
        except (OSError, ToolError):
            self.skipped += 1
        else:
            self._search_text(where, data, size)

    def _search_text(self, where: str, data: bytes, size: int) -> None:
        self.files += 1
        self.searched_bytes += len(data)
        if is_binary(data) or size > len(data):
            self.skipped += 1
            return
        for number, line in enumerate(lines_of(data.decode("utf-8", errors="replace")), start=1):
            at = (line if self.case_sensitive else line.casefold()).find(self.query)
            if at >= 0:
                self.matches.append({"path": where, "line": number, "text": _around(line, at)})
                if self.full:
                    return

    def _search_folder(self, fd: int, where: str, depth: int) -> None:
        """Search the files of an open folder, then its subfolders, both in order of name."""
        folders: list[str] = []
        for name, is_folder in _names(fd):
            if self.full or self.exhausted:
                return
            if is_folder:
                folders.append(name)
            else:
                self._search_file(fd, name, f"{where}/{name}" if where else name)
        for name in folders if depth < confined_paths.MAX_PARTS else ():
            if self.full or self.exhausted:
                return
            with suppress(OSError), confined_paths.open_subfolder(fd, name) as inner:
                self._search_folder(inner, f"{where}/{name}" if where else name, depth + 1)

    def notes(self) -> list[str]:
        """Return notes for the model about the completeness of the matches."""
        notes = [] if self.matches else ["nothing was found"]
        if self.full:
            notes.append("there may be more matches; narrow the search or raise the limit")
        elif self.exhausted:
            notes.append("the search reached its limit before the end; search in a smaller folder")
        if self.skipped:
            notes.append(f"files skipped: {self.skipped} (not text, over 2 MiB, or not readable)")
        return notes


def _names(fd: int) -> list[tuple[str, bool]]:
    with os.scandir(fd) as found:
        return sorted(
            (entry.name, entry.is_dir(follow_symlinks=False))
            for entry in found
            if not entry.is_symlink() and not entry.name.startswith(confined_paths.TEMPORARY)
        )


def lines_of(text: str) -> list[str]:
    """Split text into lines as editors count them: at LF or CR LF."""
    found = [line.removesuffix("\r") for line in text.split("\n")]
    return found[:-1] if found[-1] == "" else found


def is_binary(data: bytes) -> bool:
    """Return True if the start of a file contains a NUL byte, the same rule as in git and grep."""
    return b"\0" in data[:8192]


def _around(line: str, at: int) -> str:
    start = max(0, at - LINE_SHOWN // 3)
    shown = line[start : start + LINE_SHOWN]
    return ("…" if start else "") + shown + ("…" if start + LINE_SHOWN < len(line) else "")
