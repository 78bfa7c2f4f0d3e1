"""Documents, loaders, splitters and stores, as programs written for spade_llm 0.3 use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.rag import (
    CharacterTextSplitter,
    Chroma,
    DirectoryLoader,
    Document,
    DocumentLibrary,
    RecursiveCharacterTextSplitter,
    TextLoader,
    VectorStoreRetriever,
)
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from pathlib import Path

SEA = Document("The sea is salty and wide", {"source": "sea.txt", "topic": "water"})
LAKE = Document("A lake is not salty", {"source": "lake.txt", "topic": "water"})
STONE = Document("Granite is a hard stone", {"source": "stone.txt", "topic": "rock"})


async def vectors(texts: list[str]) -> list[list[float]]:
    found = await BagOfWords().embed(texts)
    return [[float(number) for number in vector] for vector in found]


def test_a_document_is_made_in_both_forms() -> None:
    ours = Document(text="hello", source="a.md", namespace="notes")
    theirs = Document(content="hello", metadata={"source": "a.md"})

    assert (ours.text, ours.content, ours.source, ours.namespace) == (
        *("hello", "hello", "a.md", "notes"),
    )
    assert (theirs.text, theirs.content, theirs.source) == ("hello", "hello", "a.md")
    assert Document.from_dict(theirs.to_dict()) == theirs


def test_a_document_without_text_or_with_two_is_an_error() -> None:
    with pytest.raises(TypeError, match="once"):
        Document(metadata={})
    with pytest.raises(TypeError, match="once"):
        Document("a", text="b")


async def test_documents_loaded_by_a_program_go_into_the_library(tmp_path: Path) -> None:
    (tmp_path / "sea.md").write_text("The sea has 7 parts.", encoding="utf-8")
    (tmp_path / "skip.bin").write_bytes(b"\xff")
    loaded = await DirectoryLoader(tmp_path, "**/*.{md,txt}", metadata={"by": "ada"}).load()
    library = DocumentLibrary(tmp_path / "rag", embedder=None, roots=())

    async with library:
        own = library.for_owner("ada@localhost")
        await own.ingest(loaded[0])
        found = await own.retrieve("sea parts", k=1)

    assert [one.metadata["by"] for one in loaded] == ["ada"]
    assert found.chunks[0].chunk.text == "The sea has 7 parts."


async def test_a_file_that_cannot_be_read_is_left_out_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00broken")
    (tmp_path / "b.txt").write_text("fine")

    loaded = await DirectoryLoader(tmp_path).load()

    assert [one.content for one in loaded] == ["fine"]
    with pytest.raises(UnicodeDecodeError):
        await TextLoader(tmp_path / "a.txt").load()


@given(
    st.text(alphabet="ab .\n", max_size=300),
    st.integers(min_value=1, max_value=40),
    st.integers(min_value=0, max_value=40),
)
def test_chunks_are_slices_of_their_size_that_lose_nothing(
    text: str, size: int, overlap: int
) -> None:
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=size, chunk_overlap=min(overlap, size), strip_whitespace=False
    )

    chunks = splitter.split_documents([Document(text, {"source": "x"})])
    starts = [int(chunk.metadata["start_index"]) for chunk in chunks]
    covered = {
        place
        for start, chunk in zip(starts, chunks, strict=True)
        for place in range(start, start + len(chunk.text))
    }

    assert all(len(chunk.text) <= size for chunk in chunks)
    assert all(
        text[start : start + len(chunk.text)] == chunk.text
        for start, chunk in zip(starts, chunks, strict=True)
    )
    assert starts == sorted(set(starts))
    assert covered == set(range(len(text)))


def test_one_separator_leaves_longer_stretches_whole() -> None:
    splitter = CharacterTextSplitter(separator="\n\n", chunk_size=12, chunk_overlap=0)

    chunks = splitter.split_text("one\n\ntwo\n\na stretch without a break\n\nend")

    assert chunks == ["one\n\ntwo", "a stretch without a break", "end"]


def test_neighbours_share_up_to_the_overlap() -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=11, chunk_overlap=5)

    chunks = splitter.split_text("aaaa bbbb cccc dddd")

    assert chunks == ["aaaa bbbb", "bbbb cccc", "cccc dddd"]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 11), (10, -1)])
def test_sizes_that_cannot_be_are_named(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="chunk_size"):
        RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap)


async def test_a_store_finds_filters_changes_and_forgets(tmp_path: Path) -> None:
    async with Chroma("facts", vectors, persist_directory=tmp_path / "db") as store:
        await store.add_documents([SEA, LAKE, STONE])
        retriever = VectorStoreRetriever(store)
        nearest = await retriever.retrieve("salty sea", k=1)
        rocks = await retriever.retrieve("salty sea", k=3, filters={"topic": "rock"})
        varied = await retriever.retrieve("salty sea", k=2, search_type="mmr", lambda_mult=0.1)
        scored = await store.similarity_search_with_score("salty sea", k=3)
        await store.update_document(STONE.id, Document("Granite is salty", {"topic": "rock"}))
        changed = await store.get_by_ids([STONE.id])
        await store.delete([SEA.id])

        assert [one.id for one in nearest] == [SEA.id]
        assert [one.id for one in rocks] == [STONE.id]
        assert [one.id for one in varied] == [SEA.id, STONE.id]
        assert [score for _, score in scored] == sorted((s for _, s in scored), reverse=True)
        assert [one.content for one in changed] == ["Granite is salty"]
        assert await store.get_document_count() == 2


async def test_a_persistent_directory_is_read_again(tmp_path: Path) -> None:
    async with Chroma("facts", vectors, persist_directory=tmp_path / "db") as store:
        await store.add_documents([SEA])
    async with Chroma("facts", vectors, persist_directory=tmp_path / "db") as store:
        found = await store.similarity_search("sea", k=1)

    assert found[0].metadata == SEA.metadata


def test_a_store_is_in_one_place() -> None:
    with pytest.raises(ValueError, match="persist_directory, host"):
        Chroma(persist_directory="x", host="localhost")
