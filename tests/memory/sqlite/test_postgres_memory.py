"""Memory in PostgreSQL: what the contract tests do not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.core.database import DatabaseUrl
from spade_llm.core.postgres import PostgresServer
from spade_llm.memory import MemoryDraft, PostgresMemoryBackend
from tests.memory.contract import hits, said

if TYPE_CHECKING:
    from tests.postgres_server import PostgresProcess

OWNER, OTHER = "assistant@localhost", "someone.else@localhost"


@pytest.mark.quick
async def test_memories_are_kept_found_and_forgotten_in_postgresql(
    postgres: PostgresProcess,
) -> None:
    address = DatabaseUrl(postgres.url())
    async with PostgresServer(address, agent="memory-smoke@example.org") as server:
        async with PostgresMemoryBackend(server) as backend:
            store = backend.for_owner(OWNER)
            entry = await store.add(MemoryDraft(content="Ada likes tea"), key="k")
            await store.observe("c", [said("1")])
        async with PostgresMemoryBackend(server) as backend:
            store = backend.for_owner(OWNER)

            assert (await store.list()).entries == (entry,)
            assert [hit.entry for hit in await hits(store, "tea")] == [entry]
            assert await store.history("c") == [said("1")]
            assert (await store.add(MemoryDraft(content="Ada likes tea"), key="k")).id == entry.id
            assert await hits(backend.for_owner(OTHER), "tea") == ()
            assert await store.forget([entry.id]) == 1
            assert await hits(store, "tea") == ()
