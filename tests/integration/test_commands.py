"""A person sees what an assistant knows, reads and can do, and corrects it, by text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import AssistantConfig, Services
from spade_llm.memory import MemoryDraft
from spade_llm.memory.contract import MemoryChange
from spade_llm.memory.remote import MemoryClient
from spade_llm.rag.contract import SourceDocument
from spade_llm.rag.names import personal_namespace
from spade_llm.rag.remote import RagClient
from spade_llm.search.memory_query import MemoryQuery
from spade_llm.tools import tool
from tests.integration.network import answer_to, export_to, jid_of

if TYPE_CHECKING:
    from spade_llm.agents import LLMAgent
    from tests.integration.network import Network
    from tests.xmpp.client import Client

pytestmark = pytest.mark.parametrize("server", ["embedded"], indirect=True)
"""They are the assistant's own doing: what carries them is tested elsewhere."""


@tool
def dice() -> int:
    """Roll a die."""
    return 4


@tool(needs_approval=True)
def rocket() -> str:
    """Launch a rocket.

    Behind this nobody looks."""
    return "gone"


async def reminded(network: Network) -> tuple[LLMAgent, Client]:
    """An assistant that remembers Ada's tea and rowing, and Bob's coffee."""
    memory, ada = await network.memory(), await network.person()
    assistant = await network.assistant(services=Services(memory=jid_of(memory)))
    store = MemoryClient(assistant.node.requester, jid_of(memory))
    await store.add(MemoryDraft(content="Ada likes tea", subject=ada.bare))
    await store.add(MemoryDraft(content="Ada rows", subject=ada.bare))
    await store.add(MemoryDraft(content="Bob likes coffee", subject="bob@localhost"))
    return assistant, ada


def number_of(answer: str, words: str) -> str:
    return next(line for line in answer.splitlines() if words in line).partition(" ")[0]


async def test_a_memory_is_corrected_at_the_assistant(network: Network) -> None:
    assistant, ada = await reminded(network)
    tea = number_of(await answer_to(ada, assistant, "/memories"), "tea")

    corrected = await answer_to(ada, assistant, f"/correct {tea} Ada likes **green** tea")
    listed = await answer_to(ada, assistant, "/memories")

    assert corrected == "Corrected: Ada likes green tea"
    assert "Ada likes green tea" in listed
    assert "/correct NUMBER" in listed


async def test_memories_are_short_plain_items_newest_first_and_numbered(network: Network) -> None:
    assistant, ada = await reminded(network)
    memory = assistant.memory_behaviour.memory
    assert memory is not None
    for content in ("## Boats\n\n**Ada** has `two` [boats](https://x.y/z)", "Ada sings " * 100):
        await memory.add(MemoryDraft(content=content, subject=ada.bare))

    listed = (await answer_to(ada, assistant, "/memories")).splitlines()

    assert listed[0] == "What I remember about you, newest first:"
    assert listed[1].startswith("1. Ada sings Ada sings")
    assert len(listed[1]) < 170
    assert listed[2:5] == ["2. Boats Ada has two boats", "3. Ada rows", "4. Ada likes tea"]


async def test_a_number_means_its_place_in_the_list_that_was_shown_last(network: Network) -> None:
    assistant, ada = await reminded(network)

    before = await answer_to(ada, assistant, "/forget 1")
    await answer_to(ada, assistant, "/memories")
    corrected = await answer_to(ada, assistant, "/correct 1 Ada sails")
    forgotten = await answer_to(ada, assistant, "/forget 2")
    listed = await answer_to(ada, assistant, "/memories")

    assert "has the number '1'" in before
    assert corrected == "Corrected: Ada sails"
    assert forgotten == "Forgotten."
    assert "1. Ada sails" in listed
    assert "tea" not in listed


async def test_superseded_facts_are_marked_and_restored_by_a_correction(
    network: Network,
) -> None:
    assistant, ada = await reminded(network)
    memory = assistant.memory_behaviour.memory
    assert memory is not None
    (tea,) = (await memory.search(MemoryQuery(text="tea"))).hits
    await memory.update(MemoryChange(id=tea.entry.id, invalid_at=datetime(2026, 3, 1, tzinfo=UTC)))

    listed = await answer_to(ada, assistant, "/memories")
    found = await answer_to(ada, assistant, "/memories tea")
    corrected = await answer_to(ada, assistant, f"/correct {tea.entry.id[:8]} Ada likes tea")

    assert "2. Ada likes tea (no longer true since 2026-03-01)" in listed
    assert "1. Ada likes tea (no longer true since 2026-03-01)" in found
    assert corrected == "Corrected: Ada likes tea"
    (again,) = (await memory.search(MemoryQuery(text="tea"))).hits
    assert again.entry.id == tea.entry.id


async def test_a_list_has_only_what_has_its_words(network: Network) -> None:
    assistant, ada = await reminded(network)

    found = await answer_to(ada, assistant, "/memories tea")
    nothing = await answer_to(ada, assistant, "/memories dentist")

    assert "1. Ada likes tea" in found
    assert "rows" not in found
    assert nothing == "I remember nothing about you with these words."
    assert "no command /foo" in await answer_to(ada, assistant, "/foo")


async def test_everything_is_forgotten_after_one_question(network: Network) -> None:
    assistant, ada = await reminded(network)

    asked = [await answer_to(ada, assistant, text) for text in ("/forget all", "/forget todo")]
    listed = await answer_to(ada, assistant, "/memories")
    one = await answer_to(ada, assistant, "/forget " + number_of(listed, "rows").rstrip("."))
    done = await answer_to(ada, assistant, "/forget all yes")

    assert all("/forget all yes" in text for text in asked)
    assert "Ada likes tea" in listed
    assert one == "Forgotten."
    assert done == "Forgotten: 1 memory and our conversations."


@pytest.mark.parametrize(
    ("request_in_words", "yes", "done"),
    [
        ("Delete everything you know about me", "yes please", "Forgotten: "),
        ("olvida todo lo que sabes de mí", "sí", "Olvidado: "),
        ("/forget all", "Yes.", "Forgotten: "),
        ("/olvidar todo", "sí, por favor", "Olvidado: "),
    ],
)
async def test_everything_is_forgotten_in_words_after_one_question(
    network: Network, request_in_words: str, yes: str, done: str
) -> None:
    assistant, ada = await reminded(network)

    asked = await answer_to(ada, assistant, request_in_words)
    # Whatever else is said instead of a yes ends the question.
    await answer_to(ada, assistant, "What time is it?")
    await answer_to(ada, assistant, yes)
    kept = await answer_to(ada, assistant, "/memories")
    await answer_to(ada, assistant, request_in_words)
    answered = await answer_to(ada, assistant, yes)

    assert "/forget all yes" in asked
    assert "Ada likes tea" in kept
    assert answered.startswith(done)
    assert await answer_to(ada, assistant, "/memories") == "I remember nothing about you."


async def test_an_export_holds_what_is_about_the_person_only(network: Network) -> None:
    assistant, ada = await reminded(network)

    lines = await export_to(ada, assistant, network)

    assert {json.loads(line)["content"] for line in lines} == {"Ada likes tea", "Ada rows"}


async def test_impossible_corrections_are_reported(network: Network) -> None:
    assistant, ada = await reminded(network)
    without = await network.assistant()

    assert "/memories" in await answer_to(ada, assistant, "/correct")
    assert "has the number" in await answer_to(ada, assistant, "/correct ffff0000 it is so")
    assert "no memory agent" in await answer_to(ada, without, "/export")
    assert "no documents agent" in await answer_to(ada, without, "/documents")


async def test_documents_lists_public_and_own_documents(network: Network) -> None:
    rag, ada, eve = await network.rag(), await network.person(), await network.person("eve")
    assistant = await network.assistant(services=Services(rag=jid_of(rag)))
    library = RagClient(assistant.node.requester, jid_of(rag))
    assert "`spade-llm rag add PATH`" in await answer_to(ada, assistant, "/documents")
    await library.ingest(
        SourceDocument(text="The boat is blue.", source="boats.md", namespace="handbook")
    )
    mine = personal_namespace(ada.bare)
    await library.ingest(SourceDocument(text="Ada's letter.", source="letter.txt", namespace=mine))

    for_ada = await answer_to(ada, assistant, "/documents")
    for_eve = await answer_to(eve, assistant, "/documents")
    one = await answer_to(ada, assistant, "/documents handbook")

    assert "handbook, 1 document:\n- boats.md (" in for_ada
    assert "your files, 1 document:\n- letter.txt (" in for_ada
    assert "boats.md" in for_eve
    assert "letter" not in for_eve
    assert mine not in for_eve
    assert "letter" not in one


async def test_the_tools_are_listed_with_those_that_ask_first(network: Network) -> None:
    assistant = await network.assistant(config=AssistantConfig(tools=(dice, rocket)))
    ada = await network.person()

    listed = await answer_to(ada, assistant, "/tools")

    assert "- dice: Roll a die.\n" in listed
    assert "- rocket: Launch a rocket. I ask you before each call." in listed
    assert "Behind" not in listed


async def test_a_person_deletes_their_own_file_and_no_other(network: Network) -> None:
    rag, ada, eve = await network.rag(), await network.person(), await network.person("eve")
    assistant = await network.assistant(services=Services(rag=jid_of(rag)))
    library = RagClient(assistant.node.requester, jid_of(rag))
    mine = personal_namespace(ada.bare)
    for namespace in (mine, "default"):
        await library.ingest(SourceDocument(text="Boats.", source="boats.md", namespace=namespace))

    by_eve = await answer_to(eve, assistant, "/documents delete boats.md")
    by_ada = await answer_to(ada, assistant, "/documents delete boats.md")

    assert by_eve == "You have shared no file 'boats.md' with me."
    assert by_ada == "Deleted: boats.md."
    assert (await library.stats(mine)).documents == 0
    assert (await library.stats("default")).documents == 1
