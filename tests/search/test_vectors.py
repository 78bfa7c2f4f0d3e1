"""Vectors in a quarter of their bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spade_llm.search.vectors import pack_vectors, unpack_vectors


@given(arrays(np.float32, (3, 8), elements=st.floats(-100, 100, width=32)))
def test_a_vector_comes_back_nearly_as_it_was(vectors: np.ndarray) -> None:
    peaks = np.abs(vectors).max(axis=1, keepdims=True)

    assert (np.abs(unpack_vectors(pack_vectors(vectors)) - vectors) <= peaks / 200 + 1e-6).all()


def test_a_record_is_a_byte_for_each_dimension_and_four() -> None:
    assert [len(record) for record in pack_vectors(np.ones((2, 384), np.float32))] == [388, 388]


def test_vectors_of_different_models_are_not_mixed() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        unpack_vectors(
            [*pack_vectors(np.ones((1, 8), np.float32)), *pack_vectors(np.ones((1, 9), np.float32))]
        )
