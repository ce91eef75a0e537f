"""A conversation with the demonstration model, kept as Hermes keeps it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bot.model.openai_client import ModelSettings, OpenAIModel
from bot.ports import ModelReply, ModelRequest
from bot.simulator.demonstration import Demonstration
from tests.fakes import model_rules

TURN = "\n\n<turn>\nNow: Sunday, 2026-11-29 21:00 (UTC)\nSpeaking: Ana, in {where}{memories}\n</turn>"
REMEMBERED = "\nWhat they asked you to remember (suggestions, newest knowledge wins):\n- "


def tool(name: str, *strings: str, **more: Any) -> dict[str, Any]:
    properties = {**{s: {"type": "string"} for s in strings}, **more}
    parameters = {"type": "object", "properties": properties, "required": list(strings)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


KIND = {"type": "string", "enum": ["identity", "preference", "fact"]}
TOOLS = [
    tool("current_time", "timezone"),
    tool("read_thread", limit={"type": "integer"}),
    tool("post_message", "channel", "text"),
    tool("list_directory", "path"),
    tool("search_files", "query", "path"),
    tool("read_file", "path"),
    tool("write_file", "path", "content"),
    tool("remember", "content", type=KIND),
    tool("recall", "query"),
    tool("forget", "id"),
    tool("demo_add", a={"type": "integer"}, b={"type": "number"}, note={"type": "string"}),
]


class Talk:
    """One conversation with the demonstration, kept as Hermes keeps it."""

    def __init__(self, model: OpenAIModel) -> None:
        self.model = model
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "You are Hermes. Strict JSON arguments."}]
        self.tools = TOOLS

    async def say(self, text: str, where: str = "a direct message", memory: str = "") -> ModelReply:
        spoken = f"Ana: {text}" if where == "a channel thread" else text
        memories = f"{REMEMBERED}{memory} [identity, 2026-11-01]" if memory else ""
        self.messages.append({"role": "user", "content": spoken + TURN.format(where=where, memories=memories)})
        return await self._ask()

    async def result(self, data: Any = None, code: str = "", message: str = "") -> ModelReply:
        """Answer every call of the last reply alike."""
        error = {"ok": False, "error": {"code": code, "message": message, "suggestion": ""}}
        text = json.dumps(error if code else {"ok": True, "data": data})
        for call in self.messages[-1]["tool_calls"]:
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        return await self._ask()

    async def _ask(self) -> ModelReply:
        body = {"model": "m", "messages": self.messages, "tools": self.tools}
        headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}
        assert model_rules.violations(body, headers) == []
        reply = await self.model.ask(ModelRequest(self.messages, self.tools))
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in reply.calls
        ]
        self.messages.append({"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})})
        return reply


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    """Start the demonstration without delay, and a conversation with it."""
    async with Demonstration(delay=0) as demonstration:
        model = OpenAIModel(ModelSettings("demonstration", demonstration.base_url))
        try:
            yield Talk(model)
        finally:
            await model.aclose()
