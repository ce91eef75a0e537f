"""Hypothesis strategies: every kind of place and audience, and memories of any type and age."""

import itertools

from hypothesis import strategies as st

from bot.memory.audience import WORKSPACE, audience_of
from storage.records import Place
from tests.storage.stores import DAY, NOW, note

PLACES = [
    Place("T1", channel, kind, shared)
    for kind, channel, shared in itertools.product(["im", "mpim", "private", "public"], ["C1", "C2"], [False, True])
]
place = st.sampled_from(PLACES)
audience = st.sampled_from([audience_of(p) for p in PLACES] + [WORKSPACE])
memory = st.builds(
    note,
    st.just("x"),
    audience=audience,
    type=st.sampled_from(["identity", "preference", "fact", "goal", "event", "instruction"]),
    importance=st.floats(0, 1),
    hits=st.integers(0, 10**6),
    created=st.floats(NOW - 4000 * DAY, NOW),
    updated=st.floats(NOW - 4000 * DAY, NOW),
    last_used=st.none() | st.floats(NOW - 4000 * DAY, NOW),
    valid_until=st.none() | st.floats(NOW - DAY, NOW + DAY),
)
