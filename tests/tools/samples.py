"""Tools, calls and JSON values that the tests of this folder share."""

import asyncio
from typing import Any

from hypothesis import strategies as st

from storage.records import ToolCall
from tools.proposed_call_checks import arguments_hash
from tools.tool_context import ModelCall, ToolContext
from tools.tool_decorator import tool
from tools.tool_definition import Tool

json_names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(json_names, inner, max_size=4),
    max_leaves=12,
)


@tool(effect="read")
async def weather(city: str, days: int = 1) -> dict[str, Any]:
    """Tell the weather.

    city: the city's name
    """
    return {"city": city, "days": days}


@tool(effect="write")
async def send_money(context: ToolContext, to: str, amount: int) -> str:
    """Send money."""
    return f"{amount} to {to} with {context.key}"


@tool(effect="danger", roles=("admin",))
async def wipe() -> str:
    """Wipe everything."""
    return "gone"


def asked(name: str, arguments: str, provider_id: str = "p1") -> ModelCall:
    return ModelCall(id=provider_id, name=name, arguments=arguments)


def call_of(tool: Tool, attempt: int = 0, **arguments: Any) -> ToolCall:
    return ToolCall(
        id="c1",
        session="s1",
        turn=1,
        step=1,
        position=0,
        provider_id="p1",
        name=tool.name,
        arguments=arguments,
        arguments_hash=arguments_hash(tool.name, arguments),
        effect=tool.effect,
        decision="allow",
        state="running",  # type: ignore[arg-type]
        repeatable=tool.repeatable,
        key="key-1",
        requester="U1",
        attempt=attempt,
    )


async def never() -> None:
    await asyncio.Event().wait()
