"""A search for literal text in the files of a confined folder, within limits of files, bytes and time."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.builtins import confined_paths
from tools.tool_definition import ToolError

SEARCH_FILE_BYTES = 2 * 1024 * 1024
SEARCH_BYTES = 64 * 1024 * 1024
SEARCH_FILES = 5000
SEARCH_SECONDS = 8.0  # below the default time limit of a tool, so that what was found is still told
LINE_SHOWN = 200


@dataclass(slots=True)
class Search:
    """What a search looks for, what it found, and what it may still spend."""

    query: str
    case_sensitive: bool
    limit: int
    matches: list[dict[str, Any]] = field(default_factory=list)
    files: int = 0
    spent_bytes: int = 0
    skipped: int = 0
    until: float = field(default_factory=lambda: time.monotonic() + SEARCH_SECONDS)

    def start(self, root: Path, names: tuple[str, ...]) -> None:
        """Search a folder or a file below the root; no root means nothing to search. Raises OSError, ToolError."""
        try:
            with confined_paths.folder(root, names) as fd:
                self._walk(fd, "/".join(names), len(names))
        except FileNotFoundError:
            if names:
                raise
        except NotADirectoryError:
            if not names:
                raise
            with confined_paths.folder(root, names[:-1]) as fd:
                self._scan("/".join(names), *confined_paths.read(fd, names[-1], SEARCH_FILE_BYTES))

    @property
    def full(self) -> bool:
        """Whether as many matches were found as were asked for."""
        return len(self.matches) >= self.limit

    @property
    def spent(self) -> bool:
        """Whether the search has used what it may."""
        over = self.files >= SEARCH_FILES or self.spent_bytes >= SEARCH_BYTES
        return over or time.monotonic() > self.until

    def _look_at(self, parent: int, name: str, where: str) -> None:
        """Search one file of a folder; what cannot be opened is skipped."""
        try:
            data, size = confined_paths.read(parent, name, SEARCH_FILE_BYTES)
        except (OSError, ToolError):
            self.skipped += 1
        else:
            self._scan(where, data, size)

    def _scan(self, where: str, data: bytes, size: int) -> None:
        self.files += 1
        self.spent_bytes += len(data)
        if is_binary(data) or size > len(data):
            self.skipped += 1
            return
        for number, line in enumerate(lines_of(data.decode("utf-8", errors="replace")), start=1):
            at = (line if self.case_sensitive else line.casefold()).find(self.query)
            if at >= 0:
                self.matches.append({"path": where, "line": number, "text": _around(line, at)})
                if self.full:
                    return

    def _walk(self, fd: int, where: str, depth: int) -> None:
        """Search the files of an open folder, then its folders, both by name."""
        folders: list[str] = []
        for name, is_folder in _names(fd):
            if self.full or self.spent:
                return
            if is_folder:
                folders.append(name)
            else:
                self._look_at(fd, name, f"{where}/{name}" if where else name)
        for name in folders if depth < confined_paths.MAX_PARTS else ():
            if self.full or self.spent:
                return
            with suppress(OSError), confined_paths.subfolder(fd, name) as inner:
                self._walk(inner, f"{where}/{name}" if where else name, depth + 1)

    def notes(self) -> list[str]:
        """Return what the reader should know about how complete the matches are."""
        notes = [] if self.matches else ["nothing was found"]
        if self.full:
            notes.append("there may be more matches; narrow the search or raise the limit")
        elif self.spent:
            notes.append("the search was cut short; search in a smaller folder")
        if self.skipped:
            notes.append(f"{self.skipped} files were skipped: not text, over 2 MiB, or closed to Hermes")
        return notes


def _names(fd: int) -> Iterator[tuple[str, bool]]:
    with os.scandir(fd) as found:
        entries = [
            (entry.name, entry.is_dir(follow_symlinks=False))
            for entry in found
            if not entry.is_symlink() and not entry.name.startswith(confined_paths.TEMPORARY)
        ]
    yield from sorted(entries)


def lines_of(text: str) -> list[str]:
    """Split text into lines as editors count them: at line feeds, with or without a carriage return."""
    found = [line.removesuffix("\r") for line in text.split("\n")]
    return found[:-1] if found[-1] == "" else found


def is_binary(data: bytes) -> bool:
    """Tell whether the beginning of a file holds a zero byte."""
    return b"\0" in data[:8192]  # as git and grep tell


def _around(line: str, at: int) -> str:
    start = max(0, at - LINE_SHOWN // 3)
    shown = line[start : start + LINE_SHOWN]
    return ("…" if start else "") + shown + ("…" if start + LINE_SHOWN < len(line) else "")
