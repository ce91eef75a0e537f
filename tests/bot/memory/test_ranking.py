"""Scores and choices: bonuses are bounded, and the choice is limited and above the threshold."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.memory import ranking
from storage.records import Memory
from tests.bot.memory.memory_strategies import memory
from tests.storage.stores import NOW


@given(memory, memory, st.floats(0.5, 1), st.floats(0.5, 1))
def test_bonuses_never_rank_an_unmatched_memory_above_a_good_match(
    found: Memory, other: Memory, strength: float, share: float
) -> None:
    missed = ranking.score(other, NOW)
    assert ranking.score(found, NOW, strength=strength, coverage=share) > missed


@given(memory)
def test_age_lowers_the_score_by_at_most_the_recency_bonus(old: Memory) -> None:
    young = replace(old, created=NOW, updated=NOW)
    lost = ranking.score(young, NOW, strength=1, coverage=1) - ranking.score(old, NOW, strength=1, coverage=1)
    assert 0 <= lost <= ranking.RECENCY_BONUS + 1e-9


@given(st.lists(st.tuples(memory, st.floats(0, 2), st.booleans()), max_size=12), st.integers(0, 6))
def test_the_choice_is_bounded_and_above_the_threshold(scored: list[tuple[Memory, float, bool]], limit: int) -> None:
    scored = [(replace(m, id=i), value, asked) for i, (m, value, asked) in enumerate(scored)]
    chosen = ranking.choose(scored, limit)
    values = {m.id: (value, asked) for m, value, asked in scored}
    assert len(chosen) <= limit
    assert all(values[m.id][0] >= ranking.THRESHOLD for m in chosen)
    assert sum(not values[m.id][1] for m in chosen) <= ranking.MAX_STANDING
