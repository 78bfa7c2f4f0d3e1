"""The fusion of RECALL: what speaks for a row, as one number. Pure; knows no filter, no order.

The weights were found on two conversations, each checked on the other; docs/design/recall.md has
what every part is worth, and what was tried and refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.memory.index.codes import UNKNOWN
from spade_llm.memory.index.dates import periods_of
from spade_llm.text import terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from spade_llm.memory.index.parts import Parts
    from spade_llm.memory.index.row_table import RowTable

    Row = NDArray[np.float32]

KEYWORD, VECTOR, AROUND = 6.5, 6.0, 4.2
SPEAKER, QUESTION, WHEN, LENGTH, ANSWER, DATE = 1.7, -0.7, 2.7, 0.9, 2.0, 4.5
HALFWAY = 5.0
"""A sum of this is a score of 0.5."""
MEAN_WORDS, MAX_WORDS = 9, 40
"""A message with less words of content than usual seldom is what is looked for."""
LATER = 0.6
"""Of the bonus for a date, for what was said within days after it."""
ALIKE = 0.35
"""Cosine of neighbours, about: makes a sum of their cosines that of their sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    text: str
    named: str | None
    """The speaker whom it names, if it names one alone: of two, it may be about either."""
    now: float


def bonuses_of(parts: Parts, asked: Asked, keyword: Row) -> Mapping[str, Row]:
    """What else speaks for each row, by its name in `Why`; weighted. Those that say nothing about
    any row are left out."""
    table = parts.table
    found = {"length": parts.substance}
    if asked.named:
        found["speaker"] = np.float32(SPEAKER) * _speaks(table, asked.named)
    if terms.is_when_question(asked.text):
        found["when"] = np.float32(WHEN) * _says_time(table)
    dated = _dated(table, asked)
    if dated is not None:
        found["date"] = np.float32(DATE) * dated
    if len(parts.questions):
        found |= _questions(parts, keyword)
    return found


def _questions(parts: Parts, keyword: Row) -> Mapping[str, Row]:
    """A question is no answer; what follows it may be one."""
    rows = parts.questions
    asks, answered = np.zeros((2, len(keyword) + 1), np.float32)
    asks[rows] = QUESTION
    answered[parts.reach[1][rows]] = np.float32(ANSWER) * keyword[rows]
    return {"question": asks[:-1], "answer": answered[:-1]}


def lengths_around(
    has: NDArray[np.bool_], before: NDArray[np.int32], after: NDArray[np.int32]
) -> Row:
    """Of the sum of a row's vector and its neighbours', nearly: by how many of them there are."""
    there = np.append(has, False).astype(np.float32)
    several = there[:-1] + there[before[:-1]] + there[after[:-1]]
    lengths = np.sqrt(several + several * (several - 1) * np.float32(ALIKE))
    return np.maximum(lengths, np.float32(1))


def fused(*, keyword: Row, vector: Row, near: Row, bonus: Row, date: Row | None) -> Row:
    """0…1; 0 for a row that nothing but its form speaks for."""
    total, part = np.float32(KEYWORD) * keyword, np.float32(VECTOR) * vector
    total += part
    total += np.multiply(near, np.float32(AROUND), out=part)
    total += bonus
    speaks = (keyword > 0) | (vector > 0)
    if date is not None:
        speaks |= date > 0
    np.maximum(total, 0, out=total)
    total *= speaks
    total /= np.add(total, np.float32(HALFWAY), out=part)
    return np.asarray(total)


def _speaks(table: RowTable, name: str | None) -> Row:
    code = table.codes["speaker"].find(name) if name else UNKNOWN
    return np.asarray(table.speaker.rows == code, np.float32)


def _says_time(table: RowTable) -> Row:
    return (table.flags.rows & terms.TIME > 0).astype(np.float32)


def _dated(table: RowTable, asked: Asked) -> Row | None:
    """None: the query says no time from which there is something."""
    score: Row | None = None
    made = table.created_at.rows
    for period in periods_of(asked.text, asked.now):
        within = (made >= period.start) & (made < period.end)
        later = (made >= period.end) & (made < period.later)
        if within.any() or later.any():
            new = np.where(within, 1, np.where(later, LATER, 0)).astype(np.float32)
            score = new if score is None else np.maximum(score, new)
    return score


def substance(table: RowTable) -> Row:
    """For how much a row has to say; weighted."""
    return np.float32(LENGTH) * np.asarray(
        _SUBSTANCE[np.minimum(table.length.rows, len(_SUBSTANCE) - 1)]
    )


_WORDS = np.arange(MAX_WORDS * terms.CONTENT_WEIGHT + 1, dtype=np.float32) / terms.CONTENT_WEIGHT
_SUBSTANCE = (np.log1p(_WORDS) - np.log1p(MEAN_WORDS)).astype(np.float32)
