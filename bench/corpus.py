"""Invented text with a fixed seed: a few words common and most rare, as in real text."""

from __future__ import annotations

import random
from itertools import accumulate

VOCABULARY = 8000
COMMON = 20
"""Words that no question has."""
WORDS_PER_DOCUMENT = 650


class Corpus:
    """The words are always the same; what is said with them depends on the seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(7)
        self._words = [self._word() for _ in range(VOCABULARY)]
        self._rarer = self._words[COMMON:]
        self._random = random.Random(seed)
        weights = [1 / (rank + 3) for rank in range(VOCABULARY)]
        self._all = list(accumulate(weights))
        self._rare = list(accumulate(weights[COMMON:]))

    def sentence(self, words: int = 12) -> str:
        return " ".join(self._random.choices(self._words, cum_weights=self._all, k=words))

    def document(self) -> str:
        return ". ".join(self.sentence() for _ in range(WORDS_PER_DOCUMENT // 12))

    def question(self, words: int = 6) -> str:
        """Without the very common words."""
        return " ".join(self._random.choices(self._rarer, cum_weights=self._rare, k=words))

    def _word(self) -> str:
        return "".join(self._random.choices("bcdfglmnprstaeiou", k=self._random.randint(4, 10)))
