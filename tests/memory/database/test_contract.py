"""The local store keeps the contract of every memory, and bounds of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments, NotFound
from spade_llm.memory import MemoryDraft
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery
from tests.memory.contract import *  # noqa: F403
from tests.memory.contract import hits
from tests.memory.contract_changes import *  # noqa: F403
from tests.memory.contract_relations import *  # noqa: F403
from tests.memory.contract_relations import three
from tests.memory.contract_sessions import *  # noqa: F403

if TYPE_CHECKING:
    from spade_llm.memory import OwnedMemory


async def test_numbers_out_of_range_are_refused_by_field(store: OwnedMemory) -> None:
    for limit in (0, -1, 1001):
        with pytest.raises(InvalidArguments, match="limit"):
            await store.search(MemoryQuery(text="tea", limit=limit))
        with pytest.raises(InvalidArguments, match="limit"):
            await store.list(limit=limit)
        with pytest.raises(InvalidArguments, match="limit"):
            await store.history("c", limit=limit)
    with pytest.raises(InvalidArguments, match="offset"):
        await store.list(offset=-1)


async def test_an_entry_has_at_most_1000_links(store: OwnedMemory) -> None:
    linked, other, unlinked = await three(store)
    await asyncio.gather(*(store.link(linked, other, relation=str(n)) for n in range(999)))

    await store.link(other, linked)

    assert len(await store.links(linked)) == 1000
    for ends in ((linked, unlinked), (unlinked, linked)):
        with pytest.raises(InvalidArguments, match="at most 1000 links"):
            await store.link(*ends)


async def test_an_empty_query_finds_nothing(store: OwnedMemory) -> None:
    assert await hits(store, "") == ()


async def test_reaching_for_what_is_anothers_is_logged_without_its_text(
    store: OwnedMemory, other_store: OwnedMemory, caplog: pytest.LogCaptureFixture
) -> None:
    entry = await store.add(MemoryDraft(content="the secret"))
    theirs = MemoryFilter(of=entry.owner)

    await other_store.search(MemoryQuery(text="secret", which=theirs))
    await other_store.forget([entry.id])
    await other_store.delete(MemoryFilter(), ids=[entry.id])
    with pytest.raises(NotFound):
        await other_store.get(entry.id)

    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 4
    assert all(message.startswith("someone.else@localhost") for message in messages)
    assert "secret" not in caplog.text
