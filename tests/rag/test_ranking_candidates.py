"""Looking at few candidates finds what looking at all of them would."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.keyword_index_cache import PassageIndexCache
from spade_llm.rag.search import HybridSearch, MetadataFilters
from spade_llm.rag.store.chroma_index import ChromaIndex
from spade_llm.rag.store.index_records import KeywordStore
from spade_llm.rag.store.library_file import LibraryFile
from spade_llm.rag.store.registry import Registry
from spade_llm.rag.store.schema import MIGRATIONS
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from pathlib import Path

OWNER = "ann@localhost"
DOCUMENTS = 80
_NAMES = "amber birch cedar delta ember fjord grove heron inlet jetty kelp larch marsh"
WORDS = _NAMES.split()


@pytest.mark.thorough
@pytest.mark.parametrize("away_from", [DOCUMENTS, DOCUMENTS // 2], ids=["embedded", "half of them"])
async def test_a_small_pool_gives_the_same_best_as_a_large_one(
    tmp_path: Path, away_from: int
) -> None:
    embedder = BagOfWords()
    chance = random.Random(3)
    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        mine = library.for_owner(OWNER)
        for number in range(DOCUMENTS):
            embedder.is_away = number >= away_from
            text = " ".join(chance.choices(WORDS, k=chance.randint(3, 40))) + f" n{number}"
            namespace = "ab"[number % 2]
            await mine.ingest(Document(text=text, source=str(number), namespace=namespace))
    embedder.is_away = False

    async with LibraryFile(tmp_path / "documents.sqlite3", migrations=MIGRATIONS) as database:
        index = ChromaIndex(tmp_path / "chroma")
        registry = Registry(database)
        namespaces = await registry.namespaces(OWNER)
        small, large = (
            HybridSearch(
                registry,
                PassageIndexCache(KeywordStore(database)),
                MetadataFilters(database),
                index,
                embedder=embedder,
                pool=pool,
                min_score=0,
            )
            for pool in (10, 1000)
        )
        for _ in range(20):
            query = " ".join(chance.sample(WORDS, 3)) + f" n{chance.randrange(DOCUMENTS)}"
            few = await small.search(namespaces, query, 5)
            many = await large.search(namespaces, query, 5)
            assert [one.score for one in few.chunks] == pytest.approx(
                [one.score for one in many.chunks], abs=0.02
            )
        await index.close()
