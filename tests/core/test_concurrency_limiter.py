"""A bounded number of turns asks a service at once, and the others wait for it, not long."""

from __future__ import annotations

import asyncio

from spade_llm.assistant.turn.recall import MAX_CONCURRENT, Recall, RecallResult
from spade_llm.rag.contract import Retrieval, RetrievalOptions

MANY = 5 * MAX_CONCURRENT


class Counting:
    """Finds nothing, in a while, and knows how many were asking at once."""

    def __init__(self) -> None:
        self.now = self.most = self.asked = 0

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        self.now, self.asked = self.now + 1, self.asked + 1
        self.most = max(self.most, self.now)
        for _ in range(3):
            await asyncio.sleep(0)
        self.now -= 1
        return Retrieval(chunks=())


class Silent(Counting):
    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        self.asked += 1
        return await asyncio.Future()


async def recalled_at_once(recall: Recall) -> list[RecallResult]:
    async with asyncio.timeout(5):
        return await asyncio.gather(*(recall.about("?", subject="a@x") for _ in range(MANY)))


async def test_a_crowd_asks_documents_a_few_at_a_time_and_each_is_answered() -> None:
    documents = Counting()

    recalled = await recalled_at_once(Recall(memory=None, retriever=documents))

    assert (documents.most, documents.asked) == (MAX_CONCURRENT, MANY)
    assert {one.missing for one in recalled} == {()}


async def test_waiting_calls_fail_without_asking_a_silent_service() -> None:
    documents = Silent()

    recalled = await recalled_at_once(Recall(memory=None, retriever=documents, deadline_s=0.02))

    assert documents.asked == MAX_CONCURRENT
    assert {one.missing for one in recalled} == {("documents",)}
