"""Built-in tools: the current date and time, and the calculator."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from spade_llm.core.errors import InvalidArguments
from spade_llm.providers.model import ToolExample
from spade_llm.tools.calculator import calculator
from spade_llm.tools.function_tool import tool

if TYPE_CHECKING:
    from spade_llm.tools.llm_tool import Tool


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""English names, independent of the locale."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def datetime_tool(now: Callable[[], datetime] = utc_now) -> Tool:
    """Build the tool `get_current_datetime`. `now`: the clock."""

    @tool(
        examples=[
            ToolExample(
                input={"timezone": "Europe/Madrid"},
                output="2026-11-03T14:05:00+01:00 (Tuesday, Europe/Madrid)",
            )
        ]
    )
    def get_current_datetime(timezone: str = "UTC") -> str:
        """Get the current date, time and weekday in a time zone.

        Args:
            timezone: IANA time zone name, for instance 'UTC', 'Europe/Madrid' or 'Asia/Tokyo'.
        """
        return describe_now(now(), timezone)

    return get_current_datetime


def describe_now(moment: datetime, timezone: str) -> str:
    """Format a moment in a time zone: `2026-11-03T14:05:00+01:00 (Tuesday, Europe/Madrid)`. Raises
    InvalidArguments: unknown time zone; the message names the most similar ones."""
    if timezone not in _zones():
        raise _unknown_zone(timezone[:64])
    local = moment.astimezone(ZoneInfo(timezone))
    text = local.isoformat(timespec="seconds")
    return f"{text} ({WEEKDAYS[local.weekday()]}, {timezone})"


def _unknown_zone(timezone: str) -> InvalidArguments:
    wanted = timezone.strip().lower().replace(" ", "_")
    by_lower = {zone.lower(): zone for zone in sorted(_zones())}
    # Zones of this city, otherwise names that look alike.
    near = [zone for zone in by_lower if zone == wanted or zone.endswith(f"/{wanted}")]
    near = near or difflib.get_close_matches(wanted, by_lower, n=3)
    names = " or ".join(repr(by_lower[zone]) for zone in near[:3])
    hint = f"did you mean {names}?" if near else "use an IANA name"
    return InvalidArguments(f"unknown time zone {timezone!r}; {hint}")


# Cached, since it searches the folders of time zones.
@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def builtin_tools(*, now: Callable[[], datetime] = utc_now) -> tuple[Tool, ...]:
    """The built-in tools: `get_current_datetime` and `calculator`."""
    return (datetime_tool(now), calculator)
