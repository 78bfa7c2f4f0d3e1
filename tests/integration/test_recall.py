"""An assistant is reminded before it answers, and memory learns what was of use."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import Services
from spade_llm.context import WindowSizeContext
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.providers import OfflineProvider
from spade_llm.providers.model import Completion
from spade_llm.providers.quoted_context import CONTEXT_NAME, read_context
from spade_llm.providers.scripted import ScriptedProvider
from tests.integration.network import answer_to, eventually, jid_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.agents import LLMAgent
    from spade_llm.providers.model import ContextMessage, ToolSpec
    from tests.integration.network import Network
    from tests.xmpp.client import Client


def reminded(messages: Sequence[ContextMessage], _tools: Sequence[ToolSpec] = ()) -> Completion:
    """Says what the model is reminded of, one memory per line."""
    texts = [str(message["content"]) for message in messages if message.get("name") == CONTEXT_NAME]
    found = [memory for text in texts for memory in read_context(text).memories]
    return Completion(text="\n".join(f"[{one.kind}] {one.text}" for one in found) or "nothing")


def memory_of(assistant: LLMAgent) -> MemoryClient:
    memory = assistant.memory_behaviour.memory
    assert isinstance(memory, MemoryClient)
    return memory


async def is_kept(assistant: LLMAgent, ada: Client, count: int) -> None:
    async def is_there() -> bool:
        return len(await memory_of(assistant).history(ada.bare, limit=100)) >= count

    await eventually(is_there)


async def test_earlier_messages_are_quoted_once_they_left_the_context(network: Network) -> None:
    services = Services(memory=jid_of(await network.memory()))
    model = ScriptedProvider(["Noted.", "Sure.", reminded, "Fine.", reminded])
    assistant = await network.assistant(model, services=services)
    ada = await network.person()
    await answer_to(ada, assistant, "The gate of the garden opens with 4711")
    await answer_to(ada, assistant, "It may rain tomorrow")
    await is_kept(assistant, ada, 4)

    in_sight = await answer_to(ada, assistant, "Which number opens the garden gate?")
    assistant.update_context_management(WindowSizeContext(max_messages=1))
    await answer_to(ada, assistant, "And now something else")
    out_of_sight = await answer_to(ada, assistant, "What opens the garden gate?")

    assert "4711" not in in_sight
    assert "[fact] The gate of the garden opens with 4711" in out_of_sight


async def test_a_change_of_what_another_conversation_told_reaches_that_fact_only(
    network: Network,
) -> None:
    services = Services(memory=jid_of(await network.memory()))
    assistant = await network.assistant(OfflineProvider(), services=services)
    ada = await network.person()
    drafts = [
        MemoryDraft(content=text, subject=ada.bare, valid_at=datetime(2026, 3, 1, tzinfo=UTC))
        for text in ("My chess club meets on Tuesdays", "The optician is on Friday at 9")
    ]
    await memory_of(assistant).add_many(drafts)

    changed = await answer_to(ada, assistant, "They moved the optician to Wednesday")

    assert "I have changed it: the optician is on Wednesday at 9." in changed
    known = {one.content for one in (await memory_of(assistant).list()).entries}
    assert "My chess club meets on Tuesdays" in known
    assert "The optician is on Friday at 9" not in known


async def test_no_more_is_quoted_than_the_tokens_allow(network: Network) -> None:
    services = Services(memory=jid_of(await network.memory()))
    model = ScriptedProvider([reminded] * 2)
    assistant = await network.assistant(model, services=services)
    ada = await network.person()
    drafts = [MemoryDraft(content=f"boat {n} " + "x" * 800, subject=ada.bare) for n in range(9)]
    await memory_of(assistant).add_many(drafts)

    answer = await answer_to(ada, assistant, "Where is the boat?")

    assert len(answer.splitlines()) == 3


async def test_a_memory_that_an_answer_used_is_kept_better(network: Network) -> None:
    memory = await network.memory()
    model = ScriptedProvider(["Your boat is the Zephyr, moored at quay nine."])
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    ada = await network.person()
    store = memory_of(assistant)
    boat = MemoryDraft(content="The boat Zephyr is moored at quay nine", subject=ada.bare)
    car = MemoryDraft(content="The boat trailer has a flat tyre", subject=ada.bare)
    ids = [(await store.add(draft)).id for draft in (boat, car)]

    await answer_to(ada, assistant, "Where is my boat?")

    file = network.directory / jid_of(memory).partition("@")[0] / "memory.db"

    async def is_reviewed() -> bool:
        await store.stats()
        return reviewed(str(file)) != set()

    await eventually(is_reviewed)
    assert reviewed(str(file)) == {ids[0].replace("-", "")}


def reviewed(file: str) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT hex(id) FROM entry WHERE reviewed_at IS NOT NULL")
        return {str(id).lower() for (id,) in rows}


@pytest.mark.thorough
async def test_the_status_names_unavailable_services_without_a_search(network: Network) -> None:
    memory, rag = await network.memory(), await network.rag()
    services = Services(memory=jid_of(memory), rag=jid_of(rag))
    assistant = await network.assistant(services=services)
    ada = await network.person()

    before = await answer_to(ada, assistant, "/status")
    await rag.stop()
    after = await answer_to(ada, assistant, "/status")

    assert "Everything is reachable" in before
    assert "Not reachable: documents." in after
