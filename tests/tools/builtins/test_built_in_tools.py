"""The list of built-in tools."""

import json

from tools.builtins import BUILT_INS
from tools.tool_registry import Registry

EFFECTS = {"post_message": "write", "write_file": "write"}


def test_all_built_in_tools_that_do_not_write_are_reads() -> None:
    assert {t.name: t.effect for t in BUILT_INS if t.effect != "read"} == EFFECTS


def test_each_has_a_summary_in_both_languages() -> None:
    assert [t.name for t in BUILT_INS if not t.summary or not all(t.summary)] == []


def test_each_parameter_is_described_and_all_schemas_are_short() -> None:
    bare = [
        f"{t.name}.{name}"
        for t in BUILT_INS
        for name, schema in t.parameters["properties"].items()
        if not schema.get("description")
    ]
    assert bare == []
    # Every request contains them: a tenth of the tools' share of a 32k window.
    assert len(json.dumps(Registry(BUILT_INS).schemas())) < 5000
