"""`/memory` in English and Chinese, with its buttons."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.memory import memory_commands
from bot.memory.memory_commands import ACTIONS, ASK, FORGET, KEEP, PAGE, WIDEN
from bot.ports import CommandAnswer
from bot.texts import say
from storage.database import Database
from storage.records import Person, Place
from tests.storage.stores import ANN, BEN, DAY, DM, HALL, NOW, ROOM, keep, kept, note


async def type_in(db: Database, text: str, person: Person = ANN, place: Place = DM) -> CommandAnswer:
    return await db.write(memory_commands.run, person, place, text, NOW)


async def press(db: Database, answer: CommandAnswer, label: str, person: Person = ANN) -> CommandAnswer:
    button = next(b for b in answer.buttons if b.label == label)
    return await db.write(memory_commands.press, person, button.action, button.value, NOW)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("", ("", "")),
        ("  LIST  ", ("list", "")),
        ("add  I like tea ", ("add", "I like tea")),
        ("添加 我喜欢茶", ("add", "我喜欢茶")),
        ("add\nline one\nline two", ("add", "line one\nline two")),
    ],
)
def test_a_command_is_a_verb_and_its_text(text: str, parsed: tuple[str, str]) -> None:
    assert memory_commands.parse(text) == parsed


async def test_what_is_added_is_listed_with_its_id_audience_and_day(db: Database) -> None:
    added = await type_in(db, "add I like tea", place=ROOM)
    (memory,) = await kept(db)
    assert added.text.startswith("I will remember: I like tea")
    listed = (await type_in(db, "list", place=HALL)).text
    assert f"`{memory.short_id}` I like tea" in listed
    assert "used in <#C1> and your DM" in listed
    assert "2026-09-21" in listed


async def test_another_person_does_not_see_the_memory(db: Database) -> None:
    await type_in(db, "add I like tea")
    for text in ("list", "search tea", "forget tea"):
        assert "I like" not in (await type_in(db, text, BEN)).text
    assert (await type_in(db, "list", BEN)).text.startswith("我还没有关于您的任何记忆")


async def test_adding_a_known_memory_again_says_so(db: Database) -> None:
    await type_in(db, "add I like tea")
    assert (await type_in(db, "add i like TEA")).text.startswith("I already know that")
    assert len(await kept(db)) == 1


async def test_a_button_makes_a_memory_usable_everywhere(db: Database) -> None:
    added = await type_in(db, "add I like tea")
    assert [b.action for b in added.buttons] == [WIDEN, ASK]
    assert "everywhere" in (await press(db, added, "Use everywhere")).text
    assert (await kept(db))[0].audience.kind == "workspace"
    assert (await type_in(db, "add I like tea", place=HALL)).buttons == ()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("always answer in French", "instruction"),
        ("I prefer short answers", "preference"),
        ("我喜欢黑咖啡", "preference"),
        ("my name is Ann", "identity"),
        ("the heron server has 4 disks", "fact"),
    ],
)
async def test_an_added_memory_gets_the_type_of_its_content(db: Database, content: str, kind: str) -> None:
    await type_in(db, f"add {content}")
    assert (await kept(db))[0].type == kind


async def test_an_edit_changes_the_memory_or_names_the_wrong_id(db: Database) -> None:
    await type_in(db, "add I like tea")
    (memory,) = await kept(db)
    assert (await type_in(db, f"edit {memory.short_id} I like coffee")).text.startswith("Changed: I like coffee")
    assert [m.content for m in await kept(db)] == ["I like coffee"]
    assert "no memory with the id `zzzz`" in (await type_in(db, "edit zzzz what")).text
    assert "您没有编号为" in (await type_in(db, f"edit {memory.short_id} stolen", BEN)).text
    assert [m.content for m in await kept(db)] == ["I like coffee"]


async def test_a_secret_is_refused_with_the_reason_in_the_persons_language(db: Database) -> None:
    assert "password" in (await type_in(db, "add my password is " + "Wren77!x")).text
    assert "密码" in (await type_in(db, "add 我的密码是 " + "Wren77!x", BEN)).text
    assert await kept(db) == await kept(db, BEN) == []


async def test_forgetting_by_id_asks_once(db: Database) -> None:
    await type_in(db, "add I like tea")
    (memory,) = await kept(db)
    asked = await type_in(db, f"forget {memory.short_id}")
    assert "I like tea" in asked.text
    assert [(b.label, b.action, b.style) for b in asked.buttons] == [
        ("Forget it", FORGET, "danger"),
        ("Keep", KEEP, "default"),
    ]
    assert (await press(db, asked, "Keep")).text == say("memory.unchanged", "en")
    assert len(await kept(db)) == 1
    assert (await press(db, asked, "Forget it")).text.startswith("Forgotten.")
    assert await kept(db) == []
    assert say("memory.refused.gone", "en") in (await press(db, asked, "Forget it")).text


async def test_forgetting_by_words_offers_buttons_without_content(db: Database) -> None:
    for drink in ("green tea", "black tea", "cocoa"):
        await type_in(db, f"add I like {drink}")
    which = await type_in(db, "forget tea")
    assert [b.action for b in which.buttons] == [ASK, ASK, KEEP]
    assert all("tea" not in b.value for b in which.buttons)
    asked = await press(db, which, which.buttons[0].label)
    await press(db, asked, "Forget it")
    assert len(await kept(db)) == 2
    one = await type_in(db, "forget cocoa")
    assert one.buttons[0].action == FORGET


async def test_a_memory_edited_after_the_question_is_shown_again_before_it_is_forgotten(db: Database) -> None:
    await type_in(db, "add I like tea")
    (memory,) = await kept(db)
    asked = await type_in(db, f"forget {memory.short_id}")
    await db.write(memory_commands.run, ANN, DM, f"edit {memory.short_id} my keys are at home", NOW + 60)
    again = await press(db, asked, "Forget it")
    assert say("memory.forget.changed", "en") in again.text
    assert "my keys are at home" in again.text
    await press(db, again, "Forget it")
    assert await kept(db) == []


async def test_a_click_by_another_person_changes_nothing(db: Database) -> None:
    await type_in(db, "add I like tea")
    (memory,) = await kept(db)
    asked = await type_in(db, f"forget {memory.short_id}")
    for button in asked.buttons:
        await db.write(memory_commands.press, BEN, button.action, button.value, NOW)
    await db.write(memory_commands.press, BEN, WIDEN, memory.short_id, NOW)
    assert await kept(db) == [memory]


async def test_long_lists_are_paged(db: Database) -> None:
    for i in range(40):
        await db.write(keep, note(f"fact number {i} " + "x" * 400, created=NOW - i * DAY))
    first = await type_in(db, "list")
    assert "(1–15 of 40)" in first.text
    assert len(first.text) < 6000
    assert [(b.action, b.value) for b in first.buttons] == [(PAGE, "2")]
    second = await press(db, first, "Page 2")
    assert [b.value for b in second.buttons] == ["1", "3"]
    assert "fact number 39" in (await type_in(db, "list 99")).text
    assert "There may be more" in (await type_in(db, "search fact")).text


async def test_the_list_marks_memories_that_are_not_used(db: Database) -> None:
    await db.write(keep, note("one", status="archived"))
    await db.write(keep, note("two", valid_until=NOW))
    await db.write(keep, note("three", valid_until=NOW + DAY))
    text = (await type_in(db, "list")).text
    assert "archived, not used" in text
    assert "ended 2026-09-2" in text
    assert "until 2026-09-2" in text


@pytest.mark.parametrize("text", ["", "help", "帮助"])
async def test_help_names_every_verb(db: Database, text: str) -> None:
    for person in (ANN, BEN):
        answer = (await type_in(db, text, person)).text
        assert all(f"/memory {verb}" in answer for verb in ("list", "search", "add", "edit", "forget"))


@pytest.mark.parametrize("verb", ["add", "edit", "search", "forget", "edit zzzz"])
async def test_a_verb_without_its_words_says_what_is_missing(db: Database, verb: str) -> None:
    assert f"`/memory {verb.split()[0]} <" in (await type_in(db, verb)).text


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    verb=st.sampled_from(["list", "search", "add", "edit", "forget", "help", "", "添加"]),
    rest=st.text(max_size=60),
    action=st.one_of(st.sampled_from(ACTIONS), st.text(max_size=9)),
)
async def test_any_text_and_any_click_is_answered(db: Database, verb: str, rest: str, action: str) -> None:
    assert (await type_in(db, f"{verb} {rest}")).text
    assert (await db.write(memory_commands.press, BEN, action, rest, NOW)).text
