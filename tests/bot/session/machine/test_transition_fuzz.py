"""The machine against its invariants: seeded worlds for reach, hypothesis for the short counterexample."""

import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from bot.session.machine.state_table import ROWS
from tests.bot.session.machine import random_events
from tests.bot.session.machine.machine_simulation import World

# What the seeded worlds must reach at least, all of them together.
REACH = {
    "events": 50_000,
    "events with two open approvals": 8_000,
    "late or doubled events": 10_000,
    "stops at work": 1_500,
    "stops while parked": 300,
    "stops with two open approvals": 400,
    "edits arriving as WaitingMessage": 1_500,
    "messages joined as steering": 1_200,
    "turns opened while a step was parked": 2_000,
    "turns continued by an outcome": 400,
    "resumes with unknown calls": 700,
    "resumes that made calls unknown": 200,
    "loud outcomes": 1_200,
    "quiet outcomes": 1_200,
    "closings": 60,
}


def play(seed: int, events: int, counts: Counter[str]) -> World:
    """Play one world; every event is followed by every check."""
    generator = random.Random(seed)
    world = World(counts)
    weights = dict(zip(random_events.MOVES, random_events.TEMPERS[seed % 3], strict=True))
    for _ in range(events):
        possible = {move: weights[move] for move, may in random_events.MOVES.items() if may(world)}
        [move] = generator.choices(list(possible), list(possible.values()))
        move(world, generator.choice)
    return world


def show(title: str, counts: Counter[str]) -> None:
    lines = [f"{counts[name]:>8}  {name}" for name in REACH]
    sys.stdout.write("\n".join(["", f"{title}:", *lines, ""]))


def test_seeded_worlds_keep_every_invariant_and_reach_every_corner() -> None:
    counts: Counter[str] = Counter()
    for seed in range(500):
        try:
            play(seed, 150, counts)
        except AssertionError as broken:
            broken.add_note(f"seed {seed}")
            raise
    show("seeded worlds", counts)
    assert not {name: counts[name] for name, least in REACH.items() if counts[name] < least}
    assert [row for n, row in enumerate(ROWS) if not counts[f"row {n}"]] == [], "rows that nothing reaches"


def drawn(move: random_events.Move) -> Callable[..., None]:
    """Return the rule that makes this move, when it is possible, with hypothesis's choices."""

    def happens(self: "PlayedWorld", data: st.DataObject) -> None:
        move(self.world, lambda options: data.draw(st.sampled_from(list(options))))

    happens.__name__ = move.__name__
    may = random_events.MOVES[move]
    return precondition(lambda self: may(self.world))(rule(data=st.data())(happens))


class PlayedWorld(RuleBasedStateMachine):
    """The same world, driven and shrunk by hypothesis."""

    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.counts)

    @initialize(beginning=st.sampled_from(random_events.BEGINNINGS))
    def begin(self, beginning: str) -> None:
        random_events.begin(self.world, beginning)

    say, edit, resume = drawn(random_events.say), drawn(random_events.edit), drawn(random_events.resume)
    together, shut_down = drawn(random_events.together), drawn(random_events.shut_down)
    reply, reply_late, fail = drawn(random_events.reply), drawn(random_events.reply_late), drawn(random_events.fail)
    finish_tool, finish_late = drawn(random_events.finish_tool), drawn(random_events.finish_late)
    decide, decide_late = drawn(random_events.decide), drawn(random_events.decide_late)
    stop, stop_late, close = drawn(random_events.stop), drawn(random_events.stop_late), drawn(random_events.close)


def test_no_short_story_breaks_an_invariant() -> None:
    few = settings(
        derandomize=True,
        max_examples=80,
        stateful_step_count=50,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    PlayedWorld.counts.clear()
    run_state_machine_as_test(PlayedWorld, settings=few)
    show("hypothesis", PlayedWorld.counts)
    # The seeded worlds prove the reach; here it is enough that short stories are not all about nothing.
    reached = (
        "events with two open approvals",
        "late or doubled events",
        "stops at work",
        "resumes with unknown calls",
    )
    assert all(PlayedWorld.counts[name] > 10 for name in reached)
