"""Summary points: a salient sentence at three lengths, and sequences of them by cost."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.context.salience import salient_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.context.salience import SalientSentence
    from spade_llm.providers.model import ContextMessage

MAX_WHOLE_CHARS = 240
"""A longer sentence is told by what is around its items."""
WORDS_BEFORE, WORDS_BEHIND = 3, 2
GAP = " … "
MAX_RESULT_CHARS = 2000
"""Maximum number of characters of a tool result that are searched for points."""
MAX_RESULT_POINTS = 6
LINE_TOKENS = 6
"""Tokens of the speaker, the dash and the line end."""

_DENSE = re.compile(r"[^A-Za-zÀ-ɏ\s]")
"""Each of these is most of a token."""

FULL_LENGTH, CONTEXT_LENGTH, ITEMS_LENGTH = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryPoint:
    """Summary point: one sentence at three lengths."""

    speaker: str
    """`user`, `assistant` or `tool`."""
    question: str
    """The whole sentence if it asks something; else empty."""
    forms: tuple[str, str, str]
    """Texts from the longest to the shortest, each with every item; empty strings if there is none.
    """
    items: tuple[str, ...]

    def cost(self, form: int) -> int:
        """Tokens of its line, estimated."""
        return LINE_TOKENS + upper_token_estimate(self.forms[form])

    def line(self, form: int) -> str:
        return f"- {self.speaker}: {self.forms[form]}"


def upper_token_estimate(text: str) -> int:
    """Estimate the tokens, rather too high; faster than a token counter."""
    return int(len(text) / 4 + 0.7 * len(_DENSE.findall(text)) + 0.35 * text.count(" ")) + 1


def summary_points_of(message: ContextMessage) -> list[SummaryPoint]:
    """Extract the points of the message: all of a person or assistant, the first of a tool
    result."""
    text = message["content"] or ""
    speaker = message["role"]
    if speaker == "tool":
        found = salient_sentences(text[:MAX_RESULT_CHARS], speaks_of_self=False)
        return [_point(speaker, one) for one in found[:MAX_RESULT_POINTS]]
    found = salient_sentences(text, speaks_of_self=speaker == "user")
    return [_point(speaker, one) for one in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointLengths:
    """Lengths at which a range of points is shown: the items only from `items_from`, with the words
    around them from `context_from`, in full from `full_from`. Points before are omitted."""

    items_from: int
    context_from: int
    full_from: int
    stop: int
    tokens: int


class PointSequence:
    def __init__(self) -> None:
        self._blocks: list[int] = []
        self._points: list[SummaryPoint] = []
        # Prefix sums: tokens of the bare items, then what each longer form adds.
        self._bare = [0]
        self._to_near = [0]
        self._to_whole = [0]

    def add(self, block: int, point: SummaryPoint) -> None:
        whole, near, bare = map(point.cost, (FULL_LENGTH, CONTEXT_LENGTH, ITEMS_LENGTH))
        self._blocks.append(block)
        self._points.append(point)
        self._bare.append(self._bare[-1] + bare)
        self._to_near.append(self._to_near[-1] + near - bare)
        self._to_whole.append(self._to_whole[-1] + whole - near)

    def count_before(self, block: int) -> int:
        """Return the number of points from earlier blocks."""
        return bisect_left(self._blocks, block)

    def bare_tokens(self, start: int, stop: int) -> int:
        return self._bare[stop] - self._bare[start]

    def whole_tokens(self, start: int, stop: int) -> int:
        return sum(sums[stop] - sums[start] for sums in (self._bare, self._to_near, self._to_whole))

    def lengths(self, start: int, stop: int, tokens: int) -> PointLengths:
        """Choose the lengths: as many of these points as possible, then as much of each, newest
        first."""
        bare = _longest_prefix(self._bare, start, stop, tokens)
        left = tokens - self.bare_tokens(bare, stop)
        near = _longest_prefix(self._to_near, bare, stop, left)
        left -= self._to_near[stop] - self._to_near[near]
        whole = _longest_prefix(self._to_whole, near, stop, left)
        left -= self._to_whole[stop] - self._to_whole[whole]
        return PointLengths(
            items_from=bare, context_from=near, full_from=whole, stop=stop, tokens=tokens - left
        )

    def lines(self, lengths: PointLengths) -> Iterator[tuple[int, str]]:
        """Each with its block."""
        forms = (
            (ITEMS_LENGTH, lengths.items_from, lengths.context_from),
            (CONTEXT_LENGTH, lengths.context_from, lengths.full_from),
            (FULL_LENGTH, lengths.full_from, lengths.stop),
        )
        for form, start, stop in forms:
            for index in range(start, stop):
                yield self._blocks[index], self._points[index].line(form)

    def points(self, start: int, stop: int) -> list[SummaryPoint]:
        return self._points[start:stop]


def _point(speaker: str, sentence: SalientSentence) -> SummaryPoint:
    whole = " ".join(sentence.words)
    return SummaryPoint(
        speaker=speaker,
        question=whole if sentence.is_question else "",
        forms=_three_lengths(whole, sentence) if sentence.item_indexes else ("", "", ""),
        items=sentence.items,
    )


def _three_lengths(whole: str, sentence: SalientSentence) -> tuple[str, str, str]:
    near = min(GAP.join(_item_runs(sentence)), whole, key=len)
    bare = min(", ".join(sentence.items), near, key=len)
    return (whole if len(whole) <= MAX_WHOLE_CHARS else near), near, bare


def _item_runs(sentence: SalientSentence) -> Iterator[str]:
    """The items with some words around them."""
    start = stop = 0
    for index in sentence.item_indexes:
        if index - WORDS_BEFORE > stop:
            yield from _words(sentence, start, stop)
            start = index - WORDS_BEFORE
        stop = index + WORDS_BEHIND + 1
    yield from _words(sentence, start, stop)


def _words(sentence: SalientSentence, start: int, stop: int) -> Iterator[str]:
    if stop > start:
        yield " ".join(sentence.words[start:stop])


def _longest_prefix(sums: list[int], start: int, stop: int, tokens: int) -> int:
    """Return the first index from which the sum up to `stop` is at most `tokens`."""
    return bisect_left(sums, sums[stop] - max(tokens, 0), lo=start, hi=stop)
