"""Query analysis: dates and speaker names that a query mentions, and the kind of its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.search.terms import STOP_WORDS, is_when_question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENGLISH = "january february march april may june july august september october november december"
_SPANISH = (
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
)
MONTHS = {name: at for names in (_ENGLISH, _SPANISH) for at, name in enumerate(names.split(), 1)}
MAX_YEARS = 50
"""Number of past years in which a month without a year is looked for."""

_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"""\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+|de\s+)?)?(?P<month>{_MONTH})\b
    (?:\s+(?P<late_day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*:))?
    (?:[,\s]+(?:of\s+|del?\s+)?(?P<year>[12]\d{{3}})\b)?""",
    re.IGNORECASE | re.VERBOSE,
)
_ISO_DATE = re.compile(r"\b([12]\d{3})-(\d\d)(?:-(\d\d))?\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_RELATIVE_DATE = re.compile(
    r"\b(?:(yesterday|ayer)|(today|hoy)|last (week|month|year)|"
    r"(?:la|el) (semana|mes|año) pasad[oa])\b",
    re.IGNORECASE,
)
_DAYS = {"week": 7, "semana": 7, "month": 31, "mes": 31, "year": 366, "año": 366}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatePeriod:
    """Seconds since 1970; a memory of it may have been made somewhat later."""

    start: float
    end: float

    @property
    def later(self) -> float:
        """End of the days (10) after the period in which people still talk about it."""
        return self.end + 10 * 86_400.0


def parse_dates(text: str, now: float) -> list[DatePeriod]:
    """Find the periods that the text names; a month without a year means that of every year."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found: list[DatePeriod] = []
    for year, month, day in _ISO_DATE.findall(text):
        found += _day_period(int(year), int(month), int(day) if day else None)
    found += _written_dates(_ISO_DATE.sub(" ", text), today)
    for yesterday, this_day, period, periodo in _RELATIVE_DATE.findall(text):
        back = 1 if yesterday else 0 if this_day else _DAYS[(period or periodo).lower()]
        found.append(_days(today - timedelta(days=back), max(1, back)))
    return found or [_days(datetime(year, 1, 1, tzinfo=UTC), 365) for year in _years(text)]


def _written_dates(text: str, today: datetime) -> Iterator[DatePeriod]:
    for match in _DATE.finditer(text):
        day = match["day"] or match["late_day"]
        if match["month"] == "may" and not (day or match["year"]):
            continue  # The verb.
        years = [int(match["year"])] if match["year"] else _years(text)
        for year in years or range(today.year - MAX_YEARS, today.year + 1):
            yield from _day_period(year, MONTHS[match["month"].lower()], int(day) if day else None)


def _years(text: str) -> list[int]:
    return [int(year) for year in _YEAR.findall(_ISO_DATE.sub(" ", text))]


def _day_period(year: int, month: int, day: int | None) -> Iterator[DatePeriod]:
    try:
        start = datetime(year, month, day or 1, tzinfo=UTC)
    except ValueError:  # The 31st of a shorter month, or no date at all.
        return
    yield _days(start, 1 if day else 31)


def _days(start: datetime, days: int) -> DatePeriod:
    return DatePeriod(start=start.timestamp(), end=start.timestamp() + 86_400.0 * days)


_THING_QUESTION = re.compile(
    r"\W*(?:\w+\s)?(?:what|which|who|whom|where|how many|"
    r"qu[eé]|cu[aá]l(?:es)?|qui[eé]n(?:es)?|d[oó]nde|cu[aá]nt[oa]s)\b",
    re.IGNORECASE,
)
"""Beginning of a question about things, places or people; one word may precede (`In which`)."""
_WORD = re.compile(r"[^\W\d_]+(?:['’]\w+)?")
_PLURAL = re.compile(r"\w{2,}(?:[^siu\W]|ie)s")
"""English or Spanish noun in the plural. Not `class`, `tennis`, `bus`, or the shortest words."""
ASKED_WORDS = 4
"""Number of words after the question word among which the thing asked for is named."""


def asks_for_things(text: str) -> bool:
    """Check for a question about things, places or people, which may have several answers. One
    about a reason, a manner or a time has one."""
    return bool(_THING_QUESTION.match(text)) and not is_when_question(text)


def asks_for_several(text: str) -> bool:
    """Check for a question about things in the plural: `What activities`, `Which of the cities`."""
    question_word = _THING_QUESTION.match(text)
    if question_word is None or is_when_question(text):
        return False
    words = _WORD.findall(text, question_word.end())[:ASKED_WORDS]
    # Names have a capital: `Paris` is no plural.
    return any(
        _PLURAL.fullmatch(word) and word[0].islower() and word not in STOP_WORDS for word in words
    )


MIN_CHARS = 2
MAX_NAMES = 2000
"""Speakers that are looked for in a query, the first ones: an expression of 20 KB."""


def find_names(text: str, names: Sequence[str]) -> list[str]:
    """Find the names that the text mentions, in full or by one of their words."""
    pattern = _name_pattern(tuple(names[:MAX_NAMES]))
    if pattern is None:
        return []
    matches = (match["name"] for match in pattern.finditer(text))
    said = {match.casefold() for match in matches if _is_name(match)}
    return [name for name in names[:MAX_NAMES] if said & set(_name_forms(name))]


def remove_names(text: str, names: Sequence[str]) -> str:
    """Remove the names from a text that is to be embedded; returns the text itself if nothing else
    is left."""
    pattern = _name_pattern(tuple(names[:MAX_NAMES]))
    if pattern is None:
        return text
    bare = pattern.sub(lambda match: "" if _is_name(match["name"]) else match[0], text)
    bare = " ".join(bare.split())
    return bare if re.search(r"\w", bare) else text


def _is_name(said: str) -> bool:
    """Check for a name: `Will` is one only with its capital, `anna` also without."""
    return said.casefold() not in STOP_WORDS or said[0].isupper()


@lru_cache(256)
def _name_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    # The longest first: an alternation takes the first form that fits.
    forms = sorted({form for name in names for form in _name_forms(name)}, key=len, reverse=True)
    if not forms:
        return None
    choice = "|".join(map(re.escape, forms))
    return re.compile(rf"(?<!\w)(?P<name>{choice})(?:['’]s)?(?!\w)", re.IGNORECASE)


def _name_forms(name: str) -> list[str]:
    """The name, and each of its words."""
    forms = dict.fromkeys([name, *name.split()])
    return [form.casefold() for form in forms if len(form) >= MIN_CHARS]
