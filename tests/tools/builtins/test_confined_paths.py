"""No path leads out of the folder: real files, real links."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.builtins import confined_paths
from tools.tool_definition import ToolError

SECRET = b"outside"
pieces = st.sampled_from(
    ["", ".", "..", "in", "out", "file", "link", "loop", "deep", "...", " ", "~", "\\", "%2e%2e", "a" * 300]
)
paths = st.lists(pieces, max_size=6).map("/".join) | st.text(max_size=40)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return furnish(tmp_path)


def furnish(base: Path) -> Path:
    """Return a folder with every kind of entry, next to a secret."""
    root = base / "files"
    (root / "in" / "deep").mkdir(parents=True)
    (base / "secrets").mkdir()
    (base / "secrets" / "file").write_bytes(SECRET)
    (root / "in" / "file").write_bytes(b"inside")
    (root / "out").symlink_to(base / "secrets")
    (root / "link").symlink_to(base / "secrets" / "file")
    (root / "in" / "link").symlink_to("file")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    return root


def read(root: Path, path: str) -> bytes:
    names = confined_paths.split_path(path)
    if not names:
        raise ToolError("is_a_folder", "")
    with confined_paths.explained_errors(path), confined_paths.open_folder(root, names[:-1]) as fd:
        return confined_paths.read_bytes(fd, names[-1], 1000)[0]


def write(root: Path, path: str, data: bytes) -> bool:
    names = confined_paths.split_path(path)
    if not names:
        raise ToolError("is_a_folder", "")
    with confined_paths.explained_errors(path), confined_paths.open_folder(root, names[:-1], create=True) as fd:
        return confined_paths.write_bytes(fd, names[-1], data)


@settings(deadline=None)
@given(paths)
def test_no_path_reads_what_is_outside(path: str) -> None:
    with TemporaryDirectory() as base:
        root = furnish(Path(base))
        words = ""
        try:
            assert read(root, path) == b"inside"
        except ToolError as error:
            words = error.message
        assert base not in words


@settings(deadline=None)
@given(paths)
def test_no_path_writes_what_is_outside(path: str) -> None:
    with TemporaryDirectory() as base:
        root = furnish(Path(base))
        try:
            write(root, path, b"new")
        except ToolError:
            pass
        else:
            assert read(root, path) == b"new"
        assert sorted(p.name for p in Path(base).iterdir()) == ["files", "secrets"]
        assert [(p.name, p.read_bytes()) for p in (Path(base) / "secrets").iterdir()] == [("file", SECRET)]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../secrets/file", "outside"),
        ("in/../../secrets/file", "outside"),
        ("/etc/passwd", "outside"),
        ("out/file", "not_a_folder"),
        ("link", "link"),
        ("in/link", "link"),
        ("loop", "link"),
        ("pipe", "not_a_file"),
        ("in", "is_a_folder"),
        ("in/none", "not_found"),
        ("in/file/x", "not_a_folder"),
        ("a/" * 40, "bad_path"),
        ("x" * 300, "bad_path"),
        ("a\0b", "bad_path"),
        (".~hermes-1", "bad_path"),
    ],
)
def test_each_path_outside_has_its_error_code(root: Path, path: str, code: str) -> None:
    with pytest.raises(ToolError) as caught:
        read(root, path)
    assert caught.value.code == code


def test_a_folder_replaced_by_a_link_while_it_is_open_stays_the_same_folder(root: Path) -> None:
    with confined_paths.open_folder(root, ("in",)) as fd:
        (root / "in").rename(root / "moved")
        (root / "in").symlink_to(root.parent / "secrets")
        assert confined_paths.read_bytes(fd, "file", 1000)[0] == b"inside"
        confined_paths.write_bytes(fd, "file", b"changed")
    assert (root.parent / "secrets" / "file").read_bytes() == SECRET


def test_a_device_is_not_opened(tmp_path: Path) -> None:
    with confined_paths.open_folder(Path("/dev"), ()) as fd, pytest.raises(ToolError, match="neither"):
        confined_paths.read_bytes(fd, "zero", 10)


def test_a_write_replaces_the_file_and_keeps_its_mode(root: Path) -> None:
    (root / "in" / "file").chmod(0o600)
    assert write(root, "in/file", b"short") is False
    assert (root / "in" / "file").read_bytes() == b"short"
    assert (root / "in" / "file").stat().st_mode & 0o777 == 0o600
    assert write(root, "new/folder/file", b"x") is True
    assert (root / "new" / "folder" / "file").read_bytes() == b"x"


@pytest.mark.parametrize("path", ["link", "pipe", "in", "loop", "out/file"])
def test_a_write_replaces_only_files_and_leaves_no_temporary_file(root: Path, path: str) -> None:
    before = sorted(os.walk(root))
    with pytest.raises(ToolError):
        write(root, path, b"x")
    assert sorted(os.walk(root)) == before


def test_a_link_is_followed_only_as_the_root_itself(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert read(tmp_path / "alias", "in/file") == b"inside"
