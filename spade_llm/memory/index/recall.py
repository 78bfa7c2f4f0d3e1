"""The fusion of RECALL: what speaks for a row, as one number. Pure; knows no filter, no order.

The weights were found on two conversations, each checked on the other; docs/design/recall.md has
what every part is worth, and what was tried and refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.memory.index import terms
from spade_llm.memory.index.codes import UNKNOWN
from spade_llm.memory.index.dates import periods_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from spade_llm.memory.index.row_table import RowTable

    Row = NDArray[np.float32]

KEYWORD, VECTOR, AROUND = 6.4, 5.3, 3.9
SPEAKER, QUESTION, WHEN, LENGTH, ANSWER, DATE = 1.6, -0.85, 2.65, 0.9, 2.0, 4.6
HALFWAY = 8.0
"""A sum of this is a score of 1 - 1/e."""
MEAN_WORDS, MAX_WORDS = 9, 40
"""A message with less words of content than usual seldom is what is looked for."""
LATER = 0.6
"""Of the bonus for a date, for what was said within days after it."""
ALIKE = 0.35
"""Cosine of neighbours, about: makes a sum of their cosines that of their sum."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Legs:
    """For each row, how near it is to the query."""

    keyword: Row
    vector: Row

    def only(self, rows: NDArray[np.intp]) -> Legs:
        return Legs(keyword=self.keyword[rows], vector=self.vector[rows])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Around:
    """Of each row, the one before and after it; one element more than rows."""

    before: NDArray[np.int32]
    after: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    text: str
    named: str | None
    """The speaker whom it names, if it names one alone: of two, it may be about either."""
    now: float


def bonuses_of(table: RowTable, asked: Asked, keyword: Row, around: Around) -> Mapping[str, Row]:
    """What else speaks for each row, by its name in `Why`; weighted."""
    text = asked.text
    asks = (table.flags.rows & terms.QUESTION > 0).astype(np.float32)
    answered = np.append(keyword * asks, np.float32(0))[around.before[:-1]]
    return {
        "speaker": np.float32(SPEAKER) * _speaks(table, asked.named),
        "question": np.float32(QUESTION) * asks,
        "answer": np.float32(ANSWER) * answered,
        "when": np.float32(WHEN if terms.is_when_question(text) else 0) * _says_time(table),
        "date": np.float32(DATE) * _dated(table, text, asked.now),
        "length": np.float32(LENGTH) * _substance(table),
    }


def neighbourhood(vector: Row, has: NDArray[np.bool_], around: Around) -> Row:
    """The cosine of the sum of a row's vector and its neighbours', nearly; weighted."""
    cosines, there = np.append(vector, np.float32(0)), np.append(has, False)
    before, after = around.before[:-1], around.after[:-1]
    total = vector + cosines[before] + cosines[after]
    several = (has.astype(np.float32) + there[before]) + there[after]
    length = np.sqrt(np.maximum(several + several * (several - 1) * np.float32(ALIKE), 1))
    return np.asarray(np.float32(AROUND) * total / length)


def fused(legs: Legs, bonuses: Mapping[str, Row], near: Row) -> Row:
    """0…1; 0 for a row that nothing but its form speaks for."""
    total = np.float32(KEYWORD) * legs.keyword + np.float32(VECTOR) * legs.vector + near
    for bonus in bonuses.values():
        total += bonus
    speaks = (legs.keyword > 0) | (legs.vector > 0) | (bonuses["date"] > 0)
    score = -np.expm1(-np.maximum(total, 0) / np.float32(HALFWAY))
    return np.asarray(np.where(speaks, score, 0), np.float32)


def _speaks(table: RowTable, name: str | None) -> Row:
    code = table.codes["speaker"].find(name) if name else UNKNOWN
    return (table.speaker.rows == code).astype(np.float32)


def _says_time(table: RowTable) -> Row:
    return (table.flags.rows & terms.TIME > 0).astype(np.float32)


def _dated(table: RowTable, text: str, now: float) -> Row:
    score = np.zeros(len(table), np.float32)
    made = table.created_at.rows
    first, last = made.min(initial=np.inf), made.max(initial=-np.inf)
    for period in periods_of(text, now):
        if period.later < first or period.start > last:
            continue
        within = (made >= period.start) & (made < period.end)
        later = (made >= period.end) & (made < period.later)
        score = np.maximum(score, np.where(within, 1, np.where(later, LATER, 0)))
    return score.astype(np.float32)


def _substance(table: RowTable) -> Row:
    words = table.length.rows.astype(np.float32) / np.float32(terms.CONTENT_WEIGHT)
    return np.asarray(np.log1p(np.minimum(words, MAX_WORDS)) - np.float32(np.log1p(MEAN_WORDS)))
