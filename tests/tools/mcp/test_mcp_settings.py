"""Reading mcp.json: the settings, or one error that names every problem."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.mcp.mcp_settings import McpSettings, McpSettingsError, ServerSettings, load_settings

SECRET = "hunter2-hunter2"


def one(entry: dict[str, Any], **environ: str) -> ServerSettings:
    return load_settings({"mcpServers": {"it": entry}}, environ).servers[0]


def problems(source: Any, **environ: str) -> list[str]:
    with pytest.raises(McpSettingsError) as caught:
        load_settings(source, environ)
    return caught.value.problems


def test_a_stdio_server_is_read_with_its_variables_filled_in() -> None:
    entry = {"command": "${BIN}", "args": ["--at", "${WHERE:-here}"], "env": {"API_TOKEN": "${TOKEN}"}, "cwd": "/"}
    server = one(entry, BIN="npx", TOKEN=SECRET)
    assert (server.command, server.args, server.env, server.cwd) == (
        "npx",
        ("--at", "here"),
        {"API_TOKEN": SECRET},
        "/",
    )
    assert (server.transport, server.target) == ("stdio", "npx")


@pytest.mark.parametrize("kind", [None, "http", "streamable-http"])
def test_an_http_server_is_read(kind: str | None) -> None:
    entry = {
        "url": "https://u:pass-word@h.example:8443/mcp?api_key=abcdef1",
        "headers": {"Authorization": "Bearer ${T}"},
    }
    server = one(entry | ({"type": kind} if kind else {}), T=SECRET)
    assert server.headers == {"Authorization": f"Bearer {SECRET}"}
    assert (server.transport, server.target) == ("http", "https://h.example:8443/mcp")
    assert {SECRET, "pass-word", "abcdef1"} <= set(server.secrets)


def test_a_variable_without_value_takes_its_default_and_a_doubled_dollar_is_left() -> None:
    server = one({"command": "x", "args": ["${A:-b}", "${A:-}", "$${A}", "$A"]}, A="")
    assert server.args == ("b", "", "${A}", "$A")


def test_lists_make_tools_available_by_pattern_and_deny_wins() -> None:
    server = one({"command": "x", "tools": {"allow": ["read_*", "list"], "deny": ["*_secret"]}})
    assert [t for t in ("read_file", "read_secret", "list", "write") if server.offers(t)] == ["read_file", "list"]
    assert one({"command": "x"}).offers("anything")
    assert not one({"command": "x", "tools": {"allow": []}}).offers("anything")


def test_every_problem_is_named_at_once_and_no_value_is_shown() -> None:
    found = problems(
        {
            "mcpServers": {
                "both": {"command": "x", "url": "http://h"},
                "neither": {},
                "typed": {"command": 5, "args": [SECRET, 1], "env": {"PORT": 8080}, "disabled": "yes"},
                "times": {"command": "x", "timeout_s": 0, "connect_timeout_s": True},
                "unset": {"command": "x", "env": {"TOKEN": "${GITHUB_TOKEN}"}, "args": ["${env:HOME}"]},
                "place": {"url": f"ftp://{SECRET}@h"},
                "old": {"url": "http://h/sse", "type": "sse"},
                "split": {"url": "http://h", "headers": {"A": f"{SECRET}\r\nB: c"}},
                "era": {"command": "x", "protocol": "2024"},
                "shape": [SECRET],
                "bad name!": {"command": "x"},
                "Git": {"command": "x"},
                "git": {"command": "x"},
            }
        }
    )
    text = "\n".join(found)
    for words in (
        'both: has "command" (a program) and "url"',
        'neither: has neither "command" nor "url"',
        'typed: "command" must be a string', '"args" must be a list',
        '"env.PORT"', '"disabled" must be true or false', '"timeout_s" must be a number', '"connect_timeout_s" must be',
        'unset: "env.TOKEN": ${GITHUB_TOKEN} is not set; set it', "invalid variable",
        'place: "url" must be', 'old "sse" transport',
        "one line", '"protocol" must be', "shape: must be an object",
        "'bad name!' is not allowed", "differ only in case",
    ):  # fmt: skip
        assert words in text
    assert SECRET not in text


def test_a_disabled_server_may_have_unset_variables() -> None:
    assert one({"command": "x", "args": ["${NOT_SET}"], "disabled": True}).disabled
    assert one({"url": "http://[", "disabled": True}).target == "an invalid address"


def test_unknown_keys_are_warnings() -> None:
    entry = {"command": "x", "autoApprove": ["*"], "tools": {"permit": []}}
    settings = load_settings({"mcpServers": {"it": entry}, "inputs": []}, {})
    assert len(settings.servers) == 1
    keys = ('"inputs"', '"autoApprove"', '"tools.permit"')
    assert [all(key in warning for key in (key,)) for key, warning in zip(keys, settings.warnings, strict=True)] == [
        True
    ] * 3


TEXT = st.text(max_size=8) | st.sampled_from(["npx", "${A}", "${A:-b}", "${", "\0"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
TEXTS, MAPPING = st.lists(TEXT, max_size=3), st.dictionaries(TEXT, TEXT, max_size=3)
OPTIONS = {
    "args": TEXTS,
    "env": MAPPING,
    "headers": MAPPING,
    "cwd": TEXT,
    "type": st.sampled_from(["stdio", "http", "sse"]),
    "tools": st.fixed_dictionaries({}, optional={"allow": TEXTS, "deny": TEXTS}) | JSON,
    "disabled": st.booleans(),
    "timeout_s": st.floats(),
}
PLACES = st.sampled_from([{"command": "x"}, {"url": "http://h:80/"}, {"url": "https://[::1]"}, {"url": "http://["}, {}])
ENTRY = st.builds(lambda place, more: place | more, PLACES, st.fixed_dictionaries({}, optional=OPTIONS)) | JSON
NAME = st.sampled_from(["a", "b", "a_b", "B"]) | TEXT


@given(st.dictionaries(NAME, ENTRY, max_size=2))
def test_any_json_is_either_usable_or_one_error(servers: dict[str, Any]) -> None:
    try:
        settings = load_settings({"mcpServers": servers}, {})
    except McpSettingsError:
        return
    for server in settings.servers:
        assert (server.command is None) != (server.url is None) or server.disabled
        assert server.target is not None


def test_servers_may_be_inline_without_the_outer_key() -> None:
    assert [s.name for s in load_settings({"a": {"command": "x"}, "b": {"url": "http://h"}}, {}).servers] == ["a", "b"]
    assert load_settings({}, {}) == McpSettings()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"mcpServers": {', "not valid JSON at line 1"),
        (b'{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', '"a" appears twice'),
        (b"[]", 'must be an object with "mcpServers"'),
        (b"{}", 'needs an object "mcpServers"'),
        (b'{"mcpServers": []}', 'needs an object "mcpServers"'),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_file_is_one_clear_problem(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(content)
    (problem,) = problems(file)
    assert problem.startswith("mcp.json: ")
    assert words in problem


def test_a_missing_file_is_a_clear_problem(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path / "no.json")
    assert "No such file" in problem


def test_a_file_may_have_a_byte_order_mark_and_a_type(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("\ufeff" + json.dumps({"mcpServers": {"a": {"type": "stdio", "command": "x"}}}), encoding="utf-8")
    assert load_settings(file, {}).servers[0].command == "x"


def test_the_repr_of_settings_has_no_secret() -> None:
    entry = {"command": "x", "args": [SECRET], "env": {"PASSWORD": SECRET}}
    assert SECRET not in repr(one(entry))
    assert SECRET not in repr(one({"url": f"http://h/?token={SECRET}", "headers": {"X-Key": SECRET}}))


def test_settings_and_guard_do_not_import_the_sdk() -> None:
    code = "import sys, tools.mcp.mcp_settings, tools.mcp.process_guard; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_example_file_is_valid() -> None:
    example = Path(__file__).parents[3] / "config" / "mcp.example.json"
    settings = load_settings(example, {"TRACKER_TOKEN": SECRET})
    assert [s.transport for s in settings.servers] == ["stdio", "http"]
    assert settings.warnings == ()
    assert SECRET in settings.servers[1].secrets
