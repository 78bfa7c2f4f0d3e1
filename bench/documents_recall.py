"""How well facts are found in documents, beside chromadb with the same vectors and SQLite FTS5.

The corpus is generated (bench/planted_documents.py); all have the same passages. A fact is found if
one of the first five passages says it. There is no search by meaning alone in the library: that is
what chromadb beside it has, with the very vectors that the library made.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.embedder import local_embedder
from bench.locomo_baselines import any_word
from bench.planted_documents import OTHER_WORDS, OWN_WORDS, planted_documents
from bench.row import Goal, Row, Scale, check
from spade_llm.rag import Document, DocumentLibrary, Splitting, split
from spade_llm.rag.contract import RetrievalOptions
from spade_llm.rag.loading.chunking import HeadingMarkup

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from numpy.typing import NDArray

    from bench.planted_documents import PlantedDocument
    from bench.stage import Stage
    from spade_llm.providers import Embedder

    Way = Callable[[str], Awaitable[Sequence[str]]]
    """The texts of the passages that a question finds, best first."""
    Shares = dict[str, float]
    """Of the facts that were found, by the way of asking."""

TOP = 5
OWNER = "bench@localhost"
OPTIONS = RetrievalOptions(min_score=0.0, merge_neighbours=False)
"""As the others: so many passages, however little they say."""
CHROMADB, FTS5 = "chromadb alone", "FTS5 alone"
FTS_TABLE = "CREATE VIRTUAL TABLE passage USING fts5 (text, tokenize='porter unicode61')"
FTS_SEARCH = "SELECT text FROM passage WHERE passage MATCH ? ORDER BY bm25(passage) LIMIT ?"


class RememberedVectors:
    """Another embedder's, each text once: so that who is compared has the same."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dimension = embedder.name, embedder.dimension
        self._known: dict[str, NDArray[np.float32]] = {}

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known |= dict(zip(new, await self._embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    documents = planted_documents(scale.of(48, quick=4))
    with tempfile.TemporaryDirectory(prefix="documents-") as folder:
        async with local_embedder(Path(folder)) as model:
            if model is None:
                print("documents-recall: left out, no weights are installed", file=sys.stderr)
                return []
            return await _measure(Path(folder), documents, RememberedVectors(model))


async def _measure(
    folder: Path, documents: Sequence[PlantedDocument], embedder: RememberedVectors
) -> list[Row]:
    passages = [
        passage.text
        for document in documents
        for passage in split(document.text, Splitting(), markup=HeadingMarkup.PLAIN)
    ]
    _check_passages(documents, passages)
    both = await _by_library(folder / "both", documents, embedder)
    words = await _by_library(folder / "words", documents, None)
    collection = await _chroma(folder / "chroma", passages, embedder)
    peers = {
        CHROMADB: await _shares(lambda text: _by_chroma(collection, text, embedder), documents),
        FTS5: await _by_fts(folder / "fts", documents, passages),
    }
    note = f"{len(passages)} passages, {sum(len(one.facts) for one in documents)} facts"
    return [
        *_rows("words and meaning", both, peers, note),
        *_rows("words alone", words, {FTS5: peers[FTS5]}, note),
    ]


def _check_passages(documents: Sequence[PlantedDocument], passages: Sequence[str]) -> None:
    lost = [
        fact.sentence
        for document in documents
        for fact in document.facts
        if not any(fact.sentence in passage for passage in passages)
    ]
    check(not lost, f"cut in two: {lost[:1]}")


async def _by_library(
    folder: Path, documents: Sequence[PlantedDocument], embedder: Embedder | None
) -> Shares:
    async with DocumentLibrary(folder, embedder=embedder) as library:
        mine = library.for_owner(OWNER)
        for document in documents:
            await mine.ingest(Document(text=document.text, source=document.source))

        async def search(text: str) -> list[str]:
            found = await mine.retrieve(text, k=TOP, options=OPTIONS)
            check(embedder is None or not found.degraded, found.degraded)
            return [one.chunk.text for one in found.chunks]

        return await _shares(search, documents)


async def _shares(search: Way, documents: Sequence[PlantedDocument]) -> Shares:
    asked = [
        (way, fact.sentence, question)
        for document in documents
        for fact in document.facts
        for way, question in fact.questions
    ]
    found: dict[str, list[bool]] = {OWN_WORDS: [], OTHER_WORDS: []}
    for way, sentence, question in asked:
        texts = await search(question)
        check(len(texts) <= TOP, f"{len(texts)} passages instead of {TOP}")
        found[way].append(any(sentence in text for text in texts))
    return {way: mean(map(float, each)) for way, each in found.items()}


async def _chroma(folder: Path, passages: Sequence[str], embedder: RememberedVectors) -> Any:
    import chromadb

    collection = chromadb.PersistentClient(str(folder)).create_collection(
        "bench", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    collection.add(
        ids=[str(number) for number in range(len(passages))],
        embeddings=await embedder.embed(passages),
        documents=list(passages),
    )
    check(collection.count() == len(passages), "chromadb lost passages")
    return collection


async def _by_chroma(collection: Any, text: str, embedder: RememberedVectors) -> list[str]:
    found = collection.query(query_embeddings=await embedder.embed([text]), n_results=TOP)
    return [str(one) for one in found["documents"][0]]


async def _by_fts(
    path: Path, documents: Sequence[PlantedDocument], passages: Sequence[str]
) -> Shares:
    with closing(sqlite3.connect(path)) as file:
        file.execute(FTS_TABLE)
        file.executemany("INSERT INTO passage VALUES (?)", ((text,) for text in passages))

        async def search(text: str) -> list[str]:
            return [one for (one,) in file.execute(FTS_SEARCH, (any_word(text), TOP))]

        return await _shares(search, documents)


def _rows(label: str, ours: Shares, peers: dict[str, Shares], note: str) -> list[Row]:
    """For each way of asking, and each of the others."""
    return [
        Row(
            name=f"documents: recall@{TOP}, {label}, {way}, beside {peer}",
            unit="",
            ours=ours[way],
            baseline=shares[way],
            baseline_name=peer,
            goal=Goal(limit=1, is_ratio=True, is_least=True),
            note=note,
        )
        for way in (OWN_WORDS, OTHER_WORDS)
        for peer, shares in peers.items()
    ]
