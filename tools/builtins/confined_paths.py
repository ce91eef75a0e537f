"""A folder that nothing leads out of: each step of a path is opened from the one before, and links are not followed.

Opening by file descriptor (openat with O_NOFOLLOW) leaves no moment between looking and opening in which a folder
could be swapped for a link. Hard links are not told apart from files. All functions block: call them in a thread.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tools.text_cleanup import brief
from tools.tool_definition import ToolError

TEMPORARY = ".~hermes-"  # how the names of unfinished writes begin
MAX_PARTS = 32
MAX_NAME_BYTES = 240
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe would wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_WORDS = {
    errno.ENOENT: ("not_found", "There is nothing at {path}.", "List the folder to see what is there."),
    errno.ENOTDIR: ("not_a_folder", "A part of {path} is not a folder; links are not followed.", ""),
    errno.ELOOP: ("link", "{path} is a link; links are not followed.", ""),
    errno.EISDIR: ("is_a_folder", "{path} is a folder.", ""),
    errno.EACCES: ("forbidden", "Hermes may not open {path}.", ""),
    errno.EPERM: ("forbidden", "Hermes may not open {path}.", ""),
    errno.EROFS: ("read_only", "The folder of Hermes is read-only.", ""),
    errno.ENOSPC: ("no_space", "The disk is full; nothing was written.", ""),
    errno.EDQUOT: ("no_space", "The disk quota is used up; nothing was written.", ""),
}


def parts(path: str) -> tuple[str, ...]:
    """Split a path below the root into names; the root itself has none. Raises ToolError for what leads elsewhere."""
    found = tuple(name for name in path.strip().split("/") if name not in ("", "."))
    shown = brief(path)
    if path.strip().startswith("/"):
        raise ToolError("outside", f"{shown} is an absolute path.", suggestion="Give it relative to Hermes's folder.")
    if ".." in found:
        raise ToolError("outside", f"{shown} leads upwards with '..'; only paths inside Hermes's folder can be used.")
    if "\0" in path or len(found) > MAX_PARTS or any(_too_long(name) for name in found):
        raise ToolError("bad_path", f"{shown} cannot be a path: a part is too long, or there are too many.")
    if any(name.startswith(TEMPORARY) for name in found):
        raise ToolError("bad_path", f"Names that begin with {TEMPORARY} are kept for unfinished writes.")
    return found


@contextmanager
def spoken(path: str) -> Iterator[None]:
    """Turn an OSError of the operating system into a ToolError that names the path as the model wrote it."""
    try:
        yield
    except OSError as error:
        fallback = ("file_error", "{path}: " + os.strerror(error.errno or errno.EIO) + ".", "")
        code, words, suggestion = _WORDS.get(error.errno or 0, fallback)
        shown = brief(path.strip() or "the folder")
        raise ToolError(code, words.format(path=shown), suggestion=suggestion) from None


@contextmanager
def folder(root: Path, names: tuple[str, ...], *, create: bool = False) -> Iterator[int]:
    """Open a folder below the root and yield its descriptor. Raises OSError."""
    if create:
        root.mkdir(parents=True, exist_ok=True)
    # The root may itself be a link: whoever runs Hermes chose it.
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
def subfolder(parent: int, name: str) -> Iterator[int]:
    """Open a folder inside an open one and yield its descriptor. Raises OSError."""
    fd = os.open(name, _FOLDER, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def read(parent: int, name: str, limit: int) -> tuple[bytes, int]:
    """Return at most `limit` bytes of a regular file in an open folder, and its size. Raises OSError, ToolError."""
    # Looked at first, since opening a device can already do something; and again once it is open.
    _refuse_unless_regular(os.stat(name, dir_fd=parent, follow_symlinks=False), name)
    with os.fdopen(os.open(name, _FILE, dir_fd=parent), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        _refuse_unless_regular(status, name)
        chunks: list[bytes] = []
        left = limit
        while left > 0 and (chunk := file.read(min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks), status.st_size


def write(parent: int, name: str, data: bytes) -> bool:
    """Put a whole file in place of what stood there, or leave that untouched; return whether the name is new.

    Durable when it returns. Raises OSError, and ToolError when something other than a file stands there.
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
    os.fsync(parent)
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


def _too_long(name: str) -> bool:
    return len(name.encode(errors="surrogatepass")) > MAX_NAME_BYTES
