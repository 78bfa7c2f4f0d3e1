"""The words of namespaces in RAM: what is stored, and no more than fits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.keyword_index_cache import PassageIndexCache
from spade_llm.rag.loading.chunking import Passage
from spade_llm.rag.ranking import top_rows
from spade_llm.rag.store.index_records import KeywordStore
from spade_llm.rag.store.library_file import LibraryFile
from spade_llm.rag.store.registry import Registry
from spade_llm.rag.store.schema import MIGRATIONS
from spade_llm.search.bm25 import keyword_scores
from spade_llm.search.passage_index import PassageIndex, assign_chunk_ids, make_keyword_record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from spade_llm.search.passage_index import KeywordRecord

ANN = "ann@localhost"
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord")
documents = st.dictionaries(
    st.integers(1, 6),
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join), min_size=1, max_size=4),
    min_size=1,
)


def put(index: PassageIndex, texts: Mapping[int, Sequence[str]], first_id: int = 0) -> None:
    records = {}
    for document, chunks in texts.items():
        passages = [Passage(text=text, start=0, end=len(text)) for text in chunks]
        ids = [first_id + 100 * document + position for position in range(len(chunks))]
        records[document] = assign_chunk_ids(make_keyword_record(passages), ids)
    index.put(records)


def found_by(index: PassageIndex, query: str) -> dict[int, float]:
    (scored,) = keyword_scores(query, [index])
    rows = np.flatnonzero(scored.shares > 0)
    return dict(zip(index.key.rows[rows].tolist(), scored.shares[rows].tolist(), strict=True))


@given(documents, documents, st.sets(st.integers(1, 6)))
def test_an_index_that_was_changed_scores_as_a_new_one(
    first: Mapping[int, Sequence[str]],
    second: Mapping[int, Sequence[str]],
    removed: set[int],
) -> None:
    changed, fresh = PassageIndex(), PassageIndex()
    put(changed, first)
    put(changed, second, first_id=10_000)
    changed.remove(sorted(removed))
    put(fresh, {d: t for d, t in first.items() if d not in second and d not in removed})
    put(fresh, {d: t for d, t in second.items() if d not in removed}, first_id=10_000)

    assert changed.live_rows == fresh.live_rows
    for word in WORDS:
        assert found_by(changed, f"{word} amber") == pytest.approx(found_by(fresh, f"{word} amber"))


@given(documents, st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join))
def test_shares_and_ranks_are_shares(texts: Mapping[int, Sequence[str]], query: str) -> None:
    index = PassageIndex()
    put(index, texts)

    (scored,) = keyword_scores(query, [index])

    assert ((scored.shares >= 0) & (scored.shares <= 1)).all()
    assert ((scored.ranks >= 0) & (scored.ranks <= 1)).all()
    assert (scored.scores <= scored.shares + 1e-6).all()
    has_all = [all(w in text for w in query.split()) for d in texts for text in texts[d]]
    assert scored.shares[np.array(has_all)] == pytest.approx(1)


@given(documents, st.integers(1, 30))
def test_the_best_rows_are_the_first_of_all_each_text_once(
    texts: Mapping[int, Sequence[str]], limit: int
) -> None:
    index = PassageIndex()
    put(index, texts)
    (scored,) = keyword_scores("amber birch", [index])

    rows = top_rows(scored.scores, index.text.rows, None, limit).tolist()

    hashes = [int(index.text.rows[row]) for row in rows]
    assert len(hashes) == len(set(hashes))
    order = [(-float(scored.scores[row]), row) for row in rows]
    assert order == sorted(order)
    others = set(np.flatnonzero(scored.scores > 0).tolist()) - set(rows)
    if len(rows) == limit and others:
        unseen = [row for row in others if int(index.text.rows[row]) not in hashes]
        assert all(scored.scores[row] <= scored.scores[rows[-1]] for row in unseen)
    elif others:
        assert all(int(index.text.rows[row]) in hashes for row in others)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[LibraryFile]:
    async with DocumentLibrary(tmp_path, embedder=None) as library:
        for namespace in ("one", "two", "three"):
            for number in range(3):
                text = f"The harbour of {namespace}, pier {number}."
                document = Document(text=text, source=f"{number}", namespace=namespace)
                await library.for_owner(ANN).ingest(document)
    path = tmp_path / "documents.sqlite3"
    async with LibraryFile(path, migrations=MIGRATIONS) as opened:
        yield opened


async def test_the_least_recently_used_indexes_are_evicted(database: LibraryFile) -> None:
    numbers = [one.id for one in await Registry(database).namespaces(ANN)]
    indexes = PassageIndexCache(KeywordStore(database), max_bytes=1)

    for number in numbers:
        (index,) = await indexes.current([number])
        assert index.live_rows == 3

    assert len(indexes) == 1


async def test_indexes_of_one_query_are_kept_together(database: LibraryFile) -> None:
    numbers = [one.id for one in await Registry(database).namespaces(ANN)]
    indexes = PassageIndexCache(KeywordStore(database), max_bytes=1)

    assert [index.live_rows for index in await indexes.current(numbers)] == [3, 3, 3]


async def test_a_namespace_that_was_deleted_leaves(database: LibraryFile) -> None:
    registry = Registry(database)
    one, two, three = await registry.namespaces(ANN)
    indexes = PassageIndexCache(KeywordStore(database))
    await indexes.current([one.id, two.id, three.id])

    await registry.remove_namespace(two)
    await indexes.current([one.id])

    assert len(indexes) == 2


async def test_an_index_cache_that_missed_changes_is_reloaded(
    database: LibraryFile,
) -> None:
    registry = Registry(database)
    (namespace, *_) = await registry.namespaces(ANN)
    indexes = PassageIndexCache(KeywordStore(database))
    await indexes.current([namespace.id])

    await registry.remove_document(namespace, "0")
    async with database.transaction() as writer:
        await writer.execute("DELETE FROM changed_documents")
        await writer.execute(
            "INSERT INTO changed_documents (number, namespace_id, document_id) VALUES (900, 0, 0)"
        )

    (index,) = await indexes.current([namespace.id])
    assert index.live_rows == 2


class PausedStore(KeywordStore):
    """Store that pauses in the next read of the kind `paused`, until an event."""

    def __init__(self, database: LibraryFile) -> None:
        super().__init__(database)
        self.paused = ""
        self.has_begun, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def last_change(self) -> int:
        await self._pause("last change")
        return await super().last_change()

    async def records(self, documents: Sequence[int]) -> Mapping[int, KeywordRecord]:
        await self._pause("records")
        return await super().records(documents)

    async def _pause(self, kind: str) -> None:
        if kind == self.paused:
            self.paused = ""
            self.has_begun.set()
            await self.may_go_on.wait()


async def test_a_query_waits_for_changes_that_another_one_reads(database: LibraryFile) -> None:
    registry, store = Registry(database), PausedStore(database)
    (namespace, *_) = await registry.namespaces(ANN)
    indexes = PassageIndexCache(store)
    await indexes.current([namespace.id])
    await registry.remove_document(namespace, "0")

    store.paused = "records"
    reading = asyncio.create_task(indexes.current([namespace.id]))
    await store.has_begun.wait()
    other = asyncio.create_task(indexes.current([namespace.id]))
    # It gets as far as it can at once: the log of changes is read in this thread.
    await asyncio.sleep(0)
    was_early = other.done()
    store.may_go_on.set()

    assert [index.live_rows for (index,) in await asyncio.gather(reading, other)] == [2, 2]
    assert not was_early


async def test_a_change_between_two_first_queries_is_not_missed(database: LibraryFile) -> None:
    registry, store = Registry(database), PausedStore(database)
    (namespace, *_) = await registry.namespaces(ANN)
    indexes = PassageIndexCache(store)

    store.paused = "last change"
    slow = asyncio.create_task(indexes.current([namespace.id]))
    await store.has_begun.wait()
    await indexes.current([namespace.id])
    await registry.remove_document(namespace, "0")
    store.may_go_on.set()

    assert [index.live_rows for index in await slow] == [2]
