"""A real, small embedder: words hashed into 256 signed places. No meaning beyond shared words."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.core.errors import ModelUnavailable
from spade_llm.search.terms import STOP_WORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class BagOfWords:
    """`is_away` makes it fail as a remote embedder does; `embedded` counts its texts."""

    def __init__(self, *, name: str = "bag-of-words/1", dimension: int = 256) -> None:
        self.name = name
        self.dimension = dimension
        self.is_away = False
        self.embedded = 0

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.is_away:
            raise ModelUnavailable("the embedder is away")
        self.embedded += len(texts)
        rows = np.stack([self._vector(text) for text in texts])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / lengths, dtype=np.float32)

    def _vector(self, text: str) -> NDArray[np.float64]:
        vector = np.full(self.dimension, 1e-3)
        for start in range(0, len(text), 200):
            for word in set(split_words(text[start : start + 200])) - STOP_WORDS:
                digest = hashlib.blake2b(word.rstrip("s").encode(), digest_size=8).digest()
                place = int.from_bytes(digest[:4], "big") % self.dimension
                vector[place] += 1.0 if digest[4] % 2 else -1.0
        return vector
