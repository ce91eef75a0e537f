"""Builders for the example tests: messages, calls, sessions in a given state, and reads of effects."""

from typing import Any, TypeVar

from bot.session.machine.effects import Append, AskModel, Effect, Record, TakeInbox
from bot.session.machine.events import (
    Event,
    InboxTaken,
    Item,
    Proposed,
    Replied,
    ToolFinished,
    WaitingMessage,
    WaitingOutcome,
)
from bot.session.machine.transition import transition
from storage.records import ApprovalRule, CallState, Decision, Session, Thread
from tools.call_outcome import CallOutcome
from tools.proposed_call_checks import ReviewedCall

E = TypeVar("E")
RULE = ApprovalRule(("ULEAD",), 1)
FRESH = Session("s", Thread("T1", "C1", "1.0"), "public")
DONE = CallOutcome(CallState.SUCCEEDED, "it worked")
LOST = CallOutcome(CallState.UNKNOWN, "", error="the server went away")
Step = tuple[Session, tuple[Effect, ...]]


def said(number: int, user: str = "UANN", *, opens: bool = True) -> WaitingMessage:
    return WaitingMessage(number, user, f"{number}.0", {"text": f"words {number}", "user": user}, opens)


def happened(
    number: int, call: str, turn: int = 1, user: str = "UANN", *, steps: int = 1, quiet: bool = False
) -> WaitingOutcome:
    return WaitingOutcome(number, call, turn, user, steps, f"what became of {call}", quiet)


def call(name: str, decision: Decision = "allow", *, repeatable: bool = False, refusal: str | None = None) -> Proposed:
    rule = RULE if decision == "ask" else None
    effect = "read" if repeatable else "write"
    return Proposed(name, ReviewedCall("p1", "tool", {}, "h", effect, decision, repeatable, refusal=refusal, rule=rule))


def after(session: Session, *events: Event) -> Session:
    """Play the events; when the machine asks for the inbox, it is empty."""
    for event in events:
        session, effects = transition(session, event)
        if any(isinstance(e, TakeInbox) for e in effects):
            session, _ = transition(session, InboxTaken())
    return session


def taken(session: Session, *items: Item) -> Step:
    return transition(session, InboxTaken(items))


def asked(session: Session, *items: Item) -> Session:
    """Return the session with the model asked about these items; one message of Ann's unless told otherwise."""
    session, effects = taken(session, *(items or (said(1),)))
    assert of(effects, AskModel)
    return session


def replied(session: Session, *calls: Proposed, text: str = "") -> Session:
    return after(session, Replied(session.turn, session.step, text, calls))


def stepped(*calls: Proposed) -> Session:
    """Return a session whose first turn proposed these calls in its first step."""
    return replied(asked(FRESH), *calls)


def parked(*names: str) -> Session:
    """Return a session whose step rests with these calls to be approved."""
    return stepped(*(call(name, "ask") for name in names))


def lost() -> Session:
    """Return a session whose step rests with a question about its only call, "a"."""
    return after(stepped(call("a")), ToolFinished("a", 1, LOST))


def at_boundary() -> Session:
    """Return a session whose only call has ended and whose inbox is to be read before the next step."""
    session, _ = transition(stepped(call("a")), ToolFinished("a", 1, DONE))
    return session


def check_only_recorded(session: Session, event: Event) -> None:
    """Raise AssertionError if the event changes the session or has an effect besides its record."""
    same, effects = transition(session, event)
    assert same == session, event
    assert kinds(effects) == ["Record"], event
    assert of(effects, Record)[0].detail["event"] == type(event).__name__


def of(effects: tuple[Effect, ...], kind: type[E]) -> list[E]:
    return [e for e in effects if isinstance(e, kind)]


def kinds(effects: tuple[Effect, ...]) -> list[str]:
    return [type(e).__name__ for e in effects]


def entries(effects: tuple[Effect, ...]) -> list[tuple[str, Any]]:
    """Return role and text of each appended entry."""
    return [(e.role, e.content["text"]) for e in of(effects, Append)]


def state(session: Session, name: str) -> CallState | None:
    return next((c.state for c in session.calls if c.id == name), None)
