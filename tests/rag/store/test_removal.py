"""What was deleted is in no file any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.rag import Document, DocumentLibrary
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from pathlib import Path

OWNER = "ann@localhost"


def files_with(directory: Path, words: bytes) -> list[str]:
    return [
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.is_file() and words.lower() in path.read_bytes().lower()
    ]


def planted(number: int) -> Document:
    """Its words begin differently from all others: where words are stored in order, only the rest
    of one that begins as the one before may be."""
    letter = chr(ord("a") + number)
    return Document(
        text=f"# Plans\n\nThe {letter}swordfish sleeps. " + "Nothing else is here. " * 80,
        source=f"{letter}marlin.md",
        metadata={"author": f"{letter}zebulon"},
    )


PLANTED = ("swordfish", "marlin", "zebulon")


async def test_a_deleted_document_is_in_no_file(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        for number in range(20):
            await mine.ingest(planted(number))
        assert files_with(tmp_path, b"hswordfish")

        await mine.delete(namespace="default", source="hmarlin.md")

        left = [files_with(tmp_path, f"h{word}".encode()) for word in PLANTED]
        assert left == [[], [], []]
        assert files_with(tmp_path, b"iswordfish")


async def test_a_deleted_namespace_is_in_no_file(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        for number in range(20):
            document = planted(number)
            await mine.ingest(
                Document(text=document.text, source=document.source, namespace="halibut")
            )
        await mine.grant("halibut", to="eve@haddock")

        await mine.delete(namespace="halibut")

        left = [files_with(tmp_path, word.encode()) for word in (*PLANTED, "halibut", "haddock")]
        assert left == [[], [], [], [], []]


async def test_leftovers_of_a_new_version_are_removed_with_the_next_deletion(
    tmp_path: Path,
) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        await mine.ingest(planted(1))
        await mine.ingest(Document(text="Nothing to see.", source="bmarlin.md"))
        await mine.ingest(Document(text="Other.", source="other.md"))

        await mine.delete(namespace="default", source="other.md")

        assert files_with(tmp_path, b"bswordfish") == []


async def test_the_vectors_of_a_deleted_namespace_are_gone_from_chroma(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        await mine.ingest(planted(1))
        folders = [path for path in (tmp_path / "chroma").iterdir() if path.is_dir()]
        await mine.delete(namespace="default")

        assert folders
        assert [path for path in (tmp_path / "chroma").iterdir() if path.is_dir()] == []
