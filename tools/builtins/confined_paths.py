"""File access confined to one folder: each part of a path is opened relative to its parent, links are not followed.

With openat and O_NOFOLLOW, nobody can replace a folder by a link between a check and an open. Hard links are treated
as files. All functions block: call them in a thread.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from tools.text_cleanup import brief
from tools.tool_definition import ToolError
from tools.visible_text import quoted, skeleton, without_hidden

TEMPORARY = ".~hermes-"  # prefix of unfinished writes
MAX_PARTS = 32
MAX_NAME_BYTES = 240
LISTED = 20_000  # entries of one folder that are read
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe would wait for its other end to be opened.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MESSAGES = {
    errno.ENOENT: ("not_found", "There is nothing at {path}.", "List the folder to see what is there."),
    errno.ENOTDIR: ("not_a_folder", "A part of {path} is not a folder; links are not followed.", ""),
    errno.ELOOP: ("link", "{path} is a link; links are not followed.", ""),
    errno.EISDIR: ("is_a_folder", "{path} is a folder.", ""),
    errno.EACCES: ("forbidden", "Hermes has no permission to open {path}.", ""),
    errno.EPERM: ("forbidden", "Hermes has no permission to open {path}.", ""),
    errno.EROFS: ("read_only", "Hermes's folder is read-only.", ""),
    errno.ENOSPC: ("no_space", "The disk is full; nothing was written.", ""),
    errno.EDQUOT: ("no_space", "The disk quota is used up; nothing was written.", ""),
}


def split_path(path: str) -> tuple[str, ...]:
    """Return the names in a path below the root, none for the root itself. Raise ToolError for any other path."""
    found = tuple(name for name in path.strip().split("/") if name not in ("", "."))
    shown = brief(path)
    if path.strip().startswith("/"):
        raise ToolError("outside", f"{shown} is an absolute path.", suggestion="Give it relative to Hermes's folder.")
    if ".." in found:
        raise ToolError("outside", f"{shown} contains '..'; only paths inside Hermes's folder can be used.")
    too_long = any(len(name.encode(errors="surrogatepass")) > MAX_NAME_BYTES for name in found)
    if "\0" in path or len(found) > MAX_PARTS or too_long:
        raise ToolError("bad_path", f"{shown} is not a valid path: a part is too long, or there are too many parts.")
    if any(name.startswith(TEMPORARY) for name in found):
        raise ToolError("bad_path", f"Names that begin with {TEMPORARY} are reserved for unfinished writes.")
    return found


def refuse_misleading(root: Path, names: tuple[str, ...]) -> None:
    """Raise ToolError for a new path that people would take for another one.

    That is a path with characters that do not show, or with a name that looks like one that exists beside it.
    """
    for depth, name in enumerate(names):
        siblings = _names_in(root, names[:depth])
        if name in siblings:
            continue
        shown = quoted(name)
        if without_hidden(name) != name:
            raise ToolError(
                "misleading_path", f"{shown} has characters that do not show.", suggestion="Leave them out."
            )
        looks = skeleton(name)
        if twin := next((one for one in siblings if skeleton(one) == looks), None):
            raise ToolError(
                "misleading_path",
                f"{shown} looks like {quoted(twin)}, which exists.",
                suggestion="Write to that one, or choose a name that nobody can mistake for it.",
            )


def _names_in(root: Path, folder: tuple[str, ...]) -> list[str]:
    try:
        with open_folder(root, folder) as fd, os.scandir(fd) as found:
            return [entry.name for entry in islice(found, LISTED)]
    except OSError:
        return []  # it does not exist yet; what else is wrong with it, writing says


@contextmanager
def explained_errors(path: str) -> Iterator[None]:
    """Turn an OSError into a ToolError that names the path as the model wrote it."""
    try:
        yield
    except OSError as error:
        fallback = ("file_error", "{path}: " + os.strerror(error.errno or errno.EIO) + ".", "")
        code, message, suggestion = _MESSAGES.get(error.errno or 0, fallback)
        shown = brief(path.strip() or "the folder")
        raise ToolError(code, message.format(path=shown), suggestion=suggestion) from None


@contextmanager
def open_folder(root: Path, names: tuple[str, ...], *, create: bool = False) -> Iterator[int]:
    """Open a folder below the root and yield its descriptor. Raise OSError."""
    if create:
        root.mkdir(parents=True, exist_ok=True)
    # The root itself may be a link: the configuration names it.
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=fd)
            inner = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_subfolder(parent: int, name: str) -> Iterator[int]:
    """Open a folder inside an open one and yield its descriptor. Raise OSError."""
    fd = os.open(name, _FOLDER, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def read_bytes(parent: int, name: str, limit: int) -> tuple[bytes, int]:
    """Return at most `limit` bytes of a regular file in an open folder, and its size. Raise OSError, ToolError."""
    # Checked before, because opening a device can have an effect, and again once it is open.
    _refuse_unless_regular(os.stat(name, dir_fd=parent, follow_symlinks=False), name)
    with os.fdopen(os.open(name, _FILE, dir_fd=parent), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        _refuse_unless_regular(status, name)
        chunks: list[bytes] = []
        remaining = limit
        while remaining > 0 and (chunk := file.read(min(remaining, 1 << 20))):
            chunks.append(chunk)
            remaining -= len(chunk)
        return b"".join(chunks), status.st_size


def write_bytes(parent: int, name: str, data: bytes) -> bool:
    """Create a file or replace it atomically, durably. Return True if it is new.

    Raise OSError, and ToolError if the name belongs to something other than a file.
    """
    mode = None
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        _refuse_unless_regular(status, name)
        mode = stat.S_IMODE(status.st_mode)
    temporary = f"{TEMPORARY}{secrets.token_hex(8)}"
    try:
        with os.fdopen(os.open(temporary, _NEW, 0o644, dir_fd=parent), "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise
    try:
        os.fsync(parent)
    except OSError as error:
        raise ToolError(
            "not_durable", f"{brief(name)} was written, but may be lost: {error.strerror}", uncertain=True
        ) from None
    return mode is None


def _refuse_unless_regular(status: os.stat_result, name: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    shown = brief(name)
    if stat.S_ISDIR(status.st_mode):
        raise ToolError("is_a_folder", f"{shown} is a folder.", suggestion="List it instead.")
    if stat.S_ISLNK(status.st_mode):
        raise ToolError("link", f"{shown} is a link; links are not followed.")
    raise ToolError("not_a_file", f"{shown} is neither a file nor a folder.")
