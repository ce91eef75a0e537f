"""The memory tools as the model calls them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from bot.memory.memory_tools import MEMORY_TOOLS
from bot.ports import Chat
from storage.records import Audience, Memory, Place, Thread
from tests.storage.stores import ANN, BEN, DM, FAIR, HALL, NOW, ROOM, keep, kept, note, store
from tests.waiting import until
from tools.tool_context import NamesOf, ToolContext
from tools.tool_definition import ToolError
from tools.tool_policy import Policy, ToolRule

REMEMBER, RECALL, FORGET = MEMORY_TOOLS


class Links:
    """A chat that only returns permalinks."""

    async def permalink(self, channel: str, ts: str) -> str | None:
        return f"https://example.com/{channel}/{ts}"


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[ToolContext]:
    async with store(tmp_path) as db:
        yield ToolContext(
            person=ANN,
            place=HALL,
            thread=Thread("T1", "C2", "1.1"),
            source_ts="1.2",
            turn=1,
            key="k",
            chat=cast("Chat", Links()),
            names=cast("NamesOf", None),
            db=db,
            now=lambda: NOW,
            files_root=tmp_path,
        )


async def test_a_remembered_memory_has_its_source_and_is_found_again(context: ToolContext) -> None:
    done = await REMEMBER.run(context, {"content": "Ann likes tea", "type": "preference"})
    (memory,) = await kept(context.db)
    assert (memory.audience, memory.permalink) == (Audience("public"), "https://example.com/C2/1.2")
    assert done == {
        "id": memory.short_id,
        "content": "Ann likes tea",
        "type": "preference",
        "since": "2026-09-21",
        "already_known": False,
    }
    assert (await REMEMBER.run(context, {"content": "Ann likes tea"}))["already_known"] is True
    assert [m["id"] for m in await RECALL.run(context, {"query": "tea"})] == [memory.short_id]
    await until(lambda: kept(context.db), lambda found: found[0].hits == 1)


async def test_an_end_date_means_the_end_of_that_day_in_the_persons_time_zone(context: ToolContext) -> None:
    there = replace(context, person=BEN)
    done = await REMEMBER.run(there, {"content": "在青岛出差", "until": "2026-10-01"})
    assert done["until"] == "2026-10-01"
    (memory,) = await kept(context.db, BEN)
    ends = datetime(2026, 10, 2, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert memory.valid_until == ends.timestamp()


@pytest.mark.parametrize("day", ["tomorrow", "2026-13-01", "2020-01-01", "9999-12-31"])
async def test_an_impossible_end_date_is_explained(context: ToolContext, day: str) -> None:
    with pytest.raises(ToolError) as error:
        await REMEMBER.run(context, {"content": "x y z", "until": day})
    assert error.value.code == "bad_date"


async def test_a_secret_is_refused_without_repeating_it(context: ToolContext) -> None:
    secret = "Wren77!x"
    with pytest.raises(ToolError, match="never remembered") as error:
        await REMEMBER.run(context, {"content": f"the password is {secret}"})
    assert secret not in error.value.message
    assert await kept(context.db) == []


@pytest.mark.parametrize(("place", "seen"), [(DM, {"dm", "room", "hall"}), (HALL, {"hall"}), (FAIR, set())])
async def test_recall_shows_only_what_the_place_may_see(context: ToolContext, place: Place, seen: set[str]) -> None:
    for name, audience in [("dm", "dm"), ("hall", "public")]:
        await context.db.write(keep, note(f"kestrel {name}", audience=Audience(audience)))  # type: ignore[arg-type]
    await context.db.write(keep, note("kestrel room", audience=Audience("private", ROOM.channel)))
    await context.db.write(keep, note("kestrel ben", BEN, Audience("public")))
    found = await RECALL.run(replace(context, place=place), {"query": "kestrel"})
    assert {m["content"].removeprefix("kestrel ") for m in found} == seen


async def test_forgetting_needs_the_id_and_the_text_that_was_shown(context: ToolContext) -> None:
    memory = await context.db.write(keep, note("kestrel", audience=Audience("public")))
    hidden = await context.db.write(keep, note("owl"))
    theirs = await context.db.write(keep, note("wren", BEN, Audience("public")))

    async def forget(target: Memory, content: str) -> Any:
        return await FORGET.run(context, {"id": target.short_id, "content": content})

    for target, content, code in [
        (memory, "owl", "other_content"),
        (hidden, "owl", "no_such_memory"),
        (theirs, "wren", "no_such_memory"),
    ]:
        with pytest.raises(ToolError) as error:
            await forget(target, content)
        assert error.value.code == code
    assert await forget(memory, " Kestrel. ") == {"forgotten": memory.short_id}
    assert await kept(context.db) == [hidden]
    with pytest.raises(ToolError, match="forgotten already"):
        await forget(memory, "kestrel")


def test_only_forgetting_needs_an_approval() -> None:
    silent = Policy()
    assert [silent.configured(tool) for tool in MEMORY_TOOLS] == ["allow", "allow", "ask"]
    strict = Policy(rules={"remember": ToolRule(risk="ask")})
    assert strict.configured(REMEMBER) == "ask"
    assert (REMEMBER.effect, FORGET.effect) == ("write", "danger")
