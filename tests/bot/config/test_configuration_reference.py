"""docs/configuration.md describes every key and variable of the schema."""

from pathlib import Path

from bot.config.reference import environment_variables, file_keys, written

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_configuration_page_has_the_generated_tables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run: python -m bot.config.reference docs/configuration.md"
    assert page.count("| type | default | description |") == 2


def test_every_key_and_variable_is_described_in_sentences() -> None:
    assert [k.name for k in [*file_keys(), *environment_variables()] if not k.description.endswith(".")] == []


def test_a_row_shows_type_limits_and_default() -> None:
    rows = {k.name: k for k in file_keys()}
    assert (rows["session.max_steps"].type, rows["session.max_steps"].default) == ("integer from 1 to 200", "`10`")
    assert (rows["access.guests"].type, rows["access.guests"].default) == ("`deny`, `allow`", "`deny`")
    assert (rows["tools.TOOL.approvers"].type, rows["tools.TOOL.quorum"].default) == ("text or list of text", "`1`")
    assert (rows["mcp_servers"].type, rows["mcp_servers"].default) == ("path or mapping", "–")
