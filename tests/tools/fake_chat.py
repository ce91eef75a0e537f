"""A fake of Slack in memory, for tools that use it."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from storage.records import Person, Place, Thread
from tools.tool_context import ChatError, Posted, ToolContext


class FakeChat:
    """Has some people, places and messages; `fail` maps a method to the error that its next call raises."""

    def __init__(self) -> None:
        self.people = {"U1": Person("T", "U1", "Ada"), "U2": Person("T", "U2", "Ben")}
        self.places = {
            "C1": Place("T", "C1", "public"),
            "C2": Place("T", "C2", "public"),
            "C3": Place("T", "C3", "private"),
        }
        self.messages: list[Posted] = []
        self.posted: list[tuple[Thread, str, str]] = []
        self.fail: dict[str, ChatError] = {}

    def _may_fail(self, method: str) -> None:
        if method in self.fail:
            raise self.fail.pop(method)

    async def read_thread(self, thread: Thread, *, limit: int, after: str | None = None) -> list[Posted]:
        self._may_fail("read_thread")
        return self.messages[-limit:]

    async def names(self, users: Collection[str]) -> dict[str, str]:
        return {user: self.people[user].name for user in users if user in self.people}

    async def place(self, team: str, channel: str) -> Place:
        if channel not in self.places:
            raise ChatError("channel_not_found")
        return self.places[channel]

    async def post(self, thread: Thread, markdown: str, *, key: str) -> list[str]:
        self._may_fail("post")
        self.posted.append((thread, markdown, key))
        return ["1.1"]


def context_for(
    files_root: Path = Path(), *, chat: Any = None, person: Person | None = None, now: float = 0.0
) -> ToolContext:
    nothing: Any = None
    return ToolContext(
        person=person or Person("T", "U1", "Ada"),
        place=Place("T", "C1", "public"),
        thread=Thread("T", "C1", "1.0"),
        source_ts="1.0",
        turn=1,
        key="key-1",
        chat=chat,
        names=chat.names if chat else nothing,
        db=nothing,
        now=lambda: now,
        files_root=files_root,
    )
