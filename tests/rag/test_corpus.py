"""The planted facts are where the questions say, and are found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.rag import split
from spade_llm.rag.loading.chunking import heading_markup
from spade_llm.rag.loading.loader import FoundFile, Loader
from tests.rag.corpus import write_corpus

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.thorough
def test_every_planted_sentence_stands_in_a_passage_of_its_document_alone(tmp_path: Path) -> None:
    planted = write_corpus(tmp_path, notes=200, pages=60)
    passages: list[tuple[str, str]] = []
    with Loader([tmp_path]) as loader:
        for file in loader.find("."):
            assert isinstance(file, FoundFile)
            document = loader.read(file).document(file.source, "default")
            markup = heading_markup(document.source, document.is_markdown)
            passages += [(file.source, one.text) for one in split(document.text, markup=markup)]

    for one in planted:
        holding = [place for place in passages if one.is_answered_by(*place)]
        # Two, if it lies where two passages overlap.
        assert 1 <= len(holding) <= 2, one
    assert len({one.question for one in planted}) == len(planted) == 30


def test_the_corpus_is_the_same_every_time(tmp_path: Path) -> None:
    first = write_corpus(tmp_path / "a", notes=30, pages=10)
    again = write_corpus(tmp_path / "b", notes=30, pages=10)

    assert first == again
    notes = [sorted((tmp_path / name / "notes").iterdir()) for name in "ab"]
    assert [one.read_bytes() for one in notes[0]] == [one.read_bytes() for one in notes[1]]
