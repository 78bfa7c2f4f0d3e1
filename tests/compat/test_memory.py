"""Programs for spade_llm 0.2/0.3 find their memories: by the old names, and in the old files."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents.local_memory import MemoryOption, open_local_memory
from spade_llm.compat.memory_backends import MemoryBackend, MemoryEntry, SQLiteMemoryBackend
from spade_llm.core.errors import ConfigurationError
from spade_llm.memory import (
    AgentBaseMemory,
    AgentInteractionMemory,
    AgentMemoryTool,
    create_base_memory_tools,
)
from spade_llm.tools import LocalToolbox
from spade_llm.tools.toolbox import CallContext
from tests.memory.old_files import AGENT, a_note, a_row, write_database, write_interactions

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.compat.memory_backends import BackendStats
    from spade_llm.tools import Tool

NAME = "helper_localhost"


class OfAProgram(MemoryBackend):
    """A backend as a program writes one: a list."""

    def __init__(self) -> None:
        self.entries: list[MemoryEntry] = []
        self.is_ready = False

    async def initialize(self) -> None:
        self.is_ready = True

    async def store_memory(self, entry: MemoryEntry) -> str:
        assert self.is_ready
        entry.id = f"m{len(self.entries)}"
        self.entries.append(entry)
        return entry.id

    async def get_memories_by_category(
        self, agent_id: str, category: str, limit: int = 50
    ) -> list[MemoryEntry]:
        return [one for one in self.entries if one.category == category][:limit]

    async def search_memories(
        self, agent_id: str, query: str, limit: int = 10
    ) -> list[MemoryEntry]:
        return [one for one in self.entries if query in one.content][:limit]

    async def get_recent_memories(self, agent_id: str, limit: int = 10) -> list[MemoryEntry]:
        return self.entries[::-1][:limit]

    async def update_access(self, memory_id: str) -> None:
        (entry,) = (one for one in self.entries if one.id == memory_id)
        entry.access_count += 1

    async def delete_memory(self, memory_id: str) -> bool:
        before = len(self.entries)
        self.entries = [one for one in self.entries if one.id != memory_id]
        return len(self.entries) < before

    async def get_memory_stats(self, agent_id: str) -> BackendStats:
        counts = {one.category: 1 for one in self.entries}
        return {"total_memories": len(self.entries), "category_counts": counts}

    async def cleanup(self) -> None:
        self.is_ready = False


async def call(tool: Tool, *, peer: str = "", **arguments: object) -> str:
    toolbox, context = LocalToolbox([tool]), CallContext(on_behalf_of=peer)
    return (await toolbox.call(tool.spec.name, arguments, context=context)).text


async def test_a_base_memory_keeps_finds_counts_and_deletes(tmp_path: Path) -> None:
    memory = AgentBaseMemory(AGENT, memory_path=str(tmp_path / "made"))
    id = await memory.store_memory("fact", "The API speaks JSON", context="setup")
    await memory.store_memory("preference", "Short answers", confidence=0.5)

    (found,) = await memory.search_memories("JSON")
    recent = await memory.get_recent_memories(1)
    stats = await memory.get_memory_stats()

    assert (found.id, found.agent_id, found.category) == (id, AGENT, "fact")
    assert [one.content for one in recent] == ["Short answers"]
    assert [one.id for one in await memory.get_relevant_memories("JSON")] == [id]
    assert (stats["total_memories"], stats["category_counts"]) == (2, {"fact": 1, "preference": 1})
    assert await memory.format_for_context([found, *recent]) == (
        "Remembered (fact):\n- The API speaks JSON\nRemembered (preference):\n- Short answers"
    )
    assert memory.get_context_summary([]) is None
    assert [await memory.delete_memory(one) for one in (id, id, "7")] == [True, False, False]
    await memory.cleanup()
    assert len(await memory.get_recent_memories()) == 1
    await memory.close()


async def test_an_old_base_memory_is_there_and_its_file_stays_as_it_was(tmp_path: Path) -> None:
    old = write_database(tmp_path / f"{NAME}_base_memory.db", [a_row("1"), a_row("2", "Bob rows")])
    before = old.read_bytes()

    for _ in range(2):
        async with AgentBaseMemory(AGENT, memory_path=tmp_path) as memory:
            recent = await memory.get_recent_memories()
            assert len(recent) == 2
            (tea,) = await memory.search_memories("tea")
    async with AgentBaseMemory(AGENT, memory_path=tmp_path) as memory:
        await memory.delete_memory(tea.id)
    async with AgentBaseMemory(AGENT, memory_path=tmp_path) as memory:
        left = await memory.get_recent_memories()

    assert old.read_bytes() == before
    assert [one.content for one in left] == ["Bob rows"]


async def test_the_old_default_folder_is_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "spade_llm" / "data" / "agent_memory"
    folder.mkdir(parents=True)
    write_database(folder / f"{NAME}_base_memory.db", [a_row("1")])

    async with AgentBaseMemory(AGENT) as memory:
        assert len(await memory.get_recent_memories()) == 1


async def test_a_backend_by_its_old_name_takes_old_files_and_entries(tmp_path: Path) -> None:
    old = write_database(tmp_path / "agent.db", [a_row("1", agent_id="other@x")])
    backend = SQLiteMemoryBackend(str(old))
    await backend.initialize()
    entry = MemoryEntry(agent_id=AGENT, category="pattern", content="Mondays are busy")

    id = await backend.store_memory(entry)

    (found,) = await backend.search_memories(AGENT, "Mondays")
    assert (found.id, found.agent_id, found.category) == (id, AGENT, "pattern")
    assert [one.content for one in await backend.get_recent_memories("other@x")] == [
        "Ada likes tea"
    ]
    assert len(await backend.get_memories_by_category(AGENT, "fact")) == 0
    assert (await backend.get_memory_stats(AGENT))["total_memories"] == 1
    assert [await backend.delete_memory(one) for one in (id, id, "7")] == [True, False, False]
    await backend.cleanup()


@pytest.mark.parametrize("kind", ["sqlite", "program"])
async def test_a_base_memory_works_over_either_backend(kind: str) -> None:
    backend = SQLiteMemoryBackend(":memory:") if kind == "sqlite" else OfAProgram()
    memory = AgentBaseMemory(AGENT, backend=backend)

    store, search, listing = create_base_memory_tools(memory)
    stored = await call(store, category="fact", content="The port is 5432")
    found = await call(search, query="5432")
    listed = await call(listing, category="fact")

    assert stored == "Stored fact memory: The port is 5432"
    assert found == "Found 1 memories for '5432':\n- [fact] The port is 5432"
    assert listed == "My fact memories (1 total):\n- The port is 5432"
    assert (await memory.get_memory_stats())["total_memories"] == 1
    (entry,) = await memory.get_recent_memories()
    assert await memory.delete_memory(entry.id)
    await backend.cleanup()


def test_notes_are_kept_by_conversation_and_over_a_restart(tmp_path: Path) -> None:
    folder = str(tmp_path / "made")
    notes = AgentInteractionMemory(AGENT, folder)
    assert notes.get_context_summary("a@x_b@y") is None
    for text in ("It speaks JSON", "It is slow", "It speaks JSON"):
        notes.add_information("a@x_b@y", text)
    notes.add_information("c", "Another")

    again = AgentInteractionMemory(AGENT, folder)

    assert again.get_information("a@x_b@y") == ["It speaks JSON", "It is slow", "It speaks JSON"]
    assert {name: len(all) for name, all in again.get_all_interactions().items()} == {
        "a@x_b@y": 3,
        "c": 1,
    }
    assert again.get_context_summary("c") == "Noted in earlier interactions:\n- Another"
    assert [again.clear_conversation("c") for _ in range(2)] == [True, False]
    assert again.get_information("c") == []


def test_old_notes_are_there_and_their_file_stays_as_it_was(tmp_path: Path) -> None:
    old = write_interactions(
        tmp_path / f"{NAME}_interactions.json",
        {"ada@x/phone_helper@localhost": [a_note("She rows"), a_note(7)], "ada@xy": [a_note("no")]},
    )
    before = old.read_bytes()

    notes = AgentInteractionMemory(AGENT, str(tmp_path))
    notes.add_information("ada@x", "She sails")

    assert notes.get_information("ada@x/phone_helper@localhost") == ["She rows"]
    assert [one.content for one in notes.entries_about("ada@x")] == ["She sails", "She rows"]
    assert AgentInteractionMemory(AGENT, str(tmp_path)).get_information("ada@x") == ["She sails"]
    assert old.read_bytes() == before


async def test_the_tool_stores_notes_for_the_user_of_the_turn(tmp_path: Path) -> None:
    notes = AgentInteractionMemory(AGENT, str(tmp_path))
    tool = AgentMemoryTool(notes)

    turns = (call(tool, peer=peer, information=f"of {peer}") for peer in ("ada@x", "bob@x"))
    await asyncio.gather(*turns)
    tool.set_conversation_id("by hand")
    await call(tool, information="of nobody")

    assert notes.get_information("ada@x") == ["of ada@x"]
    assert notes.get_information("bob@x") == ["of bob@x"]
    assert notes.get_information("by hand") == ["of nobody"]


async def test_memories_by_keyword_are_stored(tmp_path: Path) -> None:
    memory = open_local_memory(
        AGENT, interaction_memory=(True, str(tmp_path)), agent_base_memory=(True, str(tmp_path))
    )
    assert memory.interaction_memory is not None
    memory.interaction_memory.add_information("ada@x", "She rows")

    (note,) = await memory.notes_about("ada@x")
    await memory.close()

    assert note.entry.content == "She rows"
    assert [tool.spec.name for tool in memory.tools] == [
        "remember_interaction_info",
        "store_memory",
        "search_memories",
        "list_memories",
    ]
    assert open_local_memory(AGENT, agent_base_memory=(False, "x")).tools == ()


@pytest.mark.parametrize("wrong", ["yes", (True,), (True, 7), None])
def test_another_value_is_named(wrong: MemoryOption) -> None:
    with pytest.raises(ConfigurationError, match="agent_base_memory is .*give True, False or"):
        open_local_memory(AGENT, agent_base_memory=wrong)


async def test_an_old_file_that_cannot_be_read_is_named_and_left_alone(tmp_path: Path) -> None:
    broken = tmp_path / f"{NAME}_interactions.json"
    broken.write_text("{")

    with pytest.raises(ConfigurationError, match="cannot be migrated"):
        AgentInteractionMemory(AGENT, str(tmp_path))

    assert broken.read_text() == "{"


async def test_a_programs_backend_gets_whole_entries_and_gives_its_own_statistics() -> None:
    """A backend that stores by `entry.id` overwrote each memory with the next one."""

    class ById(OfAProgram):
        async def store_memory(self, entry: MemoryEntry) -> str:
            self.entries = [one for one in self.entries if one.id != entry.id]
            self.entries.append(entry)
            return entry.id

    backend = ById()
    memory = AgentBaseMemory(AGENT, backend)

    ids = [await memory.store_memory("fact", text) for text in ("one", "two")]

    assert [one.id for one in backend.entries] == ids
    assert len(set(ids)) == 2
    assert all(one.created_at.tzinfo is None is one.last_accessed.tzinfo for one in backend.entries)
    assert await memory.get_memory_stats() == {"total_memories": 2, "category_counts": {"fact": 1}}


async def test_wrong_arguments_of_a_base_memory_are_value_errors_and_times_are_text(
    tmp_path: Path,
) -> None:
    async with AgentBaseMemory(AGENT, memory_path=tmp_path) as memory:
        with pytest.raises(ValueError, match="Invalid category 'opinion'"):
            await memory.store_memory("opinion", "Tea is best")
        with pytest.raises(ValueError, match="confidence"):
            await memory.store_memory("fact", "Tea is best", confidence=2.0)
        with pytest.raises(ValueError, match="query"):
            await memory.search_memories(" ")
        empty = await memory.get_memory_stats()
        await memory.store_memory("fact", "Tea is best")
        stats = await memory.get_memory_stats()

    assert (empty["oldest_memory"], empty["newest_memory"]) == (None, None)
    assert datetime.fromisoformat(stats["oldest_memory"] or "").tzinfo is None
