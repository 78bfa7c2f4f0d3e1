"""A memory agent learns from what it was told, while nobody waits for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import Services
from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.remote import MemoryClient
from spade_llm.search.memory_query import MemoryFilter, MemoryType
from tests.integration.network import answer_to, eventually, jid_of

if TYPE_CHECKING:
    from tests.integration.network import Network

ANA = "ana@localhost"


@pytest.mark.thorough
async def test_a_conversation_that_has_rested_is_an_episode_with_facts(network: Network) -> None:
    memory = await network.memory()
    program = await network.program()
    client = MemoryClient(program.node.requester, jid_of(memory))
    yesterday = datetime.now(UTC) - timedelta(days=1)
    said = [
        ObservedMessage(id="1", role="user", content="I live in Lisbon.", at=yesterday),
        ObservedMessage(id="2", role="assistant", content="Noted!", at=yesterday),
    ]

    await client.observe("c", said, subject=ANA)

    async def is_learned() -> bool:
        which = MemoryFilter(subject=ANA, types=(MemoryType.SEMANTIC,))
        page = await client.list(which)
        return [entry.content for entry in page.entries] == ["The user lives in Lisbon."]

    await eventually(is_learned)
    text = await client.retrieve("Lisbon", detail_limit=5)
    assert "**When:** yesterday\n" in text
    assert '- user: "I live in Lisbon."\n- assistant: "Noted!"' in text
    context = await client.session_context("c", language="en")
    assert "## Key Facts\n\n- The user lives in Lisbon." in context.context_text


@pytest.mark.thorough
async def test_a_person_allows_to_compare_conversations_and_takes_it_back(network: Network) -> None:
    memory = await network.memory()
    assistant = await network.assistant(services=Services(memory=jid_of(memory)))
    ada = await network.person()
    client = MemoryClient(assistant.node.requester, jid_of(memory))
    for days in (9, 7, 5):
        at = datetime.now(UTC) - timedelta(days=days)
        said = ObservedMessage(id=str(days), role="user", content="we fly to Lisbon", at=at)
        await client.observe(ada.bare, [said], subject=ada.bare)
    assert "do not compare" in await answer_to(ada, assistant, "/learn")

    await answer_to(ada, assistant, "/learn on")

    async def is_found() -> bool:
        return "often talks about Lisbon" in await answer_to(ada, assistant, "/learn")

    await eventually(is_found)
    assert "often talks about Lisbon" in await answer_to(ada, assistant, "/memories often")
    assert jid_of(assistant) in await answer_to(ada, memory, "/learn")
    await answer_to(ada, memory, "/aprender no")
    assert "No agent compares" in await answer_to(ada, memory, "/learn")
    assert "Lisbon" not in await answer_to(ada, assistant, "/learn")
    assert "often talks about" not in await answer_to(ada, assistant, "/memories")
