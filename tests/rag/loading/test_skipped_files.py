"""A folder with everything that can be wrong with files: the rest is taken, and all is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.rag import DocumentLibrary, RetrievalOptions
from tests.rag.files import with_part, write_docx, write_pdf

if TYPE_CHECKING:
    from pathlib import Path

OWNER = "ada@localhost"


@pytest.mark.thorough
async def test_unreadable_files_are_skipped_with_a_reason(
    tmp_path: Path,
) -> None:
    root = tmp_path / "documents"
    (root / "empty").mkdir(parents=True)
    (root / "broken.pdf").write_bytes(b"%PDF-1.7 nonsense")
    with (root / "huge.txt").open("wb") as file:
        file.truncate(1_000_000_000)
    write_docx(root / "bomb.docx", "T", {"One": "x"})
    with_part(root / "bomb.docx", "word/media/a.png", bytes(260_000_000))
    (root / "latin.txt").write_bytes(b"caf\xe9")
    (root / "good.md").write_text("# Herons\n\nThey wade.")
    write_pdf(root / "good.pdf", ["First page.", "Second page."], headings={1: "Part two"})

    async with DocumentLibrary(tmp_path / "rag", embedder=None, roots=[root]) as library:
        documents = library.for_owner(OWNER)
        done = await documents.ingest_path(".")
        found = await documents.retrieve(
            "second page", options=RetrievalOptions(merge_neighbours=False)
        )

    reasons = {one.source: one.left_out for one in done if one.left_out}
    assert sorted(reasons) == ["bomb.docx", "broken.pdf", "huge.txt", "latin.txt"]
    assert "zip bomb" in reasons["bomb.docx"]
    assert "damaged PDF" in reasons["broken.pdf"]
    assert "larger than" in reasons["huge.txt"]
    assert "save it as UTF-8" in reasons["latin.txt"]
    assert [one.source for one in done if one.chunks] == ["good.md", "good.pdf"]
    best = found.chunks[0].chunk
    assert (best.source, best.heading, best.page) == ("good.pdf", "Part two", 2)
