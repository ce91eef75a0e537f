"""The names that MCP tools get."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tools.mcp.server_tools import tool_names


@given(st.lists(st.text(min_size=1, max_size=80), max_size=12), st.sampled_from(["a", "files", "x" * 32]))
def test_every_tool_has_a_legal_name_of_its_own_whatever_the_order(tools: list[str], server: str) -> None:
    names = tool_names(server, tools, (), ())
    assert set(names) == set(tools)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names.values())
    assert len(set(names.values())) == len(names)
    assert tool_names(server, reversed(tools), (), ()) == names


def test_an_ordinary_name_is_just_prefixed_and_illegal_letters_become_underscores() -> None:
    assert tool_names("git", ["log", "diff.stat"], (), ()) == {"log": "git_log", "diff.stat": "git_diff_stat"}


def test_of_two_tools_with_one_name_the_exact_one_keeps_it() -> None:
    names = tool_names("git", ["diff.stat", "diff_stat"], (), ())
    assert names["diff_stat"] == "git_diff_stat"
    assert re.fullmatch(r"git_diff_stat_[0-9a-f]{8}", names["diff.stat"])


def test_tools_of_two_servers_never_meet_though_neither_knows_the_other() -> None:
    servers = ["a", "a_b"]
    first = tool_names("a", ["b_c"], servers[1:], ())
    second = tool_names("a_b", ["c"], servers[:1], ())
    assert second == {"c": "a_b_c"}
    assert first["b_c"].startswith("a_b_c_")


def test_a_reserved_name_is_not_taken() -> None:
    assert tool_names("read", ["file"], (), {"read_file"})["file"] != "read_file"
