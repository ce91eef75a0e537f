"""The file tools, on real files."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.tools.fake_chat import context_for
from tests.tools.samples import call_of
from tools.builtins import file_search
from tools.builtins.file_search import Search
from tools.builtins.file_tools import list_directory, read_file, search_files, write_file
from tools.retrying_executor import Executor
from tools.tool_definition import Tool, ToolError
from tools.tool_policy import Policy


async def run(tool: Tool, root: Path, **arguments: Any) -> dict[str, Any]:
    told: dict[str, Any] = await tool.run(context_for(root), arguments)
    return told


async def test_what_is_written_can_be_listed_found_and_read(tmp_path: Path) -> None:
    root = tmp_path / "not" / "yet"
    assert await run(write_file, root, path="notes/a.md", content="one\ntwo 漢字\n") == {
        "path": "notes/a.md",
        "bytes": 15,
        "created": True,
    }
    assert (await run(list_directory, root))["entries"][0]["kind"] == "folder"
    assert (await run(list_directory, root, path="notes"))["entries"][0]["bytes"] == 15
    assert (await run(search_files, root, query="漢字"))["matches"] == [
        {"path": "notes/a.md", "line": 2, "text": "two 漢字"}
    ]
    told = await run(read_file, root, path="./notes//a.md")
    assert (told["text"], told["total_lines"]) == ("one\ntwo 漢字", 2)


async def test_writing_the_same_content_again_changes_nothing(tmp_path: Path) -> None:
    await run(write_file, tmp_path, path="a", content="x")
    assert (await run(write_file, tmp_path, path="a", content="x"))["created"] is False
    assert [e["name"] for e in (await run(list_directory, tmp_path))["entries"]] == ["a"]
    assert write_file.repeatable


async def test_a_missing_root_folder_is_empty(tmp_path: Path) -> None:
    nowhere = tmp_path / "none"
    assert (await run(list_directory, nowhere))["note"] == "the folder is empty"
    assert "nothing was found" in (await run(search_files, nowhere, query="x"))["note"]
    with pytest.raises(ToolError, match="There is nothing at sub"):
        await run(list_directory, nowhere, path="sub")


async def test_a_listing_has_kinds_and_the_total(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_text("1")
    (tmp_path / "l").symlink_to("/etc")
    os.mkfifo(tmp_path / "p")
    (tmp_path / ".~hermes-left").write_text("")
    told = await run(list_directory, tmp_path, limit=3)
    assert [(e["name"], e["kind"]) for e in told["entries"]] == [("d", "folder"), ("f", "file"), ("l", "link")]
    assert told["total"] == 4


async def test_a_part_of_a_file_says_how_to_continue(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("\n".join(str(n) for n in range(1, 11)))
    told = await run(read_file, tmp_path, path="f", start_line=3, max_lines=2)
    assert (told["text"], told["start_line"], told["end_line"], told["total_lines"]) == ("3\n4", 3, 4, 10)
    assert "start_line 5" in told["note"]
    with pytest.raises(ToolError, match="has 10 lines"):
        await run(read_file, tmp_path, path="f", start_line=11)


async def test_a_long_file_ends_at_a_line_break_and_says_how_to_continue(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(("x" * 99 + "\n") * 1000)
    told = await run(read_file, tmp_path, path="f", max_lines=2000)
    assert told["end_line"] == 100
    assert "start_line 101" in told["note"]
    executor = Executor(Policy(), now=lambda: 0.0)
    outcome = await executor.run(read_file, call_of(read_file, path="f", max_lines=2000), context_for(tmp_path))
    assert outcome.full_result is None


@pytest.mark.parametrize(
    ("data", "text", "note"),
    [
        (b"", "", "empty"),
        (b"\xef\xbb\xbfbom", "bom", None),
        (b"caf\xe9", "caf\ufffd", "not valid UTF-8"),
        (b"a\r\nb\x0c\r\n", "a\nb\x0c", None),
    ],
)
async def test_unusual_bytes_are_read_with_a_note(tmp_path: Path, data: bytes, text: str, note: str | None) -> None:
    (tmp_path / "f").write_bytes(data)
    told = await run(read_file, tmp_path, path="f")
    assert told["text"] == text
    assert note is None or note in told["note"]


async def test_a_binary_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(ToolError, match="not a text file"):
        await run(read_file, tmp_path, path="f")
    for path in ("", ".", "sub/"):
        with pytest.raises(ToolError, match="is a folder"):
            await run(write_file, tmp_path, path=path, content="x")


async def test_search_is_literal_and_stays_inside(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_text("(a+)+$ Price\n")
    (tmp_path / "sub" / "b").write_text("price 2\nPRICE 3")
    (tmp_path / "bin").write_bytes(b"price\0")
    (tmp_path / "etc").symlink_to("/etc")
    told = await run(search_files, tmp_path, query="price")
    assert [(m["path"], m["line"]) for m in told["matches"]] == [("a", 1), ("sub/b", 1), ("sub/b", 2)]
    assert "files skipped: 1" in told["note"]
    assert len((await run(search_files, tmp_path, query="(a+)+$"))["matches"]) == 1
    assert len((await run(search_files, tmp_path, query="PRICE", case_sensitive=True))["matches"]) == 1
    assert [m["path"] for m in (await run(search_files, tmp_path, query="price", path="sub/b"))["matches"]] == [
        "sub/b"
    ] * 2
    assert "more matches" in (await run(search_files, tmp_path, query="price", limit=1))["note"]
    with pytest.raises(ToolError, match="links are not followed"):
        await run(search_files, tmp_path, query="root", path="etc")


async def test_a_long_line_is_shown_around_the_match(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x" * 5000 + "needle" + "y" * 5000)
    (match,) = (await run(search_files, tmp_path, query="needle"))["matches"]
    assert "needle" in match["text"]
    assert len(match["text"]) <= file_search.LINE_SHOWN + 2


def test_a_search_that_reaches_its_limit_says_so(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    search = Search("x", case_sensitive=True, limit=5, deadline=0.0)
    search.run(tmp_path, ())
    assert search.matches == []
    assert "reached its limit" in search.notes()[1]


@pytest.mark.parametrize(
    "path", ["report\ufe0f.txt", "rep\u043ert.txt", "report .txt\u2800", "d\u043ecs/new.txt", "new\u200b.txt"]
)
async def test_a_new_path_that_people_would_take_for_another_is_refused(tmp_path: Path, path: str) -> None:
    for known in ("report.txt", "docs/old.txt"):
        await run(write_file, tmp_path, path=known, content="x")
    with pytest.raises(ToolError) as refused:
        await run(write_file, tmp_path, path=path, content="y")
    assert refused.value.code == "misleading_path"
    assert [entry["name"] for entry in (await run(list_directory, tmp_path))["entries"]] == ["docs", "report.txt"]


async def test_a_file_whose_name_does_not_show_in_full_can_still_be_read_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "report\ufe0f.txt").write_text("x")
    assert "report\\u{FE0F}.txt" in (await run(list_directory, tmp_path))["note"]
    assert (await run(read_file, tmp_path, path="report\ufe0f.txt"))["text"] == "x"
    assert not (await run(write_file, tmp_path, path="report\ufe0f.txt", content="y"))["created"]
