"""Results of MCP servers as data for the model."""

import base64
from typing import Any

import mcp.types as t
import pytest

from tools.mcp.content_blocks import MAX_BYTES, read_result
from tools.mcp.mcp_secret_redaction import Redactor
from tools.tool_definition import ToolError

HIDE = Redactor(["topsecret1"])
BLOB = base64.b64encode(b"x" * 3072).decode()


def read(*content: t.ContentBlock, **more: Any) -> Any:
    return read_result("srv", t.CallToolResult(content=list(content), **more), HIDE)


def text(words: str) -> t.TextContent:
    return t.TextContent(type="text", text=words)


def test_text_blocks_are_joined() -> None:
    assert read(text("one"), text("two")) == "one\ntwo"
    assert read() == ""


def test_structured_content_is_kept_without_its_text_copy() -> None:
    assert read(text('{"a": 1}'), structured_content={"a": 1}) == {"a": 1}


def test_other_content_is_described_by_kind_and_size() -> None:
    picture = t.ImageContent(type="image", data=BLOB, mime_type="image/png")
    sound = t.AudioContent(type="audio", data="QUJD", mime_type="audio/wav")
    file = t.EmbeddedResource(
        type="resource", resource=t.BlobResourceContents(uri="file:///a", blob=BLOB, mime_type="application/pdf")
    )
    note = t.EmbeddedResource(type="resource", resource=t.TextResourceContents(uri="file:///b", text="words"))
    link = t.ResourceLink(type="resource_link", name="c", uri="file:///c")
    lines = read(picture, sound, file, note, link).split("\n")
    assert lines[0] == "[image, image/png, 3.0 KiB, not shown here]"
    assert lines[1] == "[audio, audio/wav, 3 bytes, not shown here]"
    assert "application/pdf, 3.0 KiB" in lines[2]
    assert lines[3:] == ["[resource file:///b]", "words", "[link to the resource c: file:///c]"]
    both = read(picture, structured_content={"a": [{"type": "image", "data": BLOB, "mimeType": "image/png"}]})
    assert both == {"result": {"a": ["[image, image/png, 3.0 KiB, not shown here]"]}, "attachments": [lines[0]]}


def test_an_error_has_the_servers_message() -> None:
    with pytest.raises(ToolError, match=r"^no such file \[redacted\]$") as caught:
        read(text("no such file topsecret1"), is_error=True)
    assert caught.value.code == "tool_failed"
    with pytest.raises(ToolError, match="without a message"):
        read(is_error=True)


def test_secrets_are_removed_from_text_and_structure() -> None:
    assert read(text("a topsecret1 b")) == "a [redacted] b"
    assert read(structured_content={"topsecret1": ["topsecret1"]}) == {"[redacted]": ["[redacted]"]}


def test_a_result_over_the_limit_is_refused_with_advice() -> None:
    for result in ({"structured_content": {"a": "x" * (MAX_BYTES + 1)}}, {}):
        with pytest.raises(ToolError, match=r"larger than 8\.0 MiB") as caught:
            read(text("x" * (MAX_BYTES + 1)), **result)
        assert caught.value.suggestion
