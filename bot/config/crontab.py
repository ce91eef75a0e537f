"""crontab(5) expressions: read strictly, and when they are due. Pure.

`minute hour day-of-month month day-of-week`, with `*`, lists, ranges, steps and English names; Sunday is 0 or 7. When
both day fields are restricted (do not begin with `*`), a day that fits either is due, as crontab(5) says.

Each time on the clock is due once: an hour that is repeated when summer time ends counts once, at its first passing,
and a time that is skipped when summer time begins is due that much later by the new clock.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SPAN = 366 * 9  # days: 29 February may be eight years away
_ITEM = re.compile(r"(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:/(\d{1,4}))?")


def zone_of(name: str) -> tzinfo:
    """Return a time zone. Raises ValueError for a name that nobody knows."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a time zone; write a name such as Europe/Berlin") from None


@dataclass(frozen=True, slots=True)
class Crontab:
    """A schedule. `weekdays` count from Sunday = 0. `either`: a fitting day of month or of week is enough."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    either: bool = False

    def on(self, day: date) -> bool:
        """Tell whether a day fits."""
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (by_month or by_week if self.either else by_month and by_week)

    def last(self, now: float, zone: tzinfo) -> float | None:
        """Return when it was due last, up to and including `now`, in seconds since 1970; None: not in nine years."""
        today = datetime.fromtimestamp(now, zone).date()
        for back in range(-1, _SPAN):
            passed = [due for due in self._dues(today - timedelta(days=back), zone) if due <= now]
            if passed:
                return max(passed)
        return None

    def following(self, now: float, zone: tzinfo) -> float | None:
        """Return when it is due next after `now`; None: not in nine years."""
        today = datetime.fromtimestamp(now, zone).date()
        for ahead in range(-1, _SPAN):
            coming = [due for due in self._dues(today + timedelta(days=ahead), zone) if due > now]
            if coming:
                return min(coming)
        return None

    def _dues(self, day: date, zone: tzinfo) -> Iterator[float]:
        if self.on(day):
            for hour in self.hours:
                for minute in self.minutes:
                    yield datetime.combine(day, time(hour, minute), zone).timestamp()


def parse(expression: str) -> Crontab:
    """Read an expression. Raises ValueError with the field, what is wrong and what would be right."""
    parts = expression.lower().split()
    if len(parts) != len(FIELDS):
        raise ValueError(
            f"{expression!r} has {len(parts)} fields instead of 5: minute hour day-of-month month day-of-week"
        )
    values = [_field(part, *field) for part, field in zip(parts, FIELDS, strict=True)]
    weekdays = tuple(sorted({day % 7 for day in values[4]}))
    either = not parts[2].startswith("*") and not parts[4].startswith("*")
    days, months = values[2], values[3]
    if not either and not any(day <= _LONGEST[month - 1] for day in days for month in months):
        raise ValueError(f"{expression!r} is never due: no such day is in such a month")
    return Crontab(values[0], values[1], days, months, weekdays, either)


def _field(text: str, name: str, low: int, high: int) -> tuple[int, ...]:
    found: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None or (match[1] == "*" and match[2]):
            raise ValueError(f"{name}: {item!r} is not a number, name, range or step")
        first, last = _ends(match, name, low, high)
        if first > last:
            raise ValueError(f"{name}: the range {item!r} runs backwards")
        step = int(match[3] or 1)
        if step == 0:
            raise ValueError(f"{name}: the step of {item!r} is 0")
        found.update(range(first, last + 1, step))
    return tuple(sorted(found))


def _ends(match: re.Match[str], name: str, low: int, high: int) -> tuple[int, int]:
    if match[1] == "*":
        return low, high
    first = _value(match[1], name, low, high)
    if match[2]:
        last = _value(match[2], name, low, high)
        return first, 7 if name == "day of week" and match[2] == "sun" and first > 0 else last
    if match[3]:
        raise ValueError(f"{name}: a step needs a range or *, as in {match[1]}-{high}/{match[3]}")
    return first, first


def _value(text: str, name: str, low: int, high: int) -> int:
    names = {"month": MONTHS, "day of week": WEEKDAYS}.get(name, ())
    if text in names:
        return names.index(text) + low
    if not text.isdecimal() or not low <= int(text) <= high:
        known = f" or {names[0]}-{names[-1]}" if names else ""
        raise ValueError(f"{name}: {text!r} is not within {low}-{high}{known}")
    return int(text)
