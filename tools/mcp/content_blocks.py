"""A server's result as data for the model: text and structured content unchanged, other content described."""

from typing import Any

import mcp.types as t

from tools.mcp.mcp_secret_redaction import Redactor
from tools.tool_definition import ToolError

MAX_BYTES = 8 << 20  # the largest result; a larger one is refused while it arrives (HTTP) or afterwards (stdio)
TOO_LARGE = "the reply is over the size limit"  # identifies this error after it has passed through the SDK
MAX_ERROR_CHARS = 2000


def read_result(server: str, result: t.CallToolResult, redactor: Redactor) -> Any:
    """Return JSON-able data without secrets. Raise ToolError with the server's message if the tool failed."""
    parts = [described(block) for block in result.content]
    text = "\n".join(part for part in parts if part)
    if result.is_error:
        message = redactor.text(text)[:MAX_ERROR_CHARS].strip()
        raise ToolError("tool_failed", message or f"The MCP server {server} reported an error without a message.")
    if len(text if result.structured_content is None else str(result.structured_content)) > MAX_BYTES:
        raise too_large(server)
    if result.structured_content is None:
        return redactor.text(text)
    # Text blocks that come with structured content repeat it for older clients.
    attachments = [
        part for part, block in zip(parts, result.content, strict=True) if not isinstance(block, t.TextContent)
    ]
    structured = without_media(result.structured_content)
    return redactor.data({"result": structured, "attachments": attachments} if attachments else structured)


def described(block: t.ContentBlock) -> str:
    """Return a block's text, or the kind and size of other content."""
    if isinstance(block, t.TextContent):
        return block.text
    if isinstance(block, t.ImageContent | t.AudioContent):
        return _not_shown(block.type, block.mime_type, block.data)
    if isinstance(block, t.ResourceLink):
        kind = f", {block.mime_type}" if block.mime_type else ""
        return f"[link to the resource {block.name}: {block.uri}{kind}]"
    if isinstance(block, t.EmbeddedResource):
        resource = block.resource
        if isinstance(resource, t.TextResourceContents):
            return f"[resource {resource.uri}]\n{resource.text}"
        return _not_shown(f"resource {resource.uri}", resource.mime_type, resource.blob)
    return f"[content of type {block.type}, not shown here]"


def without_media(data: Any) -> Any:
    """Return structured content with images and audio (which some servers repeat there) replaced by descriptions."""
    if isinstance(data, list):
        return [without_media(item) for item in data]
    if not isinstance(data, dict):
        return data
    content = data.get("data")
    if data.get("type") in ("image", "audio") and isinstance(content, str):
        return _not_shown(data["type"], data.get("mimeType"), content)
    return {key: without_media(item) for key, item in data.items()}


def too_large(server: str) -> ToolError:
    """Return the error for a result over the limit."""
    return ToolError(
        "result_too_large",
        f"The result of the MCP server {server} is larger than {_size(MAX_BYTES)} and was not accepted.",
        suggestion="Ask for less: a filter, a page, a smaller range.",
        uncertain=True,  # whatever it reports, the call has run
    )


def _not_shown(what: str, mime_type: str | None, base64: str) -> str:
    return f"[{what}, {mime_type or 'unknown type'}, {_size(len(base64) * 3 // 4)}, not shown here]"


def _size(count: int) -> str:
    for unit, word in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {word}"
    return f"{count} bytes"
