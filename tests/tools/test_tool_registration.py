"""Every tool keeps its name and its accepted definition in the database, whatever is listed later."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import known_tools
from storage.database import Database
from tests.storage.stores import store
from tests.tools.samples import weather
from tools.tool_definition import Tool
from tools.tool_identity import difference, fingerprint, identity_of
from tools.tool_registration import free_name, register_tools


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    async with store(tmp_path) as opened:
        yield opened


def remote(own_name: str, server: str = "s", name: str = "", **definition: Any) -> Tool:
    described = {"description": "Do it.", "inputSchema": {"type": "object"}, **definition}
    return replace(
        weather, name=name or f"{server}_{own_name}", source=f"mcp:{server}", own_name=own_name, definition=described
    )


async def registered(db: Database, *tools: Tool) -> tuple[dict[str, str], frozenset[str]]:
    """Register tools; return the name of each by source and own name, and the blocked names."""
    found = await db.write(register_tools, tools, 1.0)
    return {f"{t.source}/{t.own_name}": t.name for t in found.tools}, found.blocked


async def test_a_name_is_given_once_whoever_asks_for_it_later(db: Database) -> None:
    first, _ = await registered(db, remote("c", "a_b"))
    await registered(db)  # it is gone
    second, _ = await registered(db, remote("b_c", "a"))
    third, _ = await registered(db, replace(weather, name="a_b_c"))  # built into a later version
    back, _ = await registered(db, remote("c", "a_b"))
    assert first == back == {"mcp:a_b/c": "a_b_c"}
    names = {*first.values(), *second.values(), *third.values()}
    assert len(names) == 3
    assert all(re.fullmatch(r"a_b_c(_[0-9a-f]{8})?", name) for name in names)


async def test_a_reserved_word_is_no_name(db: Database) -> None:
    names, _ = await registered(db, remote("root", "files"))
    assert names["mcp:files/root"].startswith("files_root_")


async def test_names_that_are_cut_to_the_same_64_characters_differ(db: Database) -> None:
    long = "x" * 64
    names, _ = await registered(db, *(remote(f"{n}", name=long) for n in range(3)))
    assert len(set(names.values())) == 3
    assert all(len(name) <= 64 for name in names.values())


async def test_a_changed_definition_is_blocked_until_it_is_accepted_or_as_before(db: Database) -> None:
    await registered(db, remote("pay"))
    changed = remote("pay", annotations={"readOnlyHint": True})
    for _ in range(2):  # listing it twice is not accepting it
        assert (await registered(db, changed))[1] == {"s_pay"}
    assert (await registered(db, remote("pay")))[1] == frozenset()
    assert (await db.read(known_tools.by_name, "s_pay")).changed is None  # type: ignore[union-attr]
    await db.write(known_tools.accept, identity_of(changed), dict(changed.definition or {}), 2.0)
    assert (await registered(db, changed))[1] == frozenset()
    assert (await registered(db, remote("pay")))[1] == {"s_pay"}


async def test_a_built_in_tool_changes_with_hermes_itself(db: Database) -> None:
    await registered(db, weather)
    assert (await registered(db, replace(weather, description="Tell it better.")))[1] == frozenset()


@given(st.sets(st.text("ab_", min_size=1, max_size=70), max_size=8))
def test_a_free_name_is_legal_and_not_taken(names: set[str]) -> None:
    taken: set[str] = set()
    for server in ("s", "t"):
        for wanted in sorted(names):
            name = free_name(remote(wanted, server, name=wanted[:64]), taken)
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
            assert name not in taken
            taken.add(name)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ({"description": "of 999 rows"}, {"description": "of 1,000 rows"}, True),
        ({"description": "of 9 rows"}, {"description": "of 9 cows"}, False),
        ({"description": "up to 9"}, {"description": "up to ٩"}, False),
        ({"inputSchema": {"title": "T1"}}, {"inputSchema": {"title": "T2"}}, True),
        ({"inputSchema": {"maxLength": 1}}, {"inputSchema": {"maxLength": 2}}, False),
        ({"inputSchema": {"const": {"title": "1"}}}, {"inputSchema": {"const": {"title": "2"}}}, False),
        ({"inputSchema": {"enum": ["v1"]}}, {"inputSchema": {"enum": ["v2"]}}, False),
        ({"annotations": {"readOnlyHint": False}}, {"annotations": {"readOnlyHint": True}}, False),
    ],
)
def test_only_numbers_in_texts_about_the_tool_are_no_change(before: Any, after: Any, same: bool) -> None:
    assert (fingerprint(before) == fingerprint(after)) is same


def test_the_difference_names_each_changed_part_once_with_both_sides() -> None:
    before = {"description": "a", "inputSchema": {"properties": {"x": {"type": "string"}, "y": {}}}, "title": "t"}
    after = {"description": "b", "inputSchema": {"properties": {"x": {"type": "number"}, "z": {}}}, "title": "t"}
    assert difference(before, after) == {
        "description": {"before": "a", "after": "b"},
        "inputSchema.properties.x.type": {"before": "string", "after": "number"},
        "inputSchema.properties.y": {"before": {}},
        "inputSchema.properties.z": {"after": {}},
    }


async def test_a_server_that_invents_new_tools_without_end_fills_no_database(db: Database) -> None:
    for lap in range(3):
        await registered(db, *(remote(f"{lap}-{n}") for n in range(900)))
    names, _ = await registered(db, remote("0-0"), remote("2-899"), remote("other", "t"))
    assert sorted(names) == ["mcp:s/0-0", "mcp:t/other"]
    assert len(await db.read(known_tools.every)) == 2_001
