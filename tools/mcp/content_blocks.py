"""What a server sent back, as data a model can use: text and structure as they are, everything else in words."""

from collections.abc import Sequence
from typing import Any

import mcp.types as t

from tools.mcp.secret_redaction import Redactor
from tools.tool_definition import ToolError

MAX_BYTES = 8 << 20
"""The largest result taken. Over HTTP it is refused while it arrives, over stdio when it has."""

TOO_LARGE = "the reply is over the size limit"
"""How a refusal while it arrives is recognised again behind the SDK."""

MAX_ERROR_CHARS = 2000


def read_result(server: str, result: t.CallToolResult, redactor: Redactor) -> Any:
    """Return JSON-able data without secrets. Raises ToolError with the server's words where it says that it failed."""
    parts = [described(block) for block in result.content]
    text = "\n".join(part for part in parts if part)
    if result.is_error:
        words = redactor.text(text)[:MAX_ERROR_CHARS].strip()
        raise ToolError("tool_failed", words or f"The MCP server {server} reports an error without saying which.")
    if result.structured_content is None:
        _refuse_giant(server, text)
        return redactor.text(text)
    beside = [part for part, block in zip(parts, result.content, strict=True) if not isinstance(block, t.TextContent)]
    _refuse_giant(server, str(result.structured_content))
    structured = slim(result.structured_content)
    # the text blocks beside structured content repeat it for older clients
    data = {"result": structured, "attachments": beside} if beside else structured
    return redactor.data(data)


def described(block: t.ContentBlock) -> str:
    """Return a block's text, or for what is no text its kind and size in words."""
    if isinstance(block, t.TextContent):
        return block.text
    if isinstance(block, t.ImageContent | t.AudioContent):
        return f"[{block.type}, {block.mime_type}, {_size(_decoded(block.data))}, not shown here]"
    if isinstance(block, t.ResourceLink):
        kind = f", {block.mime_type}" if block.mime_type else ""
        return f"[link to the resource {block.name}: {block.uri}{kind}]"
    if isinstance(block, t.EmbeddedResource):
        return _resource(block.resource)
    return f"[content of the kind {block.type}, not shown here]"


def slim(data: Any) -> Any:
    """Return structured content with images and sound in it, which some servers repeat there, put into words."""
    if isinstance(data, list):
        return [slim(item) for item in data]
    if not isinstance(data, dict):
        return data
    content = data.get("data")
    if data.get("type") in ("image", "audio") and isinstance(content, str):
        return f"[{data['type']}, {data.get('mimeType', 'unknown type')}, {_size(_decoded(content))}, not shown here]"
    return {key: slim(item) for key, item in data.items()}


def _resource(resource: t.TextResourceContents | t.BlobResourceContents) -> str:
    if isinstance(resource, t.TextResourceContents):
        return f"[resource {resource.uri}]\n{resource.text}"
    kind = resource.mime_type or "unknown type"
    return f"[resource {resource.uri}, {kind}, {_size(_decoded(resource.blob))}, not shown here]"


def _decoded(base64: str) -> int:
    return len(base64) * 3 // 4


def _size(count: int) -> str:
    units: Sequence[tuple[int, str]] = ((1 << 20, "MiB"), (1 << 10, "KiB"))
    for unit, word in units:
        if count >= unit:
            return f"{count / unit:.1f} {word}"
    return f"{count} bytes"


def _refuse_giant(server: str, text: str) -> None:
    if len(text) > MAX_BYTES:
        raise too_large(server)


def too_large(server: str) -> ToolError:
    """Return the error for a result over the limit."""
    return ToolError(
        "result_too_large",
        f"The result of the MCP server {server} is larger than {_size(MAX_BYTES)} and was not taken.",
        suggestion="Ask for less: a filter, a page, a smaller range.",
    )
