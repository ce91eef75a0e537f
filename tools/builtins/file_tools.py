"""The file tools: list, search, read and write inside the configured folder only."""

import os
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from tools.builtins import confined_paths
from tools.builtins.file_search import Search, is_binary, lines_of
from tools.text_cleanup import brief
from tools.tool_context import ToolContext
from tools.tool_decorator import tool
from tools.tool_definition import ToolError
from tools.visible_text import quoted, without_hidden

READ_BYTES = 8 * 1024 * 1024
RESULT_LIMIT = 12_000  # characters, about 3,000 tokens; the configuration can change it
READ_CHARACTERS = 10_000  # below that limit, so that a long file ends at a line break with a note on how to continue

FilePath = Annotated[str, Field(max_length=4096)]


@tool(
    effect="read",
    result_limit=RESULT_LIMIT,
    summary=("Lists files in Hermes's folder.", "列出 Hermes 文件夹中的文件。"),
)
def list_directory(
    context: ToolContext, path: FilePath = "", limit: Annotated[int, Field(ge=1, le=1000)] = 100
) -> dict[str, Any]:
    """List the files and folders in Hermes's folder, or in a folder inside it.

    path: the folder, relative to Hermes's folder; empty for Hermes's folder itself
    limit: maximum number of entries
    """
    names = confined_paths.split_path(path)
    entries: list[dict[str, Any]] = []
    with confined_paths.explained_errors(path):
        try:
            with confined_paths.open_folder(context.files_root, names) as fd, os.scandir(fd) as found:
                wanted = (entry for entry in found if not entry.name.startswith(confined_paths.TEMPORARY))
                entries = [_entry(entry) for entry in islice(wanted, confined_paths.LISTED)]
        except FileNotFoundError:
            if names:
                raise
    entries.sort(key=lambda entry: str(entry["name"]))
    listing: dict[str, Any] = {"path": "/".join(names), "entries": entries[:limit], "total": len(entries)}
    unclear = [str(one["name"]) for one in listing["entries"] if without_hidden(one["name"]) != one["name"]]
    if not entries:
        listing["note"] = "the folder is empty"
    elif unclear:
        listing["note"] = f"names with characters that do not show: {', '.join(map(quoted, unclear[:20]))}"
    return listing


@tool(
    effect="read",
    result_limit=RESULT_LIMIT,
    summary=("Reads a text file in Hermes's folder.", "读取 Hermes 文件夹中的文本文件。"),
)
def read_file(
    context: ToolContext,
    path: FilePath,
    start_line: Annotated[int, Field(ge=1)] = 1,
    max_lines: Annotated[int, Field(ge=1, le=2000)] = 200,
) -> dict[str, Any]:
    """Read a text file in Hermes's folder, or some of its lines.

    path: the file, relative to Hermes's folder
    start_line: the first line to read, counted from 1
    max_lines: maximum number of lines
    """
    names = _file_names(path)
    with confined_paths.explained_errors(path), confined_paths.open_folder(context.files_root, names[:-1]) as fd:
        data, size = confined_paths.read_bytes(fd, names[-1], READ_BYTES)
    if is_binary(data):
        raise ToolError("not_text", f"{brief(path)} is not a text file ({size:,} bytes).")
    notes: list[str] = []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8", errors="replace")
        notes.append("not valid UTF-8: invalid bytes are shown as \ufffd")
    if size > len(data):
        notes.append(f"only the first {READ_BYTES // 1024 // 1024} MiB of the file can be read")
    lines = lines_of(text)
    if start_line > max(len(lines), 1):
        raise ToolError("out_of_range", f"{brief(path)} has {len(lines)} lines; line {start_line} is after its end.")
    chosen = _fitting(lines[start_line - 1 : start_line - 1 + max_lines])
    end = start_line + len(chosen) - 1
    if not text:
        notes.append("the file is empty")
    elif end < len(lines):
        notes.append(f"more lines follow; continue with start_line {end + 1}")
    shown = {"path": "/".join(names), "start_line": start_line, "end_line": end, "total_lines": len(lines)}
    return {**shown, "text": "\n".join(chosen), **({"note": "; ".join(notes)} if notes else {})}


@tool(
    effect="write",
    idempotent=True,
    summary=("Writes a text file in Hermes's folder.", "写入 Hermes 文件夹中的文本文件。"),
)
def write_file(context: ToolContext, path: FilePath, content: str) -> dict[str, Any]:
    """Write a text file in Hermes's folder: create it and its folders, or replace its content.

    path: the file, relative to Hermes's folder
    content: the complete new content
    """
    names = _file_names(path)
    data = content.encode()
    confined_paths.refuse_misleading(context.files_root, names)
    with (
        confined_paths.explained_errors(path),
        confined_paths.open_folder(context.files_root, names[:-1], create=True) as fd,
    ):
        created = confined_paths.write_bytes(fd, names[-1], data)
    return {"path": "/".join(names), "bytes": len(data), "created": created}


@tool(
    effect="read",
    result_limit=RESULT_LIMIT,
    summary=("Finds text in the files of Hermes's folder.", "在 Hermes 文件夹的文件中查找文本。"),
)
def search_files(
    context: ToolContext,
    query: Annotated[str, Field(min_length=1, max_length=500)],
    path: FilePath = "",
    case_sensitive: bool = False,
    limit: Annotated[int, Field(ge=1, le=200)] = 20,
) -> dict[str, Any]:
    """Find text in the files of Hermes's folder. The text is literal, not a pattern.

    query: the text to find; it must be within one line
    path: search only this file or folder, relative to Hermes's folder
    case_sensitive: distinguish upper and lower case
    limit: maximum number of matching lines
    """
    names = confined_paths.split_path(path)
    search = Search(query if case_sensitive else query.casefold(), case_sensitive, limit)
    with confined_paths.explained_errors(path):
        search.run(context.files_root, names)
    found: dict[str, Any] = {"matches": search.matches, "files_searched": search.files}
    if notes := search.notes():
        found["note"] = "; ".join(notes)
    return found


def _entry(entry: "os.DirEntry[str]") -> dict[str, Any]:
    shown: dict[str, Any] = {"name": entry.name, "kind": "other"}
    with suppress(OSError):
        if entry.is_symlink():
            return {**shown, "kind": "link"}
        status = entry.stat(follow_symlinks=False)
        shown["modified"] = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
        if entry.is_dir(follow_symlinks=False):
            shown["kind"] = "folder"
        elif entry.is_file(follow_symlinks=False):
            shown |= {"kind": "file", "bytes": status.st_size}
    return shown


def _fitting(lines: list[str]) -> list[str]:
    """Return as many lines as fit into a result, at least one."""
    remaining = READ_CHARACTERS
    for number, line in enumerate(lines):
        remaining -= len(line) + 1
        if remaining < 0:
            return lines[: max(number, 1)]
    return lines


def _file_names(path: str) -> tuple[str, ...]:
    names = confined_paths.split_path(path)
    if not names or path.rstrip().endswith("/"):
        raise ToolError("is_a_folder", f"{brief(path) or 'the path'} is a folder; give the path of a file.")
    return names
