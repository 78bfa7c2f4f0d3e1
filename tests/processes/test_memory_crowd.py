"""64 accounts write to one memory agent at once, some of it wrong: nobody's write is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import RequestRefused
from spade_llm.memory import MemoryDraft
from spade_llm.memory.contract import MemoryChange, OnError
from spade_llm.memory.remote import MemoryClient
from spade_llm.search.memory_query import MemoryFilter
from tests.processes.test_memory_contract import asker, memory

if TYPE_CHECKING:
    from spade_llm.memory.contract import BatchError
    from tests.conftest import Provisioner

pytestmark = pytest.mark.server
__all__ = ["memory"]

CLIENTS = 64
TIMEOUT_S = 60.0
WRONG = MemoryDraft(content="   ")


class Writer:
    """One account; `kept` is what must be there when it is done."""

    def __init__(self, client: MemoryClient, number: int) -> None:
        self._client = client
        self._number = number
        self.kept: Counter[str] = Counter()

    async def write(self) -> None:
        await asyncio.gather(
            self._singles(), self._continued(), self._stopped(), self._undone(), self._changed()
        )

    async def found(self) -> Counter[str]:
        page = await self._client.list(limit=200)
        return Counter(entry.content for entry in page.entries)

    async def _singles(self) -> None:
        for text in self._texts("single", 4):
            await self._client.add(MemoryDraft(content=text))
            self.kept[text] += 1
        with pytest.raises(RequestRefused, match="content"):
            await self._client.add(WRONG)

    async def _continued(self) -> None:
        one, two, three = self._texts("continued", 3)
        result = await self._batch([one, two, None, three], OnError.CONTINUE)
        assert [error.index for error in result] == [2]
        self.kept.update([one, two, three])

    async def _stopped(self) -> None:
        one, two, three = self._texts("stopped", 3)
        result = await self._batch([one, two, None, three], OnError.STOP)
        assert [error.index for error in result] == [2]
        self.kept.update([one, two])

    async def _undone(self) -> None:
        one, two = self._texts("undone", 2)
        assert await self._batch([one, None, two], OnError.ROLLBACK)

    async def _changed(self) -> None:
        before, after, gone = self._texts("changed", 3)
        entry = await self._client.add(MemoryDraft(content=before))
        other = await self._client.add(MemoryDraft(content=gone))
        await self._client.update(MemoryChange(id=entry.id, content=after))
        await self._client.delete(MemoryFilter(), ids=[other.id])
        self.kept[after] += 1

    async def _batch(self, texts: list[str | None], on_error: OnError) -> list[BatchError]:
        drafts = [WRONG if text is None else MemoryDraft(content=text) for text in texts]
        return list((await self._client.add_many(drafts, on_error=on_error)).errors)

    def _texts(self, what: str, count: int) -> list[str]:
        return [f"{what} {number} of client {self._number}" for number in range(count)]


@pytest.mark.asyncio(loop_scope="session")
async def test_concurrent_writes_of_64_accounts_are_all_stored(
    memory: str, prosody: Provisioner
) -> None:
    async with AsyncExitStack() as stack:
        names = [f"crowd{number}" for number in range(CLIENTS)]
        askers = await asyncio.gather(*(asker(name, prosody, stack) for name in names))
        writers = [
            Writer(MemoryClient(one.node.requester, memory, timeout_s=TIMEOUT_S), number)
            for number, one in enumerate(askers)
        ]

        await asyncio.gather(*(writer.write() for writer in writers))

        assert [await writer.found() for writer in writers] == [one.kept for one in writers]
