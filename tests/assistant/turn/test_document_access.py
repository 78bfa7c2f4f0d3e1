"""What people gave an agent is seen in their own turns only, whoever asks for it how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.turn.document_tools import (
    PersonDocumentRetriever,
    TrustedDocumentRetriever,
    documents_toolbox,
)
from spade_llm.assistant.turn.recall import Recall
from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.contract import RetrievalOptions
from spade_llm.rag.names import personal_namespace
from spade_llm.tools.toolbox import CallContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.rag.library import OwnedLibrary

ME, ANN, BOB, YOU = "assistant@home", "ann@home", "bob@home", "you@home"


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[DocumentLibrary]:
    async with DocumentLibrary(tmp_path, embedder=None, roots=[]) as library:
        yield library


@pytest.fixture
async def mine(library: DocumentLibrary) -> OwnedLibrary:
    mine = library.for_owner(ME)
    for whose, text in (
        ("default", "The harbour opens at six."),
        (personal_namespace(ANN), "Ann's berth in the harbour is number four."),
        (personal_namespace(BOB), "Bob owes the harbour nine hundred."),
    ):
        await mine.ingest(Document(text=text, source="harbour.md", namespace=whose))
    return mine


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


@pytest.fixture
async def granted(library: DocumentLibrary, mine: OwnedLibrary) -> OwnedLibrary:
    """Ann and Bob, and the operator, have documents of their own, and let the agent read some."""
    for owner, name, text in (
        (ANN, "default", "Ann's boat in the harbour is the Heron."),
        (ANN, "diary", "Ann dreams of the harbour."),
        (BOB, "default", "Bob's boat in the harbour is the Owl."),
        (YOU, "manuals", "The harbour master is called Nils."),
    ):
        hers = library.for_owner(owner)
        await hers.ingest(Document(text=text, source="h.md", namespace=name))
        if name != "diary":
            await hers.grant(name, to=ME)
    return mine


NAMED = [(), ("default",), ("default", "nowhere"), (f"{ANN}/default", "default", f"{BOB}/default")]


@pytest.mark.parametrize("names", NAMED)
async def test_granted_documents_are_found_in_the_turns_of_their_owner_only(
    granted: OwnedLibrary, names: tuple[str, ...]
) -> None:
    trusted = TrustedDocumentRetriever(granted, shared=(f"{YOU}/manuals",))

    async def found_by(person: str) -> str:
        seen = PersonDocumentRetriever(trusted, person=person)
        found = await seen.retrieve("harbour", k=20, options=RetrievalOptions(namespaces=names))
        return " ".join(one.chunk.text for one in found.chunks)

    assert "opens at six" in await found_by(ANN)
    assert "Heron" in await found_by(ANN)
    assert "Owl" not in await found_by(ANN)
    assert "dreams" not in await found_by(ANN)
    assert "Heron" not in await found_by(BOB)
    assert "Owl" in await found_by(BOB)
    assert "opens at six" in await found_by("eve@home")
    assert "boat" not in await found_by("eve@home")
    assert ("Nils" in await found_by("eve@home")) is not bool(names)


@pytest.mark.parametrize("name", ["nowhere", "diary", f"{BOB}/default", "eve@home/nowhere"])
async def test_a_name_that_is_nowhere_or_not_granted_is_an_empty_answer(
    granted: OwnedLibrary, name: str
) -> None:
    seen = PersonDocumentRetriever(TrustedDocumentRetriever(granted, shared=()), person=ANN)

    found = await seen.retrieve("harbour", options=RetrievalOptions(namespaces=(name,)))

    assert found.chunks == ()


async def test_the_list_has_documents_granted_by_this_person_and_public_ones(
    granted: OwnedLibrary,
) -> None:
    toolbox = documents_toolbox(granted, granted, shared=(YOU,))

    async def listed(**arguments: object) -> str:
        context = CallContext(on_behalf_of=ANN)
        return (await toolbox.call("list_documents", arguments, context=context)).text

    assert f"{ANN}/default" in await listed()
    assert f"{YOU}/manuals" in await listed()
    assert BOB not in await listed()
    assert "h.md" in await listed(namespace=f"{ANN}/default")
    assert "h.md" not in await listed(namespace=f"{BOB}/default")


async def test_a_request_without_a_principal_sees_no_files(mine: OwnedLibrary) -> None:
    text = await said_to(mine, "", "search_documents", query="harbour")

    assert "six" in text
    assert "number four" not in text
    assert "nine hundred" not in text
