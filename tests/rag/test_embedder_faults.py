"""Embedders that hang, answer nonsense or refuse: nobody waits for ever, no document is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ModelError, ModelUnavailable, RateLimited
from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.passage_embedding import BATCH, SharedBatches
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


class Forgetful(BagOfWords):
    """Gives a row too few for each batch, as a proxy in between may."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return (await super().embed(texts))[1:]


class Failing(BagOfWords):
    def __init__(self, error: ModelError) -> None:
        super().__init__()
        self.error = error

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise self.error


class Hanging(BagOfWords):
    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += 1
        await asyncio.Event().wait()
        return await super().embed(texts)


@pytest.mark.parametrize(
    "embedder",
    [
        Forgetful(),
        Failing(RateLimited("slower, please")),
        Failing(ModelError("vectors of 3 and of 4 numbers")),
    ],
    ids=["too few rows", "rate limited", "unusable"],
)
async def test_an_embedder_that_fails_in_any_way_leaves_documents_with_words(
    tmp_path: Path, embedder: BagOfWords
) -> None:
    async with asyncio.timeout(5), DocumentLibrary(tmp_path, embedder=embedder) as library:
        mine = library.for_owner("ann@localhost")
        done = await mine.ingest(Document(text="The ferry is red.", source="ferry.md"))
        found = await mine.retrieve("red ferry")

    assert done.chunks == 1
    assert [one.chunk.source for one in found.chunks] == ["ferry.md"]
    assert found.degraded


async def test_a_question_to_an_embedder_that_fails_is_answered_by_words(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner("ann@localhost")
        await mine.ingest(Document(text="The ferry is red.", source="ferry.md"))
    failing = Failing(RateLimited("slower, please"))
    async with DocumentLibrary(tmp_path, embedder=failing) as library:
        found = await library.for_owner("ann@localhost").retrieve("red ferry")

    assert found.chunks
    assert found.degraded == "embedder unavailable: keywords only"


async def test_calls_behind_a_hanging_batch_wait_for_one_deadline_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spade_llm.rag.passage_embedding.BATCH_TIMEOUT_S", 0.2)
    embedder = Hanging()
    batches = SharedBatches(embedder)
    async with asyncio.timeout(5):
        ended = await asyncio.gather(
            *(batches.embed([f"text {number}"]) for number in range(20 * BATCH)),
            return_exceptions=True,
        )
    await batches.close()

    assert all(isinstance(one, ModelUnavailable) for one in ended)
    assert embedder.asked == 1
