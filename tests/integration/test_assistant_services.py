"""An assistant with its memory, its documents and its tools, each another agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import Services
from spade_llm.assistant.history import memory_behaviour
from spade_llm.assistant.turn import recall
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.providers.model import Completion, ToolCall
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient
from tests.integration.network import (
    answer_to,
    calling,
    context_of,
    eventually,
    jid_of,
    next_message,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.agents import LLMAgent
    from spade_llm.providers.model import ContextMessage, ToolSpec
    from tests.integration.network import Network

FACT = json.dumps({"category": "fact", "content": "The boat is called Zephyr"})


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was away is asked again soon: these tests wait for it."""
    monkeypatch.setattr(recall, "CIRCUIT_BREAKER_S", 0.05)
    monkeypatch.setattr(memory_behaviour, "DEADLINE_S", 0.5)


def read_back(messages: Sequence[ContextMessage], _tools: Sequence[ToolSpec]) -> Completion:
    """Says everything that the model is shown."""
    return Completion(text=context_of(messages))


def offered(_messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]) -> Completion:
    return Completion(text=" ".join(tool.name for tool in tools) or "none")


def own_memory(assistant: LLMAgent) -> MemoryClient:
    memory = assistant.memory_behaviour.memory
    assert isinstance(memory, MemoryClient)
    return memory


async def test_stored_memories_are_recalled(network: Network) -> None:
    memory = await network.memory()
    model = ScriptedProvider([calling("store_memory", FACT), "Noted.", "Hi.", read_back])
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    ada = await network.person()

    assert await answer_to(ada, assistant, "My boat is called Zephyr") == "Noted."
    assert await answer_to(ada, assistant, "/new") != ""
    assert await answer_to(ada, assistant, "hello") == "Hi."
    assert "The boat is called Zephyr" in await answer_to(ada, assistant, "my boat's name?")


async def test_documents_are_quoted_with_their_source(network: Network) -> None:
    rag = await network.rag()
    model = ScriptedProvider([read_back])
    assistant = await network.assistant(model, services=Services(rag=jid_of(rag)))
    client = RagClient(assistant.node.requester, jid_of(rag))
    await client.ingest(Document(text="The lighthouse has 199 steps.", source="guide.md"))
    ada = await network.person()

    answer = await answer_to(ada, assistant, "How many steps has the lighthouse?")

    assert "199 steps" in answer
    assert "guide.md, passage 1" in answer


async def test_unsolicited_document_grants_are_not_quoted(network: Network) -> None:
    rag, eve = await network.rag(), await network.program("eve")
    model = ScriptedProvider([read_back])
    assistant = await network.assistant(model, services=Services(rag=jid_of(rag)))
    hers = RagClient(eve.node.requester, jid_of(rag))
    await hers.ingest(Document(text="The lighthouse has 666 steps.", source="lies.md"))
    await hers.grant("default", to=jid_of(assistant))
    ada = await network.person()

    answer = await answer_to(ada, assistant, "How many steps has the lighthouse?")

    assert "How many steps" in answer
    assert "666" not in answer


async def test_the_model_searches_and_lists_documents_itself(network: Network) -> None:
    rag, ann = await network.rag(), await network.program("ann")
    model = ScriptedProvider(
        [
            Completion(
                tool_calls=(
                    ToolCall(id="1", name="search_documents", arguments='{"query": "the tide"}'),
                    ToolCall(id="2", name="list_documents", arguments="{}"),
                )
            ),
            read_back,
        ]
    )
    trusted = (f"{jid_of(ann)}/sea",)
    assistant = await network.assistant(
        model, services=Services(rag=jid_of(rag), shared_documents=trusted)
    )
    hers = RagClient(ann.node.requester, jid_of(rag))
    tide = Document(text="High tide is at noon.", source="tide.md", namespace="sea")
    await hers.ingest(tide)
    await hers.ingest(Document(text="The tide of her life.", source="diary.md"))
    await hers.grant("sea", to=jid_of(assistant))
    ada = await network.person()

    answer = await answer_to(ada, assistant, "hello")

    assert "High tide is at noon." in answer
    assert "tide.md, passage 1" in answer
    assert f"- {jid_of(ann)}/sea: 1 document," in answer
    assert "her life" not in answer
    assert "diary.md" not in answer


async def test_a_tool_of_another_agent_is_called(network: Network) -> None:
    tools = await network.tools()
    model = ScriptedProvider([calling("calculator", '{"expression": "6 * 7"}'), read_back])
    assistant = await network.assistant(model, services=Services(tools=(jid_of(tools),)))
    ada = await network.person()

    assert "42" in await answer_to(ada, assistant, "how much is it?")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["memory", "rag", "tools"])
async def test_unavailable_services_are_named_and_used_again_when_back(
    network: Network, kind: str
) -> None:
    start = {"memory": network.memory, "rag": network.rag, "tools": network.tools}[kind]
    name = "documents" if kind == "rag" else kind
    helper = await start()
    jid = jid_of(helper)
    services = {
        "memory": Services(memory=jid),
        "rag": Services(rag=jid),
        "tools": Services(tools=(jid,)),
    }[kind]
    assistant = await network.assistant(services=services)
    ada = await network.person()
    assert await answer_to(ada, assistant, "one") == "one"

    assistant.llm_behaviour.shared_tools.invalidate_all()
    await helper.stop()
    ada.send(jid_of(assistant), "two")
    assert (await next_message(ada))["body"] == (
        f"two\n\n(Answered without {name}: not reachable now.)"
    )

    await start(jid)

    async def answers_with_it() -> bool:
        return await answer_to(ada, assistant, "three") == "three"

    await eventually(answers_with_it)


@pytest.mark.thorough
async def test_messages_reach_memory_after_it_was_unavailable(network: Network) -> None:
    memory = await network.memory()
    assistant = await network.assistant(services=Services(memory=jid_of(memory)))
    ada = await network.person()
    await memory.stop()
    ada.send(jid_of(assistant), "the well is dry")
    await next_message(ada)

    await network.memory(jid_of(memory))

    async def is_there() -> bool:
        history = await own_memory(assistant).history(ada.bare)
        return [one.content for one in history][:1] == ["the well is dry"]

    await eventually(is_there)


async def test_the_conversation_goes_on_after_the_assistant_is_restarted(
    network: Network,
) -> None:
    memory = await network.memory()
    services = Services(memory=jid_of(memory))
    assistant = await network.assistant(services=services)
    ada = await network.person()
    await answer_to(ada, assistant, "the password of the gate is swordfish")
    own = own_memory(assistant)

    async def is_kept() -> bool:
        return len(await own.history(ada.bare)) == 2

    await eventually(is_kept)
    await assistant.stop()
    again = await network.assistant(
        ScriptedProvider([read_back]), services=services, jid=jid_of(assistant)
    )

    assert "swordfish" in await answer_to(ada, again, "go on")


async def test_two_people_never_see_what_is_the_others(network: Network) -> None:
    memory = await network.memory()
    model = ScriptedProvider([calling("store_memory", FACT), "Noted.", read_back])
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    ada, bob = await network.person("ada"), await network.person("bob")
    await answer_to(ada, assistant, "My boat is called Zephyr")

    seen = await answer_to(bob, assistant, "What is the boat called?")

    assert "Zephyr" not in seen
    assert "Zephyr" not in await answer_to(bob, assistant, "/memories")
    assert "Zephyr" not in await answer_to(bob, assistant, "/memories boat")
    assert "Zephyr" in await answer_to(ada, assistant, "/memories boat")


async def test_one_assistant_never_sees_anothers_memories(network: Network) -> None:
    memory = await network.memory()
    services = Services(memory=jid_of(memory))
    model = ScriptedProvider([calling("store_memory", FACT), "Noted."])
    one = await network.assistant(model, services=services)
    other = await network.assistant(ScriptedProvider([read_back]), services=services)
    ada = await network.person()
    await answer_to(ada, one, "My boat is called Zephyr")

    assert "Zephyr" not in await answer_to(ada, other, "What is the boat called?")


async def test_forgetting_everything_forgets_it(network: Network) -> None:
    memory = await network.memory()
    model = ScriptedProvider([calling("store_memory", FACT), "Noted.", read_back])
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    ada = await network.person()
    await answer_to(ada, assistant, "My boat is called Zephyr")

    assert "1 memory" in await answer_to(ada, assistant, "/forget all yes")
    assert "Zephyr" not in await answer_to(ada, assistant, "What is it called?")


async def test_a_number_of_one_digit_forgets_nothing_and_a_listed_one_does(
    network: Network,
) -> None:
    memory = await network.memory()
    assistant = await network.assistant(services=Services(memory=jid_of(memory)))
    ada, program = await network.person(), assistant.node.requester
    client = MemoryClient(program, jid_of(memory))
    entry = await client.add(MemoryDraft(content="Ada rows", subject=ada.bare))

    short = await answer_to(ada, assistant, f"/forget {entry.id[0]}")
    there = await client.peek([entry.id])
    listed = await answer_to(ada, assistant, f"/forget {entry.id[:8].upper()}")

    assert f"has the number {entry.id[0]!r}" in short
    assert len(there) == 1
    assert listed == "Forgotten."
    assert not await client.peek([entry.id])


async def test_a_memory_of_several_lines_is_listed_in_one(network: Network) -> None:
    memory = await network.memory()
    assistant = await network.assistant(services=Services(memory=jid_of(memory)))
    ada = await network.person()
    client = MemoryClient(assistant.node.requester, jid_of(memory))
    forged = "Ada rows\n12345678 [fact] Ada owes Bob money\n" + "x" * 30_000
    await client.add(MemoryDraft(content=forged, subject=ada.bare))

    listed = (await answer_to(ada, assistant, "/memories")).splitlines()

    assert len(listed) == 4
    assert "Ada rows 12345678 [fact] Ada owes" in listed[1]
    assert len(listed[1]) < 400
