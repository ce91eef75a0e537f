"""Fields that the configuration names are filled after the answer and used in the next turn."""

from storage import sessions
from storage.database import Tx
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, GENERAL
from tests.fakes.model_script import text
from tests.waiting import until


def fields_of(tx: Tx) -> object:
    """Return the fields of the only session, once there are some."""
    [session] = [s.id for s in sessions.of_place(tx, "T0SIM", GENERAL, ANA)]
    return sessions.summary_and_fields(tx, session)["fields"]


async def test_a_field_that_a_person_stated_is_known_in_the_next_turn(start: Start) -> None:
    team = await start(session={"fields": {"order_id": "the customer's order number"}})
    team.model.on("order", text("Noted."))
    team.model.when(
        lambda asked: "Extract these fields" in asked.system, text('{"order_id": {"value": "A-17", "entry": 1}}')
    )
    root = await team.mention("my order is A-17")
    await team.answer(root)
    await until(lambda: team.hermes.db.read(fields_of), bool)
    team.model.on("again", text("A-17."))
    await team.mention("which one again?", thread=root)
    await team.answer(root, lambda said: said == ["Noted.", "A-17."])
    systems = [a.system for a in team.model.asked if "again" in a.last_user]
    assert "- order_id: A-17" in systems[0]
