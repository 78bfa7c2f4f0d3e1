"""What people gave an agent is seen in their own turns only, whoever asks for it how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.conversation.documents_toolbox import documents_toolbox
from spade_llm.conversation.recall import Recall
from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.names import personal_namespace
from spade_llm.tools.toolbox import CallContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.rag.owned_library import OwnedLibrary

ANN, BOB = "ann@home", "bob@home"


@pytest.fixture
async def mine(tmp_path: Path) -> AsyncIterator[OwnedLibrary]:
    async with DocumentLibrary(tmp_path, embedder=None, roots=[]) as library:
        mine = library.for_owner("assistant@home")
        for whose, text in (
            ("default", "The harbour opens at six."),
            (personal_namespace(ANN), "Ann's berth in the harbour is number four."),
            (personal_namespace(BOB), "Bob owes the harbour nine hundred."),
        ):
            await mine.ingest(Document(text=text, source="harbour.md", namespace=whose))
        yield mine


async def said_to(mine: OwnedLibrary, person: str, tool: str, **arguments: object) -> str:
    toolbox = documents_toolbox(mine, mine)
    context = CallContext(on_behalf_of=person)
    return (await toolbox.call(tool, arguments, context=context)).text


async def test_a_turn_recalls_what_its_own_person_shared(mine: OwnedLibrary) -> None:
    recall = Recall(memory=None, retriever=mine)

    found = await recall.about("harbour", subject=ANN)

    texts = " ".join(one.chunk.text for one in found.passages)
    assert "six" in texts
    assert "number four" in texts
    assert "nine hundred" not in texts


async def test_the_model_searches_what_its_own_person_shared(mine: OwnedLibrary) -> None:
    text = await said_to(mine, BOB, "search_documents", query="harbour")

    assert "six" in text
    assert "nine hundred" in text
    assert "number four" not in text


@pytest.mark.parametrize("name", [personal_namespace(ANN), f"a@b/{personal_namespace(ANN)}"])
async def test_a_model_that_names_anothers_files_is_refused(mine: OwnedLibrary, name: str) -> None:
    found = await said_to(mine, BOB, "search_documents", query="harbour", namespaces=[name])
    listed = await said_to(mine, BOB, "list_documents", namespace=name)

    assert "another person" in found
    assert "another person" in listed


async def test_the_list_names_only_ones_own_files(mine: OwnedLibrary) -> None:
    text = await said_to(mine, ANN, "list_documents")
    own = await said_to(mine, ANN, "list_documents", namespace=personal_namespace(ANN))

    assert "files of the person you talk with" in text
    assert personal_namespace(BOB) not in text
    assert "harbour.md" in own


async def test_whoever_talks_for_nobody_sees_nobodys_files(mine: OwnedLibrary) -> None:
    text = await said_to(mine, "", "search_documents", query="harbour")

    assert "six" in text
    assert "number four" not in text
    assert "nine hundred" not in text
