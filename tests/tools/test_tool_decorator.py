"""A typed function becomes a tool; a wrong declaration is caught at import."""

import threading
from enum import Enum
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field, field_validator

from tools.tool_context import ToolContext
from tools.tool_decorator import DeclarationError, tool
from tools.tool_definition import ToolError

NO_CONTEXT: Any = None


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    """One thing to buy."""

    title: str
    count: int = 1


class Node(BaseModel):
    value: int
    children: list["Node"] = []


@tool(effect="read", timeout_s=3, retries=1, result_limit=99, name="order")
async def sample(
    context: ToolContext,
    title: Annotated[str, "What the order is called"],
    schema: int = 3,
    colour: Colour = Colour.RED,
    mode: Literal["fast", "slow"] = "fast",
    items: list[Item] | None = None,
    tree: Node | None = None,
    limit: Annotated[int | None, Field(ge=1, description="At most so many")] = None,
) -> list[Any]:
    """Place an order
    for somebody.

    This paragraph is for programmers.

    Args:
        schema: the number
            of the schema
        colour (Colour): its colour
    """
    return [title, schema, colour, mode, items, tree, limit]


def test_the_schema_comes_from_annotations_and_docstring() -> None:
    properties = sample.parameters["properties"]
    assert (sample.name, sample.description) == ("order", "Place an order for somebody.")
    assert sample.parameters["required"] == ["title"]
    assert sample.parameters["additionalProperties"] is False
    assert properties["title"] == {"type": "string", "description": "What the order is called"}
    assert properties["schema"] == {"type": "integer", "default": 3, "description": "the number of the schema"}
    assert properties["colour"]["enum"] == ["red", "blue"]
    assert properties["colour"]["description"] == "its colour"
    assert properties["mode"]["enum"] == ["fast", "slow"]
    assert properties["limit"]["description"] == "At most so many"
    assert "context" not in properties


def test_nested_models_are_inlined_closed_and_untitled() -> None:
    item = sample.parameters["properties"]["items"]["anyOf"][0]["items"]
    assert item["properties"]["title"] == {"type": "string"}
    assert item["additionalProperties"] is False
    assert set(sample.parameters["$defs"]) == {"Node"}  # what contains itself stays a reference
    jsonschema_rs.validator_for(sample.parameters)


def test_the_declared_limits_are_on_the_tool() -> None:
    assert (sample.effect, sample.timeout_s, sample.retries, sample.result_limit) == ("read", 3, 1, 99)
    assert sample.repeatable


async def test_arguments_arrive_typed_and_defaults_are_filled_in() -> None:
    arguments = {"title": "x", "colour": "blue", "items": [{"title": "tea"}], "tree": {"value": 1}}
    title, schema, colour, mode, items, tree, limit = await sample.run(NO_CONTEXT, arguments)
    assert (title, schema, colour, mode, limit) == ("x", 3, Colour.BLUE, "fast", None)
    assert items == [Item(title="tea")]
    assert tree == Node(value=1)


async def test_a_sync_function_runs_in_a_thread() -> None:
    @tool(effect="read")
    def where() -> str:
        """Tell the thread."""
        return threading.current_thread().name

    assert await where.run(NO_CONTEXT, {}) != threading.main_thread().name


async def test_what_json_schema_cannot_say_is_checked_too() -> None:
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("must be even")
            return value

    @tool(effect="read")
    async def halve(number: Even) -> float:
        """Halve a number."""
        return number.n / 2

    assert halve.check is not None
    assert halve.check({"number": {"n": 4}}) is None
    assert "number.n" in (halve.check({"number": {"n": 3}}) or "")
    with pytest.raises(ToolError, match="must be even"):
        await halve.run(NO_CONTEXT, {"number": {"n": 3}})


def test_a_tool_without_parameters_has_an_empty_closed_object() -> None:
    @tool(effect="read")
    async def ping() -> str:
        """Answer."""
        return "pong"

    assert ping.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


async def untyped(x) -> str:  # type: ignore[no-untyped-def]
    """Has an untyped parameter."""
    return str(x)


async def silent(x: int) -> str:
    return str(x)


async def spread(*numbers: int) -> str:
    """Take any number."""
    return str(numbers)


async def stale(x: int) -> str:
    """Have a docstring of yesterday.

    Args:
        y: gone
    """
    return str(x)


async def misplaced(x: int, where: ToolContext) -> str:
    """Take the context late."""
    return f"{x}{where}"


async def wrong_context(context: int) -> str:
    """Take a context that is none."""
    return str(context)


class Opaque:
    pass


async def opaque(thing: Opaque) -> str:
    """Take a thing without a schema."""
    return str(thing)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (untyped, "'x' has no type"),
        (silent, "docstring is missing"),
        (spread, "have no schema"),
        (stale, r"\['y'\]"),
        (misplaced, "ToolContext is only allowed"),
        (wrong_context, "annotated ToolContext"),
        (opaque, "no schema"),
    ],
)
def test_a_wrong_declaration_is_a_clear_error(function: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words) as caught:
        tool(effect="read")(function)
    assert function.__name__ in str(caught.value)


def test_an_invalid_tool_name_is_refused() -> None:
    with pytest.raises(DeclarationError, match="is not a valid tool name"):
        tool(effect="read", name="über tool")(silent)
