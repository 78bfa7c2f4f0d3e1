"""Which stretches of time a query speaks of: `7 May 2023`, `in July`, `last week`. UTC.

Knows English and Spanish, and ISO dates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENGLISH = "january february march april may june july august september october november december"
_SPANISH = (
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
)
MONTHS = {name: at for names in (_ENGLISH, _SPANISH) for at, name in enumerate(names.split(), 1)}
MAX_YEARS = 50
"""A month without a year is looked for in the last ones."""

_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"""\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+|de\s+)?)?(?P<month>{_MONTH})\b
    (?:\s+(?P<late_day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*:))?
    (?:[,\s]+(?:of\s+|del?\s+)?(?P<year>[12]\d{{3}})\b)?""",
    re.IGNORECASE | re.VERBOSE,
)
_ISO = re.compile(r"\b([12]\d{3})-(\d\d)(?:-(\d\d))?\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_AGO = re.compile(
    r"\b(?:(yesterday|ayer)|(today|hoy)|last (week|month|year)|"
    r"(?:la|el) (semana|mes|año) pasad[oa])\b",
    re.IGNORECASE,
)
_DAYS = {"week": 7, "semana": 7, "month": 31, "mes": 31, "year": 366, "año": 366}


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Seconds since 1970; a memory of it may have been made somewhat later."""

    start: float
    end: float

    @property
    def later(self) -> float:
        """How long afterwards people still speak of it: 10 days."""
        return self.end + 10 * 86_400.0


def periods_of(text: str, now: float) -> list[Period]:
    """All that the text names; a month without a year is that of every year."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found = [*_iso(text), *_dates(_ISO.sub(" ", text), today), *_relative(text, today)]
    return found or [_days(datetime(int(year), 1, 1, tzinfo=UTC), 365) for year in _years(text)]


def _iso(text: str) -> Iterator[Period]:
    for year, month, day in _ISO.findall(text):
        yield from _on(int(year), int(month), int(day) if day else None)


def _dates(text: str, today: datetime) -> Iterator[Period]:
    for match in _DATE.finditer(text):
        day = match["day"] or match["late_day"]
        if match["month"] == "may" and not (day or match["year"]):
            continue  # The verb.
        for year in _years_of(match["year"], text, today):
            yield from _on(year, MONTHS[match["month"].lower()], int(day) if day else None)


def _years_of(year: str | None, text: str, today: datetime) -> list[int]:
    """That of the date, else those of the text, else any."""
    if year:
        return [int(year)]
    return _years(text) or list(range(today.year - MAX_YEARS, today.year + 1))


def _years(text: str) -> list[int]:
    return [int(year) for year in _YEAR.findall(_ISO.sub(" ", text))]


def _on(year: int, month: int, day: int | None) -> Iterator[Period]:
    try:
        start = datetime(year, month, day or 1, tzinfo=UTC)
    except ValueError:  # The 31st of a shorter month, or no date at all.
        return
    yield _days(start, 1 if day else 31)


def _relative(text: str, today: datetime) -> Iterator[Period]:
    for yesterday, this_day, period, periodo in _AGO.findall(text):
        back = 1 if yesterday else 0 if this_day else _DAYS[(period or periodo).lower()]
        yield _days(today - timedelta(days=back), max(1, back))


def _days(start: datetime, days: int) -> Period:
    return Period(start=start.timestamp(), end=start.timestamp() + 86_400.0 * days)
