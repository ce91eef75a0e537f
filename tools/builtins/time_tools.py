"""The time tool: date and time in any time zone."""

import asyncio
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field

from tools.text_cleanup import brief
from tools.tool_context import ToolContext
from tools.tool_decorator import tool
from tools.tool_definition import ToolError


@tool(effect="read", summary=("Shows the date and time in any time zone.", "查询任意时区的日期和时间。"))
async def current_time(context: ToolContext, timezone: Annotated[str, Field(max_length=64)] = "") -> dict[str, Any]:
    """Return the current date and time, in the person's time zone or in another one.

    timezone: an IANA name such as Europe/Berlin, or a city; empty for the person's time zone
    """
    wanted = timezone.strip()
    name = wanted or context.person.timezone
    zone = _exact(name)
    if zone is None:
        found = await asyncio.to_thread(_by_city, name)
        if len(found) > 1:
            raise ToolError(
                "ambiguous", f"{brief(name)} can mean {', '.join(found[:10])}.", suggestion="Choose one of them."
            )
        zone = ZoneInfo(found[0]) if found else None
    note = ""
    if zone is None:
        if wanted:
            raise ToolError(
                "unknown_timezone",
                f"{brief(wanted)} is not a known time zone.",
                suggestion="Give an IANA name such as Europe/Berlin or America/New_York, or UTC.",
            )
        zone, note = UTC, "the person's time zone is not known; this is UTC"
    moment = datetime.fromtimestamp(context.now(), zone)
    result = {
        "timezone": getattr(zone, "key", "UTC"),
        "time": moment.isoformat(timespec="seconds"),
        "weekday": moment.strftime("%A"),
        "abbreviation": moment.strftime("%Z"),
    }
    return {**result, "note": note} if note else result


def _exact(name: str) -> tzinfo | None:
    """Return the zone with exactly this name, or None. UTC needs no time zone data on the machine."""
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # ValueError: ../x; OSError: a folder
        return None


def _by_city(name: str) -> list[str]:
    """Return the zones whose last part is this city, or whose name differs only in case."""
    plain = name.casefold().replace(" ", "_")
    if not plain:
        return []
    return sorted(zone for key, zone in _zones() if plain in (key, key.rpartition("/")[2]))


@cache
def _zones() -> tuple[tuple[str, str], ...]:
    """Return (lower-case name, name) of each zone with a continent or ocean; cached, because it reads the disk."""
    skipped = ("Etc/", "SystemV/", "US/", "Canada/", "Brazil/", "Chile/", "Mexico/", "posix/", "right/")
    return tuple(
        (zone.casefold(), zone) for zone in available_timezones() if "/" in zone and not zone.startswith(skipped)
    )
