"""The clock: the person's zone, another one, or a clear error."""

from dataclasses import replace

import pytest

from storage.records import Person
from tests.tools.fake_chat import context_for
from tools.builtins.time_tools import current_time
from tools.tool_definition import ToolError

ADA = Person("T", "U1", "Ada", timezone="Asia/Shanghai")
MOMENT = 1_780_000_000.0  # 2026-05-28 20:26:40 UTC


async def ask(timezone: str = "", person: Person = ADA) -> dict[str, str]:
    told: dict[str, str] = await current_time.run(context_for(person=person, now=MOMENT), {"timezone": timezone})
    return told


async def test_without_a_zone_it_is_the_persons_time() -> None:
    told = await ask()
    assert (told["timezone"], told["time"], told["weekday"]) == ("Asia/Shanghai", "2026-05-29T04:26:40+08:00", "Friday")


@pytest.mark.parametrize("name", ["America/New_York", "new york", "NEW_YORK", "america/new_york"])
async def test_a_city_is_enough(name: str) -> None:
    assert (await ask(name))["time"] == "2026-05-28T16:26:40-04:00"


@pytest.mark.parametrize("name", ["UTC", "utc", "Z"])
async def test_utc_needs_no_data(name: str) -> None:
    assert (await ask(name))["time"] == "2026-05-28T20:26:40+00:00"


@pytest.mark.parametrize("name", ["Atlantis", "../../etc/passwd", "/etc/localtime", "Europe", "\0"])
async def test_an_unknown_zone_is_a_clear_error(name: str) -> None:
    with pytest.raises(ToolError) as caught:
        await ask(name)
    assert caught.value.code == "unknown_timezone"
    assert "Europe/Berlin" in caught.value.suggestion


async def test_a_person_without_a_valid_zone_gets_utc_with_a_note() -> None:
    told = await ask(person=replace(ADA, timezone="Nowhere/Lost"))
    assert told["timezone"] == "UTC"
    assert "not known" in told["note"]
    assert (await ask(person=replace(ADA, timezone="")))["timezone"] == "UTC"
