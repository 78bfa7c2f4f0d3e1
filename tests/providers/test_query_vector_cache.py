"""Vectors that are kept: what was asked is not embedded again when it comes in a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.providers.model import QueryVectorCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Letters:
    """Counts the letters of a text; notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def one(self, text: str) -> NDArray[np.float32]:
        return await self.all([text])

    async def all(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.extend(texts)
        rows = [[text.count(letter) for letter in "abc"] for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), 3)


async def test_a_question_that_is_stored_next_is_not_embedded_again() -> None:
    letters = Letters()
    vectors = QueryVectorCache(letters.one)
    await vectors.get("abba")

    rows = await vectors.embed_missing(["cab", "abba", "bb"], letters.all)

    assert letters.asked == ["abba", "cab", "bb"]
    assert rows.tolist() == [[1, 1, 1], [2, 2, 0], [0, 2, 0]]


async def test_a_batch_of_nothing_new_asks_for_nothing() -> None:
    letters = Letters()
    vectors = QueryVectorCache(letters.one)
    await vectors.get("abba")

    rows = await vectors.embed_missing(["abba", "abba"], letters.all)

    assert letters.asked == ["abba"]
    assert rows.tolist() == [[2, 2, 0], [2, 2, 0]]


async def test_a_text_that_a_batch_holds_twice_is_embedded_once() -> None:
    letters = Letters()

    rows = await QueryVectorCache(letters.one).embed_missing(["a", "b", "a"], letters.all)

    assert letters.asked == ["a", "b"]
    assert rows.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


async def test_changing_a_returned_row_does_not_change_the_cache() -> None:
    letters = Letters()
    vectors = QueryVectorCache(letters.one)
    await vectors.get("a")

    rows = await vectors.embed_missing(["a", "b"], letters.all)
    rows[0] = 7

    assert (await vectors.get("a")).tolist() == [[1, 0, 0]]
