"""The results of `hermes mcp check`."""

import pytest

from tests.fakes.mcp_test_hub import minimal_server
from tools.mcp.mcp_settings import UnknownServerError, load_settings
from tools.mcp.server_check import check_servers

TOKEN = "t0psecret-t0psecret"
SETTINGS = load_settings(
    {
        "good": minimal_server("pages", tools={"deny": ["second"]}),
        "bad": minimal_server("exits", env={"API_TOKEN": TOKEN}),
        "off": {"url": f"https://h.example/mcp?token={TOKEN}", "disabled": True},
    },
    {},
)


async def test_a_check_connects_once_and_reports_each_server() -> None:
    good, bad, off = await check_servers(SETTINGS)
    assert (good.ok, good.message) == (True, "is ready with 1 tool (MCP 2025-11-25)")
    assert [tool.name for tool in good.tools] == ["good_echo"]
    assert (bad.ok, off.ok) == (False, True)
    assert "its last stderr line: cannot work with [redacted]" in bad.message
    assert "is disabled" in off.message


async def test_one_server_can_be_checked_alone() -> None:
    assert [(row.name, row.ok) for row in await check_servers(SETTINGS, "good")] == [("good", True)]


async def test_a_check_of_an_unknown_server_lists_the_configured_ones() -> None:
    with pytest.raises(UnknownServerError, match="no MCP server nope; configured: good, bad, off"):
        await check_servers(SETTINGS, "nope")
