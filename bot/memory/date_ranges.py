"""Finds times in a question ("5月2号", "last Tuesday", "上周", "2 days ago") as ranges of seconds since 1970.

Memories from these times rank higher and no memory is excluded, so a wrong guess costs little. A day and month without
a year mean this year's and last year's.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

Days = tuple[date, date]  # first day, day after the last

MAX_TEXT = 4000
MAX_RANGES = 4

_MONTHS = {m: i for i, m in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), start=1)}
_WEEKDAYS = {d: i for i, d in enumerate(re.findall("...", "montuewedthufrisatsun"))}
_ZH_WEEKDAYS = {d: i for i, d in enumerate("一二三四五六日")} | {"天": 6}
_ZH_NUMBERS = {d: i for i, d in enumerate("一二三四五六七八九十", start=1)} | {"两": 2}
_MONTH = (
    r"(?P<m>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_WEEKDAY = r"(mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?\b"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_MAYBE_YEAR = r"\b(?:,? (?P<y>\d{4}))?"
_NUMBER = r"(\d{1,3}|[一二两三四五六七八九十])"


def ranges(question: str, now: float, timezone: str) -> tuple[tuple[float, float], ...]:
    """Return the times in a question as [start, end) in seconds, at most MAX_RANGES."""
    here = zone(timezone)
    today = datetime.fromtimestamp(now, here).date()
    found: dict[Days, None] = {}
    for pattern, read in _READERS:
        for hit in pattern.finditer(question[:MAX_TEXT].lower()):
            try:
                found.update(dict.fromkeys(read(hit, today)))
            except (ValueError, OverflowError):  # 31 February, or a year out of range
                continue
    return tuple((_at(start, here), _at(end, here)) for start, end in tuple(found)[:MAX_RANGES])


def zone(timezone: str) -> tzinfo:
    """Return the time zone of this name, or UTC for an unknown name."""
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _at(day: date, here: tzinfo) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=here).timestamp()


def _day(day: date) -> Days:
    return day, day + timedelta(days=1)


def _either_year(month: int | str, day: str, today: date, year: str | None = None) -> list[Days]:
    years, m, d = [int(year)] if year else [today.year, today.year - 1], int(month), int(day)
    return [_day(date(y, m, d)) for y in years if (m, d) != (2, 29) or y % 4 == 0]


def _english_date(hit: re.Match[str], today: date) -> list[Days]:
    return _either_year(_MONTHS[hit["m"][:3]], hit["d"], today, hit["y"])


def _number(hit: re.Match[str]) -> int:
    digits: str = hit[1] or hit[2]
    return int(digits) if digits.isdecimal() else _ZH_NUMBERS[digits]


def _back(today: date, days: int) -> list[Days]:
    return [_day(today - timedelta(days=days))]


def _week(today: date, back: int) -> Days:
    monday = today - timedelta(days=today.weekday() + 7 * back)
    return monday, monday + timedelta(days=7)


def _month(today: date, back: int) -> Days:
    index = today.year * 12 + today.month - 1 - back
    return date(index // 12, index % 12 + 1, 1), date((index + 1) // 12, (index + 1) % 12 + 1, 1)


def _year(today: date, back: int) -> Days:
    return date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1)


def _english_weekday(hit: re.Match[str], today: date) -> list[Days]:
    """Return the latest such day before today; "last Tuesday" can also mean the one of last week."""
    recent = today - timedelta(days=(today.weekday() - _WEEKDAYS[hit[2][:3]] - 1) % 7 + 1)
    both = hit[1] == "last" and recent >= _week(today, 0)[0]
    return [_day(recent), *(_back(recent, 7) if both else ())]


def _chinese_weekday(hit: re.Match[str], today: date) -> list[Days]:
    return [_day(_week(today, len(hit[1]))[0] + timedelta(days=_ZH_WEEKDAYS[hit[2][:3]]))]


_READERS: list[tuple[re.Pattern[str], Callable[[re.Match[str], date], list[Days]]]] = [
    (re.compile(pattern), read)
    for pattern, read in [
        (r"(?<!\d)(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})(?!\d)", lambda h, t: _either_year(h[2], h[3], t, h[1])),
        (r"(?<![\d年])(\d{1,2})月(\d{1,2})[日号]?(?!\d)", lambda h, t: _either_year(h[1], h[2], t)),
        (rf"\b{_MONTH} {_DAY}{_MAYBE_YEAR}", _english_date),
        (rf"\b{_DAY}(?: of)? {_MONTH}{_MAYBE_YEAR}", _english_date),
        (r"大前天", lambda _, t: _back(t, 3)),
        (r"(?<!大)前天|\bday before yesterday\b", lambda _, t: _back(t, 2)),
        (r"昨[天晚日]|\byesterday\b|\blast night\b", lambda _, t: _back(t, 1)),
        (r"今[天晚早日]|\btoday\b|\bthis morning\b", lambda _, t: _back(t, 0)),
        (rf"{_NUMBER}天[之以]?前|\b(\d{{1,3}}) days? ago\b", lambda h, t: _back(t, _number(h))),
        (rf"{_NUMBER}(?:个星期|周)[之以]?前|\b(\d{{1,3}}) weeks? ago\b", lambda h, t: [_week(t, _number(h))]),
        (r"(?<!上)(上{0,2})个?(?:周|星期|礼拜)([一二三四五六日天])", _chinese_weekday),
        (r"上上个?(?:周|星期|礼拜)(?![一二三四五六日天])", lambda _, t: [_week(t, 2)]),
        (r"(?<!上)上个?(?:周|星期|礼拜)(?![一二三四五六日天])|\blast week\b", lambda _, t: [_week(t, 1)]),
        (r"[这本]个?(?:周|星期|礼拜)(?![一二三四五六日天])|\bthis week\b", lambda _, t: [_week(t, 0)]),
        (r"上个?月|\blast month\b", lambda _, t: [_month(t, 1)]),
        (r"[这本]个?月|\bthis month\b", lambda _, t: [_month(t, 0)]),
        (r"去年|\blast year\b", lambda _, t: [_year(t, 1)]),
        (r"今年|\bthis year\b", lambda _, t: [_year(t, 0)]),
        (rf"\b(last|on|this) {_WEEKDAY}", _english_weekday),
    ]
]  # fmt: skip
