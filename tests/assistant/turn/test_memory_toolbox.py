"""What a model is offered of its agent's memory while it talks with one person."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.turn.memory_toolbox import MemoryOffer, MemoryToolbox, MemoryToolSet
from spade_llm.core.errors import UnknownTool
from spade_llm.memory import SQLiteMemoryBackend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.memory import OwnedMemory

OWNER = "assistant@localhost"
ADA, BOB = "ada@localhost", "bob@localhost"
BASE = {"store_memory", "search_memories", "list_memories"}
ENTRIES = {
    "memory_store",
    "memory_get",
    "memory_update",
    "memory_delete",
    "memory_list",
    "memory_search",
    "memory_batch_store",
    "memory_batch_update",
    "memory_get_score",
    "memory_set_score",
    "memory_consolidate",
}
FURTHER = {
    "retrieve_memory",
    "memory_explain",
    "memory_similar",
    "memory_deduplicate",
    "memory_link",
    "memory_unlink",
    "memory_get_links",
}


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[OwnedMemory]:
    async with SQLiteMemoryBackend(tmp_path / "memory.db") as backend:
        yield backend.for_owner(OWNER)


def toolbox(memory: OwnedMemory, tools: MemoryToolSet, subject: str = ADA) -> MemoryToolbox:
    return MemoryToolbox(memory, MemoryOffer(owner=OWNER, tools=tools), subject=subject)


@pytest.mark.parametrize("tool", ["store_memory", "memory_store"])
async def test_what_is_stored_late_holds_since_it_was_said(memory: OwnedMemory, tool: str) -> None:
    said_at = datetime(2026, 3, 1, 9, tzinfo=UTC)
    offer = MemoryOffer(owner=OWNER, tools=MemoryToolSet.ALL)
    arguments = {"content": "I live in Rome"}
    if tool == "store_memory":
        arguments["category"] = "fact"

    await MemoryToolbox(memory, offer, subject=ADA, said_at=said_at).call(tool, arguments)

    (entry,) = (await memory.list()).entries
    assert entry.holds_since == said_at


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (MemoryToolSet.BASE, BASE),
        (MemoryToolSet.ENTRIES, ENTRIES),
        (MemoryToolSet.ALL, BASE | ENTRIES | FURTHER),
    ],
)
async def test_the_tools_that_were_chosen_are_offered(
    memory: OwnedMemory, tools: MemoryToolSet, names: set[str]
) -> None:
    assert {spec.name for spec in await toolbox(memory, tools).list()} == names


def test_the_three_tools_are_the_default() -> None:
    assert MemoryOffer(owner=OWNER).tools is MemoryToolSet.BASE


@pytest.mark.parametrize("name", ["memory_grant", "memory_decay_run", "memory_store", "x"])
async def test_a_tool_that_is_not_offered_cannot_be_called(memory: OwnedMemory, name: str) -> None:
    with pytest.raises(UnknownTool):
        await toolbox(memory, MemoryToolSet.BASE).call(name, {})


@pytest.mark.parametrize("name", ["memory_grant", "memory_revoke", "memory_decay_configure"])
async def test_a_chat_cannot_change_the_memories_of_all_users(
    memory: OwnedMemory, name: str
) -> None:
    with pytest.raises(UnknownTool):
        await toolbox(memory, MemoryToolSet.ALL).call(name, {"to": "ada@localhost"})


async def test_both_families_see_what_the_other_stored_about_the_person(
    memory: OwnedMemory,
) -> None:
    tools = toolbox(memory, MemoryToolSet.ALL)

    await tools.call("store_memory", {"category": "fact", "content": "Ada likes tea"})
    await tools.call("memory_store", {"content": "Ada lives in Berlin"})

    listed = json.loads((await tools.call("memory_list", {})).text)
    assert listed["total"] == 2
    assert "Berlin" in (await tools.call("search_memories", {"query": "Berlin"})).text


async def test_a_failure_is_marked_as_one(memory: OwnedMemory) -> None:
    tools = toolbox(memory, MemoryToolSet.ENTRIES)

    failed = await tools.call("memory_get", {"id": "x"})
    done = await tools.call("memory_list", {})

    assert failed.is_error
    assert json.loads(failed.text)["error_type"] == "ValidationError"
    assert not done.is_error


async def test_what_could_not_be_stored_does_not_count_as_stored(memory: OwnedMemory) -> None:
    tools = toolbox(memory, MemoryToolSet.BASE)

    failed = await tools.call("store_memory", {"category": "plan", "content": "Rome in May"})
    done = await tools.call("store_memory", {"category": "fact", "content": "Rome in May"})

    assert (failed.is_error, done.is_error) == (True, False)


async def test_one_persons_conversation_reads_nothing_of_anothers(memory: OwnedMemory) -> None:
    bobs = toolbox(memory, MemoryToolSet.ALL, BOB)
    adas = toolbox(memory, MemoryToolSet.ALL, ADA)
    secret = "Bob will leave in March"
    told = json.loads((await bobs.call("memory_store", {"content": secret})).text)
    await bobs.call("store_memory", {"category": "fact", "content": secret})

    calls: list[tuple[str, dict[str, object]]] = [
        ("memory_get", {"id": told["id"]}),
        ("memory_list", {}),
        ("memory_search", {"query": secret, "search_mode": "hybrid"}),
        ("memory_search", {"query": secret}),
        ("memory_explain", {"query": secret}),
        ("memory_similar", {"id": told["id"]}),
        ("memory_deduplicate", {}),
        ("memory_get_links", {"id": told["id"]}),
        ("memory_delete", {"memory_tier": "long_term"}),
        ("memory_delete", {"id": told["id"]}),
        ("memory_update", {"id": told["id"], "content": "overwritten"}),
        ("search_memories", {"query": "March"}),
        ("retrieve_memory", {"query": secret}),
        ("list_memories", {"category": "fact"}),
    ]
    for name, arguments in calls:
        assert secret not in (await adas.call(name, arguments)).text

    assert secret in (await bobs.call("memory_get", {"id": told["id"]})).text


async def test_reaching_for_what_is_about_another_is_logged(
    memory: OwnedMemory, caplog: pytest.LogCaptureFixture
) -> None:
    bobs = toolbox(memory, MemoryToolSet.ENTRIES, BOB)
    id = json.loads((await bobs.call("memory_store", {"content": "Bob's secret"})).text)["id"]
    adas = toolbox(memory, MemoryToolSet.ENTRIES, ADA)

    await adas.call("memory_get", {"id": id})
    await adas.call("memory_store", {"content": "x", "agent_id": BOB})

    for_another, as_another = (record.getMessage() for record in caplog.records)
    assert id in for_another
    assert ADA in for_another
    assert BOB in as_another
    assert "secret" not in caplog.text
