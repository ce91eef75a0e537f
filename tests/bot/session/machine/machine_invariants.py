"""The machine's invariants, compared with the world's own books after every transaction."""

from bot.session.machine.transition import at_rest
from storage.records import CallState
from tests.bot.session.machine.machine_records import FINAL
from tests.bot.session.machine.machine_simulation import World


def check(world: World) -> None:
    """Compare the machine's session with the world's books."""
    session, rows = world.session, world.ledger.rows
    attached = {c.id for c in session.calls if not c.detached}
    assert attached == set(world.transcript.pending)
    assert {(c.id, c.turn, c.state, c.attempt, c.quiet) for c in session.calls if c.detached} == {
        (r.id, r.turn, r.state, r.attempt, r.quiet) for r in world.ledger.open_rows() if r.id not in attached
    }
    assert {c.id for c in session.calls} == {r.id for r in world.ledger.open_rows()}
    asked = {c.id for c in session.calls if c.state in (CallState.AWAITING_APPROVAL, CallState.UNKNOWN)}
    assert asked == set(world.ledger.approvals)
    assert {c.id for c in session.calls if c.state is CallState.RUNNING} == {call for call, _ in world.running}
    works = any(rows[call].state is CallState.RUNNING for call in attached)
    _check_phase(world, works)
    for row in list(world.ledger.fresh.values()):
        if not row.open:
            del world.ledger.fresh[row.id]
            assert row.state in FINAL | {CallState.UNKNOWN}
            assert row.outcomes == row.interim, "each outcome is told exactly once"


def _check_phase(world: World, works: bool) -> None:
    session = world.session
    assert (world.request is not None) == (session.phase == "reasoning")
    boundary = not world.opening and session.phase == "waiting_tool"
    assert boundary or works == (session.phase == "waiting_tool")
    assert session.closed == world.closed
    assert at_rest(session) == (world.period is None)
    assert world.period in (None, session.turn)
    if at_rest(session):
        assert (session.phase == "awaiting_confirmation") == bool(world.ledger.approvals)
        assert world.parked == bool(world.transcript.pending)
        assert session.closed or not world.opening or not world.inbox.opens(), "something waits though it opens a turn"
