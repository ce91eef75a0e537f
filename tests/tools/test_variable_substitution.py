"""`${VAR}` and `${VAR:-default}` are replaced once, and what cannot be replaced is reported without values."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.variable_substitution import FilledText, fill_variables

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
values = st.text(max_size=8) | st.sampled_from(["${A}", "$${A}", "${", "}", ":-"])
texts = st.lists(st.sampled_from(["${A}", "${A:-b}", "${B:-}", "$${A}", "${a b}", "${", "}", "$", "x"])).map("".join)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${A} ${A:-x}", "one one"),
        ("${B:-two}", "two"),
        ("${EMPTY:-three}", "three"),
        ("${EMPTY}", ""),
        ("${B:-}", ""),
        ("${B:-a:-b\nc}", "a:-b\nc"),
        ("$${A} $A ${", "${A} $A ${"),
    ],
)
def test_a_variable_takes_its_value_or_else_its_default(text: str, filled: str) -> None:
    found = fill_variables(text, {"A": "one", "EMPTY": ""})
    assert (found.text, found.problems) == (filled, ())


def test_what_cannot_be_replaced_is_a_problem_each() -> None:
    found = fill_variables("${A}${B}${env:HOME}${A}", {"A": "one"})
    unset, invalid = found.problems
    assert found.text == "oneone"
    assert found.used == (("A", "one"), ("A", "one"))
    assert unset == "${B} is not set; set it, or write ${B:-default}"
    assert invalid.startswith("invalid variable")


def test_used_values_include_defaults_and_empty_values() -> None:
    assert fill_variables("${A:-x}${B}", {"B": ""}).used == (("A", "x"), ("B", ""))


@given(st.text(max_size=40), st.dictionaries(names, values, max_size=3))
def test_a_text_without_variables_stays_as_it_is(text: str, environ: dict[str, str]) -> None:
    plain = text.replace("${", "$ {")
    assert fill_variables(plain, environ) == FilledText(plain)


@given(st.dictionaries(names, values, max_size=3), names, values)
def test_a_value_is_not_read_as_a_variable_again(environ: dict[str, str], name: str, value: str) -> None:
    environ |= {name: value}
    assert fill_variables(f"<${{{name}}}>", environ) == FilledText(f"<{value}>", ((name, value),))


@given(texts, st.dictionaries(st.sampled_from("AB"), st.just("t0psecret")))
def test_no_problem_shows_a_value(text: str, environ: dict[str, str]) -> None:
    found = fill_variables(text, environ)
    assert "t0psecret" not in "".join(found.problems)
    assert {name for name, _ in found.used} <= {"A", "B"}


@given(texts)
def test_a_doubled_dollar_keeps_a_variable_as_text(text: str) -> None:
    single = re.sub(r"\$+", "$", text)
    doubled = re.sub(r"\$(\{[^}]*\})", r"$$\1", single)
    assert fill_variables(doubled, {}) == FilledText(single)
