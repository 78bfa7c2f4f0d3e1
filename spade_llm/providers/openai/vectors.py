"""Embeddings answer in the OpenAI protocol: numbers or base64 to normalised vectors."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field, JsonValue, ValidationError

from spade_llm.core.errors import InvalidModelOutput
from spade_llm.providers.openai.errors import translate_event

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_DIMENSION = 16_384


class _Vector(BaseModel):
    index: int
    embedding: str | list[float]


class _EmbeddingsAnswer(BaseModel):
    data: list[_Vector] = []
    error: JsonValue = Field(default=None)


def parse_vectors(raw: bytes, *, count: int, dimension: int | None) -> NDArray[np.float32]:
    """Parse the answer into one L2-normalised row per text.

    Raises:
        InvalidModelOutput: not `count` vectors of `dimension` (None: of one) length.
        ModelError: the answer is an error, sent as a success.
    """
    try:
        answer = _EmbeddingsAnswer.model_validate_json(raw)
    except ValidationError:
        raise _unusable("it is not what the embeddings protocol promises") from None
    if answer.error is not None:
        raise translate_event(answer.error)
    if sorted(vector.index for vector in answer.data) != list(range(count)):
        raise _unusable(f"{len(answer.data)} vectors for {count} texts")
    # By index: the order of the answer is not relied on.
    rows = [_numbers(vector) for vector in sorted(answer.data, key=lambda one: one.index)]
    return _normalised(rows, dimension or len(rows[0]))


def _numbers(vector: _Vector) -> NDArray[np.float64]:
    if isinstance(vector.embedding, str):
        try:
            numbers = np.frombuffer(base64.b64decode(vector.embedding, validate=True), "<f4")
        except ValueError:
            raise _unusable("a vector cannot be decoded") from None
        return numbers.astype(np.float64)
    return np.array(vector.embedding, np.float64)


def _normalised(rows: list[NDArray[np.float64]], dimension: int) -> NDArray[np.float32]:
    lengths = {len(row) for row in rows}
    if lengths != {dimension} or not 0 < dimension <= MAX_DIMENSION:
        raise _unusable(f"vectors of {sorted(lengths)} numbers, not {dimension}")
    vectors = np.stack(rows)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and norms.all()):
        raise _unusable("a vector has no direction")
    scaled: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return scaled


def _unusable(reason: str) -> InvalidModelOutput:
    return InvalidModelOutput(f"The embedding model's answer cannot be used: {reason}.")
