"""Where keywords stand in a folded text. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.guardrails.folding import folded_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Span = tuple[int, int]
"""From a character up to, and without, another."""


class KeywordSearch:
    def __init__(self, keywords: Iterable[str], *, keeps_case: bool) -> None:
        self.keeps_case = keeps_case
        self.keywords = tuple(
            dict.fromkeys(folded_text(one, keeps_case=keeps_case) for one in keywords)
        )
        self._beginnings = {one[:end] for one in self.keywords for end in range(1, len(one))}
        self._longest = max(map(len, self.keywords), default=0)

    def is_in(self, text: str) -> bool:
        """`text`: as it was written."""
        searched = folded_text(text, keeps_case=self.keeps_case)
        return any(keyword in searched for keyword in self.keywords)

    def spans(self, searched: str) -> list[Span]:
        """Of folded text, in order; occurrences that overlap are one."""
        merged: list[Span] = []
        for start, end in sorted(self._occurrences(searched)):
            if merged and start < merged[-1][1]:
                start, last = merged.pop()
                end = max(end, last)
            merged.append((start, end))
        return merged

    def begun_at(self, searched: str) -> int:
        """Where the first keyword stands that may have begun at the end of this folded text."""
        reach = min(self._longest - 1, len(searched))
        lengths = range(reach, 0, -1)
        begun = (length for length in lengths if searched[-length:] in self._beginnings)
        return len(searched) - next(begun, 0)

    def may_begin_or_end_in(self, replacement: str) -> bool:
        """Together with what stands around it, this text may make a keyword."""
        put = folded_text(replacement, keeps_case=self.keeps_case)
        return any(_is_partly_in(keyword, put) for keyword in self.keywords)

    def _occurrences(self, searched: str) -> Iterator[Span]:
        for keyword in self.keywords:
            start = searched.find(keyword)
            while start >= 0:
                yield start, start + len(keyword)
                start = searched.find(keyword, start + 1)


def _is_partly_in(keyword: str, put: str) -> bool:
    cuts = range(1, len(keyword))
    is_at_an_end = any(put.endswith(keyword[:cut]) or put.startswith(keyword[cut:]) for cut in cuts)
    return is_at_an_end or (put in keyword and put != keyword)
