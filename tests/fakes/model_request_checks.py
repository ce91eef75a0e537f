"""What a strict Chat Completions server refuses (OpenAI API reference, "Create chat completion"; local servers)."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

FIELDS = frozenset(
    """
    messages model audio frequency_penalty function_call functions logit_bias logprobs
    max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls prediction
    presence_penalty prompt_cache_key prompt_cache_retention reasoning_effort response_format
    safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools
    top_logprobs top_p user verbosity web_search_options
    """.split()  # noqa: SIM905 - a list literal would take a line for each
)
MESSAGE_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal", "audio", "function_call"},
    "tool": {"role", "content", "tool_call_id"},
}
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PARTS = {"text": "text", "image_url": "image_url", "input_audio": "input_audio", "file": "file", "refusal": "refusal"}


def violations(body: Any, headers: Mapping[str, str]) -> list[str]:
    """Return everything that is wrong with a request."""
    if not isinstance(body, dict):
        return ["the body is not a JSON object"]
    found = [*_head(body, headers), *_settings(body), *_tools(body)]
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "messages is missing or empty"]
    return [*found, *_messages(messages)]


def _head(body: dict[str, Any], headers: Mapping[str, str]) -> Iterator[str]:
    if not re.fullmatch(r"Bearer \S+", headers.get("Authorization", "")):
        yield "no Authorization header with a bearer"
    if not headers.get("Content-Type", "").startswith("application/json"):
        yield "the content type is not application/json"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model is missing"
    for name in sorted(set(body) - FIELDS):
        yield f"unknown field {name!r}"
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        yield "the body contains a lone surrogate"


def _settings(body: dict[str, Any]) -> Iterator[str]:
    if "stream_options" in body and body.get("stream") is not True:
        yield "stream_options without stream"
    if not isinstance(body.get("stream", False), bool):
        yield "stream is not a boolean"
    temperature = body.get("temperature", 1)
    if not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
        yield f"temperature {temperature!r} is not in 0..2"
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body and not (isinstance(body[name], int) and body[name] > 0):
            yield f"{name} is not a positive integer"
    if {"max_tokens", "max_completion_tokens"} <= set(body):
        yield "both max_tokens and max_completion_tokens"


def _tools(body: dict[str, Any]) -> Iterator[str]:
    choice = body.get("tool_choice")
    if choice is not None and "tools" not in body:
        yield "tool_choice without tools"
    if choice not in (None, "auto", "none", "required") and not isinstance(choice, dict):
        yield f"tool_choice is {choice!r}"
    if "tools" not in body:
        return
    tools = body["tools"]
    if not isinstance(tools, list) or not 0 < len(tools) <= 128:
        yield "tools is not a list of 1 to 128"
        return
    names = []
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            yield f"not a function tool: {tool!r}"
            continue
        names.append(function.get("name"))
        yield from _function(function)
    if len(set(names)) != len(names):
        yield "two tools share a name"


def _function(function: dict[str, Any]) -> Iterator[str]:
    if not TOOL_NAME.fullmatch(str(function.get("name", ""))):
        yield f"bad tool name {function.get('name')!r}"
    if not isinstance(function.get("description", ""), str):
        yield f"the description of {function.get('name')!r} is not a string"
    parameters = function.get("parameters", {"type": "object"})
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        yield f"the parameters of {function.get('name')!r} are not an object schema"
    for name in sorted(set(function) - {"name", "description", "parameters", "strict"}):
        yield f"unknown field {name!r} in tool {function.get('name')!r}"


def _messages(messages: list[Any]) -> Iterator[str]:
    unanswered: list[str] = []  # ids of calls that have no result yet
    for n, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in MESSAGE_FIELDS:
            yield f"messages[{n}] has role {role!r}"
            continue
        for name in sorted(set(message) - MESSAGE_FIELDS[role]):
            yield f"messages[{n}] has unknown field {name!r}"
        if role == "tool":
            if message.get("tool_call_id") in unanswered:
                unanswered.remove(message["tool_call_id"])
            else:
                yield f"messages[{n}] answers no open call: {message.get('tool_call_id')!r}"
        elif unanswered:
            yield f"messages[{n}] ({role}) comes before the results of {unanswered}"
            unanswered = []
        if role == "assistant" and message.get("tool_calls") is not None:
            unanswered = [c.get("id") for c in message["tool_calls"]]
            yield from _calls(n, message["tool_calls"])
        yield from _content(n, message)
    if unanswered:
        yield f"no results for {unanswered}"


def _calls(n: int, calls: list[dict[str, Any]]) -> Iterator[str]:
    if not calls:
        yield f"messages[{n}] has an empty tool_calls"
    ids = [c.get("id") for c in calls]
    if len(set(ids)) != len(ids) or not all(isinstance(i, str) and i for i in ids):
        yield f"messages[{n}] has call ids {ids}"
    for call in calls:
        function = call.get("function")
        if call.get("type") != "function" or not isinstance(function, dict):
            yield f"messages[{n}] has a call that is no function call"
        elif not TOOL_NAME.fullmatch(str(function.get("name", ""))):
            yield f"messages[{n}] calls {function.get('name')!r}"
        elif not _is_object(function.get("arguments")):
            # vLLM and llama.cpp parse earlier arguments for their chat templates and refuse what is no JSON object.
            yield f"messages[{n}] has arguments that are no JSON object: {function.get('arguments')!r}"


def _is_object(arguments: Any) -> bool:
    try:
        return isinstance(arguments, str) and isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _content(n: int, message: dict[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind not in PARTS or PARTS[kind] not in part:
                yield f"messages[{n}] has a content part {part!r}"
    elif content is None:
        if message["role"] != "assistant" or not message.get("tool_calls"):
            yield f"messages[{n}] has no content"
    elif not isinstance(content, str):
        yield f"messages[{n}] has content of type {type(content).__name__}"
