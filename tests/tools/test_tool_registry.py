"""The registry: the available tools in a stable order."""

import json
from dataclasses import replace

import pytest

from tests.tools.samples import send_money, weather, wipe
from tools.tool_policy import Policy, ToolRule
from tools.tool_registry import Registry

remote = replace(weather, name="files_stat", source="mcp:files")
other = replace(weather, name="files_copy", source="mcp:files", effect="write")


def test_schemas_are_in_chat_completions_form_and_byte_stable() -> None:
    registry = Registry([weather, send_money])
    first = json.dumps(registry.schemas())
    assert registry.schemas()[0] == {
        "type": "function",
        "function": {"name": "weather", "description": "Tell the weather.", "parameters": weather.parameters},
    }
    registry.replace("mcp:files", [remote, other])
    with_server = json.dumps(registry.schemas())
    registry.replace("mcp:files", [])
    assert json.dumps(registry.schemas()) == first
    registry.replace("mcp:files", [other, remote])
    assert json.dumps(registry.schemas()) == with_server
    assert registry.names() == ("weather", "send_money", "files_copy", "files_stat")


def test_the_caller_may_change_the_list_without_changing_the_registry() -> None:
    registry = Registry([weather])
    registry.schemas().clear()
    assert len(registry.schemas()) == 1


def test_a_denied_tool_is_known_but_not_offered() -> None:
    registry = Registry([weather, wipe], Policy(rules={"wipe": ToolRule(risk="deny")}))
    assert [s["function"]["name"] for s in registry.schemas()] == ["weather"]
    assert registry.get("wipe") is wipe


def test_a_used_name_or_a_schema_with_an_outside_reference_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry([weather])
    stolen = replace(weather, source="mcp:evil", effect="danger")
    reaching = replace(remote, parameters={"$ref": "http://127.0.0.1:9/x"})
    unsayable = replace(remote, name="a b")
    reserved = replace(remote, name="approval_result")
    registry.replace("mcp:evil", [stolen, reaching, unsayable, reserved, replace(other, source="mcp:evil")])
    problems = [vars(record)["reason"] for record in caplog.records]
    assert len(problems) == 4
    assert "already used by built-in" in problems[0]
    assert registry.get("weather") is weather
    assert registry.names() == ("weather", "files_copy")


def test_two_built_in_tools_with_one_name_are_an_error() -> None:
    with pytest.raises(ValueError, match="weather"):
        Registry([weather, weather])


def test_the_rows_for_people_have_a_summary_in_both_languages() -> None:
    registry = Registry([replace(weather, summary=("Tells the weather.", "查询天气。")), send_money])
    registry.replace("mcp:files", [other])
    rows = registry.describe()
    assert [(r.name, r.effect, r.decision, r.source) for r in rows] == [
        ("weather", "read", "allow", "built-in"),
        ("send_money", "write", "ask", "built-in"),
        ("files_copy", "write", "ask", "mcp:files"),
    ]
    assert rows[0].summary == ("Tells the weather.", "查询天气。")
    assert rows[2].summary == ("Tell the weather.", "Tell the weather.")
