"""The baseline: the plain tool loop on the openai SDK's objects, with one tool, no Slack and no storage.

`python -m tests.bench.bare_loop ADDRESS TURNS` prints milliseconds of CPU per turn.
"""

import asyncio
import json
import sys
import time
from typing import Any

from openai import AsyncOpenAI

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "current_time",
            "description": "Tell the time.",
            "parameters": {"type": "object", "properties": {"timezone": {"type": "string"}}},
        },
    }
]


async def turn(client: AsyncOpenAI) -> str:
    """Ask, answer tool calls, and ask again until there is text; return it."""
    messages: list[Any] = [{"role": "user", "content": "what time is it?"}]
    while True:
        stream = await client.chat.completions.create(model="bench", messages=messages, tools=TOOLS, stream=True)
        text, calls = "", {}
        async for chunk in stream:
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta
            text += delta.content or ""
            for call in delta.tool_calls or ():
                known = calls.setdefault(call.index, {"id": "", "name": "", "arguments": ""})
                known["id"] = known["id"] or call.id or ""
                if call.function:
                    known["name"] = known["name"] or call.function.name or ""
                    known["arguments"] += call.function.arguments or ""
        if not calls:
            return text
        made = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in calls.values()
        ]
        messages.append({"role": "assistant", "content": text, "tool_calls": made})
        messages += [{"role": "tool", "tool_call_id": c["id"], "content": json.dumps({"ok": True})} for c in made]


async def main() -> None:
    address, count = sys.argv[1], int(sys.argv[2])
    async with AsyncOpenAI(api_key="local", base_url=address, max_retries=0) as client:
        for _ in range(10):
            await turn(client)
        began = time.process_time()
        for _ in range(count):
            await turn(client)
        sys.stdout.write(f"{1000 * (time.process_time() - began) / count:.3f}\n")


if __name__ == "__main__":
    asyncio.run(main())
