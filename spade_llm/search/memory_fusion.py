"""Fusion of keyword, vector and bonus scores: how memory recall is ranked.

The weights were found on two conversations, each checked on the other; docs/design/recall.md has
what every part is worth, and what was tried and refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.search import terms
from spade_llm.search.query_analysis import parse_dates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from spade_llm.search.memory_index import IndexSnapshot
    from spade_llm.search.memory_table import MemoryRows

    Row = NDArray[np.float32]

KEYWORD, VECTOR, AROUND = 6.5, 6.0, 4.2
SPEAKER, LENGTH, DATE = 1.7, 0.9, 4.5
WHEN = ANSWER = 2.0
SEVERAL = 0.5
"""Factor of the keyword weight for a question about several things: it names their kind
(`activities`), the messages name the things."""
USUAL_BEST_COSINE, MIN_BEST_COSINE = 0.6, 0.2
"""Cosine of the best row for a question in concrete words. The more abstract the words, the lower
all cosines: they are partly made up for (`vector_balance`)."""
VECTORS_PART = 0.75
"""Part of the balance that raises the vectors; the rest lowers the others. It moves all scores of a
query alike: with this part, evidence is above the minimum of an assistant as often as without."""
HALF_SATURATION = 5.0
"""A sum of this is a score of 0.5."""
MEAN_WORDS, MAX_WORDS = 9, 40
"""A message that states less than usual, in words of content, seldom is what is looked for."""
UNKNOWN_QUESTION_SHARE = 0.5
"""Share of the words of a message that are in questions, if an earlier version stored it."""
LATER_PERIOD_WEIGHT = 0.6
"""Share of the date bonus for messages sent up to 10 days after the period."""
MIN_NEIGHBOUR_SIMILARITY = 0.35
"""Cosine of neighbours, about: makes a sum of their cosines that of their sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    text: str
    named: str | None
    """Speaker named in the query; None if it names none, or several (it may be about any of them).
    """
    now: float


def recall_bonuses(parts: IndexSnapshot, asked: RecallQuery, keyword: Row) -> Mapping[str, Row]:
    """Compute the weighted bonuses of all rows, by their names in `ScoreExplanation`. Bonuses that
    apply to no row are left out."""
    table = parts.table
    found = {"length": parts.substance}
    if asked.named:
        is_speaker = table.speaker.rows == table.codes["speaker"].find(asked.named)
        found["speaker"] = np.float32(SPEAKER) * is_speaker
    if terms.is_when_question(asked.text):
        found["when"] = np.float32(WHEN) * (table.flags.rows & terms.TIME_FLAG > 0)
    dated = _date_match(table, asked)
    if dated is not None:
        found["date"] = np.float32(DATE) * dated
    if len(parts.questions):
        # The message after a question may be its answer.
        rows = parts.questions
        answered = np.zeros(len(keyword) + 1, np.float32)
        answered[parts.reach[1][rows]] = np.float32(ANSWER) * keyword[rows]
        found["answer"] = answered[:-1]
    return found


def neighbourhood_lengths(
    has: NDArray[np.bool_], before: NDArray[np.int32], after: NDArray[np.int32]
) -> Row:
    """Approximate lengths of the sums of a row's vector and its neighbours' vectors, computed from
    the number of vectors."""
    there = np.append(has, False).astype(np.float32)
    several = there[:-1] + there[before[:-1]] + there[after[:-1]]
    lengths = np.sqrt(several + several * (several - 1) * np.float32(MIN_NEIGHBOUR_SIMILARITY))
    return np.maximum(lengths, np.float32(1))


def vector_balance(best_cosine: float) -> tuple[float, float]:
    """Factors of the vectors' weights and of all others for a query with this best cosine."""
    best = min(max(best_cosine, MIN_BEST_COSINE), USUAL_BEST_COSINE)
    ratio = (USUAL_BEST_COSINE / best) ** 0.5
    return ratio**VECTORS_PART, ratio ** (VECTORS_PART - 1)


def fuse_scores(
    *,
    keyword: Row,
    vector: Row,
    near: Row | None,
    bonus: Row,
    date: Row | None,
    balance: tuple[float, float],
    is_about_several: bool,
) -> Row:
    """Relevance of rows, 0…1; 0 without a keyword, vector or date match, whatever the bonuses.
    `near`: None if no row has neighbours. `balance`: of `vector_balance`; ones without vectors."""
    vectors, others = balance
    # The sum is divided by `others`, and so is HALF_SATURATION: no pass over the bonuses.
    ratio = vectors / others
    total = np.float32(KEYWORD * SEVERAL if is_about_several else KEYWORD) * keyword
    alone = VECTOR + AROUND if near is None else VECTOR
    part = np.multiply(vector, np.float32(alone * ratio))
    total += part
    if near is not None:
        total += np.multiply(near, np.float32(AROUND * ratio), out=part)
    total += bonus
    speaks = (keyword > 0) | (vector > 0)
    if date is not None:
        speaks |= date > 0
    # Short messages are penalised and cosines may be negative; x / (x + 5) needs x ≥ 0.
    np.maximum(total, 0, out=total)
    total *= speaks
    total /= np.add(total, np.float32(HALF_SATURATION / others), out=part)
    return np.asarray(total)


def _date_match(table: MemoryRows, asked: RecallQuery) -> Row | None:
    """Score of the match between a row's date and the query; None if the query names no period that
    has rows."""
    score: Row | None = None
    made = table.created_at.rows
    for period in parse_dates(asked.text, asked.now):
        within = (made >= period.start) & (made < period.end)
        later = (made >= period.end) & (made < period.later)
        if within.any() or later.any():
            new = np.where(within, 1, np.where(later, LATER_PERIOD_WEIGHT, 0)).astype(np.float32)
            score = new if score is None else np.maximum(score, new)
    return score


def length_bonus(table: MemoryRows) -> Row:
    """Weighted bonus for the number of content words of a row outside of questions: a question is
    no answer."""
    counted = np.minimum(table.length.rows, COUNTED_LENGTH)
    return np.asarray(_LENGTH_BONUS[table.flags.rows & terms.QUESTION_FLAGS, counted])


COUNTED_LENGTH = 255
"""Length of a row up to which it is told apart: a third of it is more than MAX_WORDS."""


def _length_bonuses(flags: int) -> Row:
    """Bonuses of rows with these flags, by length."""
    words = np.arange(COUNTED_LENGTH + 1, dtype=np.float32) / terms.CONTENT_WEIGHT
    stated = words * (1 - _question_share(flags))
    bonus = LENGTH * (np.log1p(np.minimum(stated, MAX_WORDS)) - np.log1p(MEAN_WORDS))
    return np.asarray(bonus, np.float32)


def _question_share(flags: int) -> float:
    if not flags & terms.QUESTION_FLAG:
        return 0.0
    steps = flags >> terms.QUESTION_SHARE_SHIFT
    return steps / terms.QUESTION_SHARE_STEPS if steps else UNKNOWN_QUESTION_SHARE


_LENGTH_BONUS = np.stack([_length_bonuses(flags) for flags in range(terms.QUESTION_FLAGS + 1)])
"""By flags and length."""
