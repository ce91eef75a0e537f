"""Cron expressions follow crontab(5), compared with a clock that is stepped minute by minute."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.config import crontab
from bot.jobs.scheduler import CrontabTrigger

BERLIN = ZoneInfo("Europe/Berlin")
NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


def at(*parts: int, zone: object = UTC) -> float:
    return datetime(*parts, tzinfo=zone).timestamp()  # type: ignore[arg-type,misc]


def stepped(expression: str, start: datetime, minutes: int) -> list[datetime]:
    """Compute from the text when an expression of plain numbers and stars is due."""
    minute, hour, day, month, week = expression.split()

    def fits(field: str, *values: int) -> bool:
        return field == "*" or any(str(v) in field.split(",") for v in values)

    found = []
    for n in range(minutes):
        now = start + timedelta(minutes=n)
        sunday = now.isoweekday() % 7
        by_day, by_week = fits(day, now.day), fits(week, sunday, 7 if sunday == 0 else sunday)
        both = by_day or by_week if day != "*" and week != "*" else by_day and by_week
        if fits(minute, now.minute) and fits(hour, now.hour) and fits(month, now.month) and both:
            found.append(now)
    return found


def field(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.lists(st.integers(low, high), min_size=1, max_size=3)
    return st.one_of(st.just("*"), numbers.map(lambda ns: ",".join(map(str, ns))))


EXPRESSION = st.tuples(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7)).map(" ".join)


def fires(due: CrontabTrigger, start: datetime, count: int) -> list[datetime]:
    """Ask APScheduler for the next fire times after `start`."""
    found: list[datetime] = []
    previous, now = None, start + timedelta(microseconds=1)
    while len(found) < count and (following := due.get_next_fire_time(previous, now)) is not None:
        found.append(following)
        previous, now = following, following.astimezone(UTC) + timedelta(microseconds=1)
    return found


@settings(max_examples=60, deadline=None)
@given(EXPRESSION, st.integers(0, 3_000_000))
def test_due_times_agree_with_a_stepped_clock_and_with_apscheduler(expression: str, minute: int) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    schedule = crontab.parse(expression)
    by_hand = stepped(expression, start, 3 * 1440)
    assume(by_hand)
    ours, now = [], start.timestamp() - 1
    for _ in by_hand[:20]:
        now = schedule.following(now) or 0.0
        ours.append(datetime.fromtimestamp(now, UTC))
    assert ours == by_hand[:20]
    assert fires(CrontabTrigger(schedule), start - timedelta(seconds=1), len(ours)) == ours
    for before, due in pairwise(ours):
        assert schedule.last(due.timestamp() - 1) == before.timestamp()
        assert schedule.last(due.timestamp()) == due.timestamp()


@pytest.mark.parametrize(
    ("number", "weekday"), [(0, 6), (1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (7, 6)]
)  # Python's Monday is 0
def test_a_weekday_number_counts_from_sunday(number: int, weekday: int) -> None:
    for text in (str(number), NAMES[number % 7], NAMES[number % 7].upper()):
        schedule = crontab.parse(f"0 9 * * {text}")
        due = schedule.following(at(2026, 11, 25))
        assert datetime.fromtimestamp(due or 0, UTC).weekday() == weekday
        fired = fires(CrontabTrigger(schedule), datetime(2026, 11, 25, tzinfo=UTC), 1)
        assert fired[0].timestamp() == due


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("mon-fri", "1-5"),
        ("5-7", "0,5,6"),
        ("fri-sun", "0,5,6"),
        ("0-7", "*"),
        ("*/2", "0,2,4,6"),
        ("0,7", "0"),
        ("1-5/2", "1,3,5"),
        ("SUN,3", "0,3"),
    ],
)
def test_sunday_is_0_and_7_in_lists_ranges_and_steps(written: str, same: str) -> None:
    now, one, other = at(2026, 11, 25), crontab.parse(f"0 9 * * {written}"), crontab.parse(f"0 9 * * {same}")
    for _ in range(8):
        due = one.following(now)
        assert due == other.following(now)
        now = due or 0.0


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("", "has 0 fields; write five: minute"),
        ("0 3 * *", "has 4 fields"),
        ("@daily", "has 1 fields"),
        ("0 3 * * * *", "has 6 fields"),
        ("60 3 * * *", "'60 3 * * *' has a minute that .* cannot be read; write minute (0-59), hour (0-23)"),
        ("0 24 * * *", "has a hour"),
        ("0 3 0 * *", "has a day-of-month"),
        ("0 3 * 13 *", "has a month"),
        ("0 3 * * 8", "has a day-of-week"),
        ("0 0 31 2 *", "has a day-of-month that is never due"),
        (f"{'1' * 5000} 3 * * *", "has a number"),
    ],
)
def test_an_impossible_expression_is_refused_with_field_and_remedy(expression: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint).replace(r"\.\*", ".*")):
        crontab.parse(expression)


@settings(deadline=None)
@given(st.text(max_size=40) | st.text(alphabet="0123456789*,-/ sunmolw#", max_size=30))
def test_any_text_is_accepted_or_refused_with_one_error(text: str) -> None:
    with suppress(ValueError):
        crontab.parse(text).following(0.0)


def test_leap_days_and_combined_day_fields_are_due() -> None:
    assert crontab.parse("0 0 29 2 *").following(at(2096, 3, 1)) == at(2104, 2, 29)
    assert crontab.parse("0 0 29 2 *").last(at(2027, 1, 1)) == at(2024, 2, 29)
    assert crontab.parse("0 0 31 2 1").following(at(2026, 11, 29)) == at(2027, 2, 1)


def test_a_repeated_hour_counts_once_and_a_skipped_time_is_due_by_the_new_clock() -> None:
    schedule = crontab.parse("30 2 * * *", BERLIN)
    first, second = at(2026, 10, 25, 0, 30), at(2026, 10, 25, 1, 30)  # 02:30 summer time, then 02:30 winter time
    assert schedule.last(first) == first
    assert schedule.last(second) == first
    assert schedule.following(first) == at(2026, 10, 26, 1, 30)
    assert schedule.following(at(2026, 3, 28, 12)) == at(2026, 3, 29, 1, 30)  # 03:30 summer time
    timer = fires(CrontabTrigger(schedule), datetime(2026, 10, 24, 12, tzinfo=UTC), 3)
    assert [fired.timestamp() for fired in timer] == [first, at(2026, 10, 26, 1, 30), at(2026, 10, 27, 1, 30)]
