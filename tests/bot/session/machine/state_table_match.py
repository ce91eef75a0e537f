"""Compares a transition that happened with the rows of the state table."""

from bot.session.machine.effects import Effect
from bot.session.machine.events import Event
from bot.session.machine.state_table import ROWS, Row
from bot.session.machine.transition import at_rest
from storage.records import Session


def is_parked(session: Session) -> bool:
    """Return True if the session rests while calls of the active step are open."""
    return at_rest(session) and any(not call.detached for call in session.calls)


def phases(session: Session) -> set[str]:
    """Return the words of the table that describe the session's phase."""
    rest = {"at rest"} | ({"parked"} if is_parked(session) else set())
    return {"any"} | (rest if at_rest(session) else {"at work", str(session.phase)})


def matching_rows(before: Session, event: Event, after: Session, effects: tuple[Effect, ...]) -> list[Row]:
    """Return the rows that allow this transition."""
    unfit = [type(e).__name__ for e in effects] == ["Record"] and after == before
    return [row for row in ROWS if (row.event == "any") is unfit and _allows(row, before, event, after, effects)]


def _allows(row: Row, before: Session, event: Event, after: Session, effects: tuple[Effect, ...]) -> bool:
    same_phase = is_parked(after) is is_parked(before) and (
        after.phase is before.phase or (at_rest(after) and at_rest(before))
    )
    return (
        row.phase in phases(before)
        and row.event in ("any", type(event).__name__)
        and (same_phase if row.next == "same" else row.next in phases(after))
        and {type(e).__name__ for e in effects} <= set(row.effects)
    )
