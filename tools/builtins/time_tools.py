"""The clock for the model."""

import asyncio
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field

from tools.context import ToolContext
from tools.text_cleanup import brief
from tools.tool_definition import ToolError, tool


@tool(effect="read", summary=("Tells date and time in any time zone.", "查询任意时区的日期和时间。"))
async def current_time(context: ToolContext, timezone: Annotated[str, Field(max_length=64)] = "") -> dict[str, Any]:
    """Tell the current date and time, in the person's time zone or in another one.

    timezone: an IANA name such as Europe/Berlin, or its city; empty for the zone of the person who asks
    """
    wanted = timezone.strip()
    name = wanted or context.person.timezone
    zone = _exact(name)
    if zone is None:
        found = await asyncio.to_thread(_by_city, name)
        if len(found) > 1:
            raise ToolError("ambiguous", f"{brief(name)} may be {', '.join(found[:10])}.", suggestion="Say which one.")
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
    told = {
        "timezone": getattr(zone, "key", "UTC"),
        "time": moment.isoformat(timespec="seconds"),
        "weekday": moment.strftime("%A"),
        "abbreviation": moment.strftime("%Z"),
    }
    return {**told, "note": note} if note else told


def _exact(name: str) -> tzinfo | None:
    """Return the zone of that very name. UTC needs no time zone data on the machine."""
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # ValueError: not a name, such as ../x; OSError: a folder
        return None


def _by_city(name: str) -> list[str]:
    """Return the zones whose last part is this city, or whose whole name differs in letter case alone."""
    plain = name.casefold().replace(" ", "_")
    if not plain:
        return []
    return sorted(zone for key, zone in _zones() if plain in (key, key.rpartition("/")[2]))


@cache
def _zones() -> tuple[tuple[str, str], ...]:
    """Return (lower-case name, name) of each zone with a continent or ocean; reads the disk, so once."""
    skipped = ("Etc/", "SystemV/", "US/", "Canada/", "Brazil/", "Chile/", "Mexico/", "posix/", "right/")
    return tuple(
        (zone.casefold(), zone) for zone in available_timezones() if "/" in zone and not zone.startswith(skipped)
    )
