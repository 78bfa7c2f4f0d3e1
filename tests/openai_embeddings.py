"""A model of the embeddings protocol: a text's vector is made of its words. Knows no HTTP."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.openai_rules import BadRequest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.openai_rules import EmbeddingsRequest

OWN_DIMENSION = 64


@dataclass(slots=True, kw_only=True)
class WordModel:
    """Texts that share words are near each other; vectors are as long as they come out."""

    window_words: int = 8192
    knows_base64: bool = True
    """Some servers send numbers whatever is asked for."""

    def answer(self, request: EmbeddingsRequest) -> dict[str, object]:
        """Raises BadRequest."""
        entries = [self._entry(request, n, text) for n, text in enumerate(request.input)]
        return {
            "object": "list",
            # The protocol promises an index, and no order.
            "data": entries[::-1],
            "model": request.model,
            "usage": {"prompt_tokens": 5, "total_tokens": 5},
        }

    def _entry(self, request: EmbeddingsRequest, index: int, text: str) -> dict[str, object]:
        words = text.split()
        if len(words) > self.window_words:
            raise BadRequest(
                f"This model's maximum context length is {self.window_words} tokens, however you"
                f" requested {len(words)} tokens. Please reduce your prompt."
            )
        vector = word_vector(words, request.dimensions or OWN_DIMENSION)
        is_text = self.knows_base64 and request.encoding_format == "base64"
        embedding = base64.b64encode(vector.tobytes()).decode() if is_text else vector.tolist()
        return {"object": "embedding", "index": index, "embedding": embedding}


def word_vector(words: list[str], dimension: int) -> NDArray[np.float32]:
    vector = np.full(dimension, 1e-3, "<f4")
    for word in words:
        digest = hashlib.sha256(word.strip(".,?!").lower().encode()).digest()
        vector[int.from_bytes(digest[:4], "big") % dimension] += 1
    return vector
