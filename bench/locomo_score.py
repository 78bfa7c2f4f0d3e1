"""How well found turns answer questions: per category, and as a table. Knows no memory.

recall@10: the share of a question's evidence among the first ten, averaged over questions.
nDCG@10: gain 1 for evidence, discounted by log2 of the rank + 1, divided by the best possible.
within N tokens: the share of evidence among what comes first and fits in N tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from statistics import mean
from typing import TYPE_CHECKING

from bench.talk import ADVERSARIAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.talk import Question

TOP = 10
BUDGETS = (500, 1764, 7000)
CHARS_PER_TOKEN = 4
ANSWERABLE = "1-4"
HEAD = f"{'':26}{'n':>6}{'recall@10':>11}{'nDCG@10':>9}" + "".join(
    f"{f'≤{tokens}':>8}" for tokens in BUDGETS
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A question, and the ids of the turns that were found, best first."""

    question: Question
    found: Sequence[str]


def print_table(name: str, answered: Sequence[Answered], texts: Mapping[str, str]) -> None:
    """`texts`: of the turns, by id."""
    for label, part in _groups(answered):
        it = quality(part, texts)
        figures = f"{it.recall:11.3f}{it.ndcg:9.3f}" + "".join(f"{one:8.3f}" for one in it.within)
        print(f"{f'{name}, {label}':26}{it.count:6}{figures}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Means over questions."""

    recall: float
    ndcg: float
    within: tuple[float, ...]
    """For each of BUDGETS."""
    count: int


def quality(answered: Sequence[Answered], texts: Mapping[str, str]) -> Quality:
    """Of one question or more. `texts`: of the turns, by id."""
    return Quality(
        recall=mean(map(recall, answered)),
        ndcg=mean(map(ndcg, answered)),
        within=tuple(mean(within(one, texts, tokens) for one in answered) for tokens in BUDGETS),
        count=len(answered),
    )


def recall(answered: Answered) -> float:
    evidence = answered.question.evidence
    return len(evidence & set(answered.found[:TOP])) / len(evidence)


def ndcg(answered: Answered) -> float:
    evidence = answered.question.evidence
    gained = sum(_gain(at) for at, id in enumerate(answered.found[:TOP]) if id in evidence)
    return gained / sum(map(_gain, range(min(TOP, len(evidence)))))


def within(answered: Answered, texts: Mapping[str, str], tokens: int) -> float:
    there, left = set(), float(tokens)
    for id in answered.found:
        left -= len(texts[id]) / CHARS_PER_TOKEN
        if left < 0:
            break
        there.add(id)
    return len(answered.question.evidence & there) / len(answered.question.evidence)


def _groups(answered: Sequence[Answered]) -> Iterator[tuple[str, list[Answered]]]:
    for category in sorted({one.question.category for one in answered}):
        part = [one for one in answered if one.question.category == category]
        yield (category, part)
    answerable = [one for one in answered if one.question.category != ADVERSARIAL]
    if answerable:
        yield (ANSWERABLE, answerable)


def _gain(rank: int) -> float:
    return 1 / log2(rank + 2)
