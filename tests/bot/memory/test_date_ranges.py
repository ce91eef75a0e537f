"""Times in questions become ranges of days in the asker's time zone."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory import date_ranges

NOW = datetime(2026, 5, 14, 1, 30, tzinfo=UTC).timestamp()  # a Thursday


def days(question: str, timezone: str = "UTC") -> list[tuple[str, str]]:
    zone = ZoneInfo(timezone)

    def day(seconds: float) -> str:
        return datetime.fromtimestamp(seconds, zone).isoformat()[:16].removesuffix("T00:00")

    return [(day(start), day(end)) for start, end in date_ranges.ranges(question, NOW, timezone)]


def one(start: str, end: str) -> list[tuple[str, str]]:
    return [(start, end)]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("what did I say on 2026-03-05?", one("2026-03-05", "2026-03-06")),
        ("2025年12月31日发生了什么", one("2025-12-31", "2026-01-01")),
        ("在5月2号我们聊了什么", [("2026-05-02", "2026-05-03"), ("2025-05-02", "2025-05-03")]),
        ("May 2nd, 2024", one("2024-05-02", "2024-05-03")),
        ("the 2nd of May", [("2026-05-02", "2026-05-03"), ("2025-05-02", "2025-05-03")]),
        ("september 9", [("2026-09-09", "2026-09-10"), ("2025-09-09", "2025-09-10")]),
        ("我昨天说了什么", one("2026-05-13", "2026-05-14")),
        ("前天", one("2026-05-12", "2026-05-13")),
        ("大前天", one("2026-05-11", "2026-05-12")),
        ("yesterday evening", one("2026-05-13", "2026-05-14")),
        ("the day before yesterday", [("2026-05-12", "2026-05-13"), ("2026-05-13", "2026-05-14")]),
        ("what happened today", one("2026-05-14", "2026-05-15")),
        ("last week", one("2026-05-04", "2026-05-11")),
        ("上周我去了哪里", one("2026-05-04", "2026-05-11")),
        ("上上周", one("2026-04-27", "2026-05-04")),
        ("上周二", one("2026-05-05", "2026-05-06")),
        ("上个星期天", one("2026-05-10", "2026-05-11")),
        ("周三的会议", one("2026-05-13", "2026-05-14")),
        ("last month", one("2026-04-01", "2026-05-01")),
        ("去年", one("2025-01-01", "2026-01-01")),
        ("this year", one("2026-01-01", "2027-01-01")),
        ("on Friday", one("2026-05-08", "2026-05-09")),
        ("last Tuesday", [("2026-05-12", "2026-05-13"), ("2026-05-05", "2026-05-06")]),
        ("last friday", one("2026-05-08", "2026-05-09")),
        ("3 days ago", one("2026-05-11", "2026-05-12")),
        ("两天前", one("2026-05-12", "2026-05-13")),
        ("两周前", one("2026-04-27", "2026-05-04")),
        ("version 1.2.3 of 31月2号 and February 31", []),
        ("may I ask, on what may it depend", []),
        ("the mayor decided 5 things last months on Sundance", []),
        ("29 February", []),
    ],
)
def test_a_named_time_is_understood(question: str, wanted: list[tuple[str, str]]) -> None:
    assert days(question) == wanted


def test_a_day_is_a_day_in_the_askers_time_zone() -> None:
    assert days("yesterday", "America/New_York") == one("2026-05-12", "2026-05-13")
    assert days("昨天", "Asia/Shanghai") == one("2026-05-13", "2026-05-14")


@given(
    st.one_of(
        st.text(max_size=80),
        st.text(alphabet="0123456789年月日号-/.上个周星期三天前 mayst,of ago days", max_size=60),
    ),
    st.floats(0, 4e9),
    st.text(max_size=20),
)
def test_any_text_and_any_time_zone_is_accepted(text: str, now: float, timezone: str) -> None:
    for start, end in date_ranges.ranges(text, now, timezone):
        assert 3000 < end - start < 400 * 86400
