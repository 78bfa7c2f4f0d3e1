"""Query vectors of callers: what is accepted, and what they may influence."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest

from spade_llm.assistant.turn.recall import Recall
from spade_llm.core.errors import InvalidArguments
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.contract import ObservedMessage
from spade_llm.rag import Document, DocumentLibrary, RetrievalOptions
from spade_llm.search.memory_query import MemoryQuery, SearchMode
from spade_llm.search.query_vector import QueryVector
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

ADA, BOB = "ada@localhost", "bob@localhost"
CATS, TRAINS = "cats sleeping on the sofa", "trains that run late"
MODEL, NOW = BagOfWords().name, datetime(2026, 3, 1, tzinfo=UTC)


async def vector_of(text: str) -> NDArray[np.float32]:
    (vector,) = await BagOfWords().embed([text])
    return np.asarray(vector)


async def test_a_vector_comes_back_nearly_as_it_was() -> None:
    vector = await vector_of(CATS)

    unpacked = QueryVector.of(MODEL, vector).unpack(MODEL, 256)

    assert unpacked is not None
    assert float(unpacked @ vector) > 0.99999


@pytest.mark.parametrize(
    ("vector", "complaint"),
    [
        (np.ones(255), "has 510 bytes"),
        (np.ones(256), "length 1, not 16"),
        (np.zeros(256), "length 1, not 0"),
        (np.full(256, np.nan), "length 1, not nan"),
        (np.full(256, np.inf), "length 1, not inf"),
    ],
)
async def test_what_is_no_vector_of_the_model_is_rejected(
    vector: NDArray[np.float64], complaint: str, tmp_path: Path
) -> None:
    given = QueryVector.of(MODEL, vector.astype(np.float32))

    async with SQLiteMemoryBackend(":memory:", embedder=BagOfWords()) as backend:
        with pytest.raises(InvalidArguments, match=complaint):
            await backend.for_owner(ADA).search(MemoryQuery(text=CATS, vector=given))
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(ADA)
        await mine.ingest(Document(text=CATS, source="a.md"))
        with pytest.raises(InvalidArguments, match=complaint):
            await mine.retrieve(CATS, options=RetrievalOptions(vector=given))


def test_text_that_is_no_base64_is_rejected() -> None:
    with pytest.raises(InvalidArguments, match="Base64"):
        QueryVector(model=MODEL, data="ñ").unpack(MODEL, 256)


async def test_a_vector_decides_what_its_own_query_finds_and_that_of_no_other_owner() -> None:
    query = MemoryQuery(text=CATS, mode=SearchMode.SEMANTIC, limit=1)
    misleading = replace(query, vector=QueryVector.of(MODEL, await vector_of(TRAINS)))
    async with SQLiteMemoryBackend(":memory:", embedder=BagOfWords()) as backend:
        stores = [backend.for_owner(owner) for owner in (ADA, BOB)]
        for store in stores:
            for text in (CATS, TRAINS):
                await store.add(MemoryDraft(content=text))
        await backend.wait_idle()

        found = [(await store.search(misleading)).hits[0].entry.content for store in stores]
        after = [(await store.search(query)).hits[0].entry.content for store in stores]

    assert found == [TRAINS, TRAINS]
    assert after == [CATS, CATS]


async def test_a_vector_is_kept_for_the_message_that_its_owner_stores_next() -> None:
    embedder = BagOfWords()
    given = QueryVector.of(MODEL, await vector_of(CATS))
    async with SQLiteMemoryBackend(":memory:", embedder=embedder) as backend:
        await backend.for_owner(ADA).search(MemoryQuery(text=CATS, vector=given))
        for owner, count in ((ADA, 0), (BOB, 1)):
            message = ObservedMessage(id="1", role="user", content=CATS, at=NOW)
            await backend.for_owner(owner).observe("c", [message])
            await backend.wait_idle()

            assert embedder.embedded == count


async def test_a_vector_of_another_model_is_ignored(tmp_path: Path) -> None:
    embedder, given = BagOfWords(), QueryVector.of("another/1", await vector_of(TRAINS))
    async with SQLiteMemoryBackend(":memory:", embedder=embedder) as backend:
        await backend.for_owner(ADA).search(MemoryQuery(text=CATS, vector=given))
    assert embedder.embedded == 1

    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        mine = library.for_owner(ADA)
        await mine.ingest(Document(text=CATS, source="a.md"))
        before = embedder.embedded
        await mine.retrieve(CATS, options=RetrievalOptions(vector=given))
    assert embedder.embedded == before + 1


async def test_a_question_to_memory_and_documents_is_embedded_once(tmp_path: Path) -> None:
    embedder = BagOfWords()
    async with (
        SQLiteMemoryBackend(":memory:", embedder=embedder) as backend,
        DocumentLibrary(tmp_path, embedder=embedder) as library,
    ):
        memory, documents = backend.for_owner(ADA), library.for_owner(ADA)
        await memory.add(MemoryDraft(content="Cats sleep on Bob's sofa", subject=BOB))
        await documents.ingest(Document(text=CATS, source="a.md"))
        await backend.wait_idle()
        before = embedder.embedded
        recall = Recall(memory=memory, retriever=documents, embedder=embedder)

        recalled = await recall.about("Where do the cats sleep?", subject=BOB)

    assert embedder.embedded == before + 1
    assert recalled.memories and recalled.passages
