"""Invented text with a fixed seed: a few words common and most rare, as in real text.

The common ones are English, the rare ones made up.
"""

from __future__ import annotations

import random
from itertools import accumulate

from bench.words import ENGLISH

VOCABULARY = 8000
COMMON = 20
"""Words that no question has."""
WORDS_PER_DOCUMENT = 650


class Corpus:
    """The words are always the same; what is said with them depends on the seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(7)
        self._words = list(dict.fromkeys(ENGLISH))
        self._random.shuffle(self._words)
        self._asked = self._words[COMMON:]
        self._words += [self._word() for _ in range(VOCABULARY - len(self._words))]
        self._random = random.Random(seed)
        weights = [1 / (rank + 3) for rank in range(VOCABULARY)]
        self._all = list(accumulate(weights))
        self._rare = list(accumulate(weights[COMMON : COMMON + len(self._asked)]))

    def sentence(self, words: int = 12) -> str:
        return " ".join(self._random.choices(self._words, cum_weights=self._all, k=words))

    def document(self) -> str:
        return ". ".join(self.sentence() for _ in range(WORDS_PER_DOCUMENT // 12))

    def question(self, words: int = 6) -> str:
        """In English, without the very common words: as long for a model as what people ask."""
        return " ".join(self._random.choices(self._asked, cum_weights=self._rare, k=words))

    def _word(self) -> str:
        return "".join(self._random.choices("bcdfglmnprstaeiou", k=self._random.randint(4, 10)))
