"""crontab(5) expressions, and when they are due in a time zone.

When daylight saving time ends, a repeated time is due once, the first time. When it begins, a skipped time is due one
clock change later: 02:30 becomes 03:30.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

FIELDS = "minute (0-59), hour (0-23), day of month (1-31), month (1-12), day of week (0-7, Sunday is 0 and 7)"
_SUNDAY_LAST = re.compile(r"(?<!sun)(?<!0)-sun\b", re.IGNORECASE)  # cronsim counts SUN as 0 only
_CLOCK_CHANGE = timedelta(hours=3)  # more than any clock is set forward or back


@dataclass(frozen=True, slots=True)
class Crontab:
    """A schedule in a time zone. Create it with `parse`."""

    expression: str
    zone: tzinfo

    def last(self, now: float) -> float | None:
        """Return the last due time up to and including `now`, in seconds since 1970, or None."""
        return next((due for due in self._dues(now, reverse=True) if due <= now), None)

    def following(self, now: float) -> float | None:
        """Return the next due time after `now`, in seconds since 1970, or None."""
        return next((due for due in self._dues(now, reverse=False) if due > now), None)

    def _dues(self, now: float, *, reverse: bool) -> Iterator[float]:
        # cronsim gets local times without a zone, because it moves a skipped time to the end of the gap (03:00).
        local = datetime.fromtimestamp(now, self.zone).replace(tzinfo=None)
        start = local + (_CLOCK_CHANGE if reverse else -_CLOCK_CHANGE)
        for due in CronSim(self.expression, start, reverse):
            yield due.replace(tzinfo=self.zone).timestamp()


def parse(expression: str, zone: tzinfo = UTC) -> Crontab:
    """Return a schedule. Raise ValueError with what is wrong and how to write it."""
    count = len(expression.split())
    if count != 5:
        raise ValueError(f"{expression!r} has {count} fields; write five: {FIELDS}")
    written = _SUNDAY_LAST.sub("-7", expression)
    try:
        CronSim(written, datetime(2000, 1, 1))  # noqa: DTZ001 (only parsed)
    except (CronSimError, ValueError) as error:  # ValueError: thousands of digits
        field = str(error).removeprefix("Bad ") if isinstance(error, CronSimError) else "number"
        raise ValueError(f"{expression!r} has a {field} that is never due or cannot be read; write {FIELDS}") from None
    return Crontab(written, zone)


def zone_of(name: str) -> tzinfo:
    """Return a time zone. Raise ValueError for an unknown name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a time zone; write a name such as Europe/Berlin") from None
