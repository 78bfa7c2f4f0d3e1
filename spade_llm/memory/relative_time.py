"""How long ago something was, in words a person would use. Pure; knows no calendar and no zone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

MINUTE, HOUR, DAY = 60, 3600, 86_400
WEEK, MONTH, YEAR = 7 * DAY, 30 * DAY, 365 * DAY

_UNITS = (
    # (from so many seconds on, seconds in one, its name, what one of them is called)
    (YEAR, YEAR, "year", "last year"),
    (MONTH, MONTH, "month", "last month"),
    (WEEK, WEEK, "week", "last week"),
    (DAY, DAY, "day", "yesterday"),
    (HOUR, HOUR, "hour", "1 hour ago"),
    (MINUTE, MINUTE, "minute", "1 minute ago"),
)


def relative_time(at: datetime, now: datetime) -> str:
    """`just now`, `5 minutes ago`, `yesterday`, `2 days ago`, `last week`, … `3 years ago`.

    A time ahead is `in 5 minutes`; less than a minute ahead is a clock that goes wrong: `just now`.
    """
    seconds = int((now - at).total_seconds())
    for from_s, unit_s, name, single in _UNITS:
        if abs(seconds) >= from_s:
            return _words(abs(seconds) // unit_s, name, single, is_ahead=seconds < 0)
    return "just now"


def _words(count: int, name: str, single: str, *, is_ahead: bool) -> str:
    if is_ahead:
        return f"in {count} {name}{'' if count == 1 else 's'}"
    return single if count == 1 else f"{count} {name}s ago"
