"""Total and pure: whatever a session says and whatever happens, there is an answer, the same each time."""

from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.session.machine.effects import Effect
from bot.session.machine.events import (
    Decided,
    Event,
    InboxTaken,
    ModelFailed,
    Replied,
    Resumed,
    Stopped,
    ToolFinished,
    Verdict,
)
from bot.session.machine.transition import transition
from storage.records import CallState, OpenCall, Phase, Session, Thread
from tests.bot.session.machine.session_builders import call, happened, said
from tools.call_outcome import CallOutcome

few = st.integers(0, 2)
people = st.sampled_from(("UANN", "UBOB"))
names = st.sampled_from(("a", "b", "c"))
states, flags = st.sampled_from(CallState), st.booleans()
open_calls = st.builds(OpenCall, names, few, few, states, few, flags, flags, flags)
sessions = st.builds(
    Session,
    id=st.just("s"),
    thread=st.just(Thread("T1", "C1", "1.0")),
    kind=st.just("im"),
    phase=st.sampled_from(Phase),
    turn=few,
    last_turn=few,
    step=few,
    steps_used=few,
    requester=people,
    calls=st.lists(open_calls, max_size=3, unique_by=lambda c: c.id).map(tuple),
    closed=flags,
)
items = st.lists(
    st.one_of(
        st.builds(lambda n, user, opens: said(n, user, opens=opens), st.integers(1, 99), people, flags),
        st.builds(lambda n, name, quiet: happened(n, name, quiet=quiet), st.integers(1, 99), names, flags),
    ),
    max_size=4,
    unique_by=lambda i: i.id,
).map(tuple)
proposals = st.lists(
    st.builds(call, st.sampled_from(("d", "e", "f")), st.sampled_from(("allow", "ask", "deny")), repeatable=flags),
    max_size=3,
    unique_by=lambda p: p.id,
).map(tuple)
events = st.one_of(
    st.builds(InboxTaken, items),
    st.builds(Replied, few, few, st.just("text"), proposals),
    st.builds(ModelFailed, few, few, st.just("code"), st.just("part")),
    st.builds(ToolFinished, names, few, st.builds(CallOutcome, states, st.just("result"))),
    st.builds(Decided, names, st.sampled_from(get_args(Verdict))),
    st.builds(
        Stopped, few, people, st.sampled_from(("stopped", "deleted", "timed_out", "restarts")), st.just(""), flags
    ),
    st.builds(Resumed, few),
)


@settings(derandomize=True, max_examples=600, deadline=None)
@given(sessions, events)
def test_every_event_has_an_answer_in_every_session_even_one_that_cannot_be(session: Session, event: Event) -> None:
    after, effects = transition(session, event)
    assert (after, effects) == transition(session, event)
    assert isinstance(after, Session)
    assert after.step >= session.step
    assert after.last_turn >= session.last_turn
    assert after.closed or not session.closed
    assert all(isinstance(e, Effect) for e in effects)
