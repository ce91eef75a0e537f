"""What may happen in the played world, in time, late or twice. `pick` chooses: a seeded generator or hypothesis."""

from collections.abc import Callable, Sequence
from typing import Any, get_args

from bot.session.machine.effects import OpenTurn, ResumeTurn
from bot.session.machine.events import (
    Decided,
    Event,
    ModelFailed,
    Proposed,
    Replied,
    Resumed,
    Stopped,
    ToolFinished,
    Verdict,
    WaitingMessage,
)
from bot.session.machine.transition import at_rest
from storage.records import ApprovalRule, CallState
from tests.bot.session.machine.machine_invariants import check
from tests.bot.session.machine.machine_simulation import ENDS, QUESTION, World
from tests.bot.session.machine.session_builders import call
from tools.call_outcome import CallOutcome
from tools.proposed_call_checks import ReviewedCall

Pick = Callable[[Sequence[Any]], Any]
Move = Callable[[World, Pick], None]
PEOPLE = ("UANN", "UBOB", "UCAT")


def happen(world: World, event: Event) -> None:
    """One transaction: count what it reached, feed it, check every invariant."""
    counts, open_approvals = world.counts, len(world.ledger.approvals)
    counts["events"] += 1
    counts["events with two open approvals"] += open_approvals >= 2
    fits, turn = world.fits(event), world.session.turn
    counts["late or doubled events"] += not fits
    if isinstance(event, Stopped) and fits:
        _count_stop(world, event, open_approvals)
    unknown = sum(k == "unknown" for k in world.ledger.approvals.values())
    effects = world.feed(event)
    check(world)
    if isinstance(event, Resumed):
        asked = sum(k == "unknown" for k in world.ledger.approvals.values())
        counts["resumes with unknown calls"] += asked > 0
        counts["resumes that made calls unknown"] += asked > unknown
    if isinstance(event, Stopped) and fits and event.turn == turn and not at_rest(world.session):
        assert any(isinstance(e, OpenTurn | ResumeTurn) for e in effects), "a stopped session rests"


def _count_stop(world: World, event: Stopped, open_approvals: int) -> None:
    world.counts["stops at work"] += world.period is not None
    world.counts["stops while parked"] += world.parked
    world.counts["stops with two open approvals"] += open_approvals >= 2
    world.counts["closings"] += event.closing


def arrive(world: World) -> None:
    """The inbox moved: its transaction is fed at once, and does nothing unless it fits."""
    world.counts["events"] += 1
    world.counts["events with two open approvals"] += len(world.ledger.approvals) >= 2
    world.take_inbox()
    check(world)


def say(world: World, pick: Pick) -> None:
    """One to three messages, some of them context only, some with an older ts than what waits."""
    for _ in range(pick((1, 1, 2, 3))):
        put(world, pick(PEOPLE), pick((True, True, False)), late=pick((0, 0, 0, 3)))
    arrive(world)


def edit(world: World, pick: Pick) -> None:
    """An edit of the message being answered arrives as the requester's words."""
    put(world, world.session.requester, True, edited=True)
    world.counts["edits arriving as WaitingMessage"] += 1
    arrive(world)


def put(world: World, user: str, opens: bool, late: int = 0, edited: bool = False) -> None:
    world.clock += 1
    place = max(0.5, world.clock - late - 0.5) if late else world.clock
    number = world.inbox.next_id()
    content = {"text": f"words {number}", "user": user, "edited": edited}
    world.inbox.put(place, WaitingMessage(number, user, f"ts{number}", content, opens))


def reply(world: World, pick: Pick) -> None:
    """The outstanding request's reply."""
    _reply(world, pick, world.request)


def reply_late(world: World, pick: Pick) -> None:
    """A reply to a request of the past, or to none."""
    _reply(world, pick, pick([*world.old_requests[-3:], (0, 0)]))


def _reply(world: World, pick: Pick, request: tuple[int, int]) -> None:
    turn, step = request
    number = pick((0, 1, 2, 3))
    calls = tuple(propose(f"call_{turn}_{step}_{n}_{world.counts['events']}", pick) for n in range(number))
    happen(world, Replied(turn, step, f"reply {step}", calls))


def fail(world: World, pick: Pick) -> None:
    """A request comes to nothing: the outstanding one, or one of the past."""
    turn, step = pick([*[world.request] * 4, *world.old_requests[-2:]] if world.request else world.old_requests[-2:])
    happen(world, ModelFailed(turn, step, "model_unreachable", pick(("", "Half a sen"))))


def propose(name: str, pick: Pick) -> Proposed:
    decision, refusal = pick(
        (
            ("allow", None),
            ("allow", None),
            ("ask", None),
            ("ask", None),
            ("deny", None),
            ("deny", "no such tool"),
            ("ask", "bad arguments"),
        )
    )
    rule = ApprovalRule() if decision == "ask" else None
    repeatable = pick((True, False))
    effect = "read" if repeatable else "write"
    return Proposed(name, ReviewedCall("p", "tool", {}, "h", effect, decision, repeatable, refusal=refusal, rule=rule))


def finish_tool(world: World, pick: Pick) -> None:
    """An attempt that runs ends, in any of the ways."""
    name, attempt = pick(sorted(world.running))
    happen(world, ToolFinished(name, attempt, outcome(pick(sorted(ENDS)))))


def finish_late(world: World, pick: Pick) -> None:
    """An attempt that was given up ends after all, or one ends in a state that is no end."""
    if world.lost_attempts:
        name, attempt = pick(world.lost_attempts[-4:])
        happen(world, ToolFinished(name, attempt, outcome(pick(sorted(CallState)))))
    else:
        name, attempt = pick([*sorted(world.running), ("call_of_nobody", 1)])
        happen(world, ToolFinished(name, attempt, outcome(pick(sorted(set(CallState) - ENDS)))))


def outcome(state: CallState) -> CallOutcome:
    return CallOutcome(state, f"it {state}", None, None if state is CallState.SUCCEEDED else "why")


def decide(world: World, pick: Pick) -> None:
    """A person answers an open question, also with an answer that belongs to the other kind of question."""
    name = pick(sorted(world.ledger.approvals))
    verdicts = [*QUESTION[world.ledger.approvals[name]] * 2, *get_args(Verdict)]
    happen(world, Decided(name, pick(verdicts)))


def decide_late(world: World, pick: Pick) -> None:
    """A verdict on a settled question; one of an older question of the same kind fails its compare-and-set."""
    happen(world, Decided(pick(settled(world)), pick(get_args(Verdict))))


def settled(world: World) -> list[str]:
    return [name for name in world.settled[-6:] if name not in world.ledger.approvals]


def stop(world: World, pick: Pick) -> None:
    reason = pick(("stopped", "stopped", "deleted", "timed_out"))
    happen(world, Stopped(world.session.turn, pick(PEOPLE), reason, pick(("", "Half a sen"))))


def stop_late(world: World, pick: Pick) -> None:
    """A stop of a turn that is over, or that never was; a deleted question may have cards still."""
    old = [t for t in range(world.session.last_turn + 2) if t != world.session.turn]
    happen(world, Stopped(pick(old), pick(PEOPLE), pick(("stopped", "deleted"))))


def resume(world: World, pick: Pick) -> None:
    happen(world, Resumed(pick((1, 1, 2, 3, 4))))


def together(world: World, pick: Pick) -> None:
    """Several events in one transaction: the inbox is fed after the last of them."""
    world.opening = False
    for move in (pick((reply, finish_tool)), pick((decide, decide_late)), pick((decide, finish_tool, stop))):
        if MOVES[move](world):
            move(world, pick)
    world.opening = True
    arrive(world)


def shut_down(world: World, pick: Pick) -> None:
    """The process lets steps end without opening another; the next process takes over."""
    world.opening = False
    for move in (pick((reply, fail)), finish_tool, decide, finish_tool):
        if MOVES[move](world):
            move(world, pick)
    world.opening = True
    resume(world, pick)


def close(world: World, pick: Pick) -> None:
    happen(world, Stopped(world.session.turn, pick(PEOPLE), closing=True))


def begin(world: World, beginning: str) -> None:
    """Bring a fresh world to where short stories are worth telling."""
    if beginning == "fresh":
        return
    put(world, "UANN", True)
    arrive(world)
    decision = "allow" if beginning == "lost" else "ask"
    happen(world, Replied(1, 1, "", (call("first", decision), call("second", decision))))
    if beginning == "lost":
        for name in ("first", "second"):
            happen(world, ToolFinished(name, 1, outcome(CallState.UNKNOWN)))
    if beginning == "gone on":
        put(world, "UBOB", True)
        arrive(world)
        happen(world, Replied(2, 2, "Hi Bob"))


BEGINNINGS = ("fresh", "two cards", "lost", "gone on")
# Each move with what makes it possible.
MOVES: dict[Move, Callable[[World], bool]] = {
    say: lambda w: True,
    edit: lambda w: bool(w.turns),
    reply: lambda w: bool(w.request),
    reply_late: lambda w: bool(w.old_requests),
    fail: lambda w: bool(w.request or w.old_requests),
    finish_tool: lambda w: bool(w.running),
    finish_late: lambda w: bool(w.lost_attempts or w.running),
    decide: lambda w: bool(w.ledger.approvals),
    decide_late: lambda w: bool(settled(w)),
    stop: lambda w: bool(w.turns),
    stop_late: lambda w: bool(w.turns),
    resume: lambda w: True,
    together: lambda w: True,
    shut_down: lambda w: True,
    close: lambda w: w.newest_step > 12,
}
# How often what happens, in MOVES' order: a busy thread; one that waits for people; one full of accidents.
TEMPERS = (
    (22, 4, 40, 4, 3, 28, 5, 22, 4, 3, 3, 4, 3, 1, 0.1),
    (4, 1, 40, 2, 1, 40, 3, 9, 3, 3, 2, 2, 3, 1, 0.1),
    (7, 2, 36, 5, 4, 15, 9, 12, 6, 7, 5, 9, 4, 2, 0.3),
)
