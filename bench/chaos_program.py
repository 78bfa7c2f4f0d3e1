"""A program that stores, lists, calculates and chats while everything breaks. Knows no fault."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING

from bench.chaos_ledger import Ledger, Said
from bench.chaos_model import fact_of
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.core.errors import RequestError, ServiceError
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient
from spade_llm.search.memory_query import Category
from spade_llm.tools.remote import ToolsClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.agents import ChatAgent

logger = logging.getLogger(__name__)

DEADLINE_S = 30.0
PATIENCE_S = 2 * DEADLINE_S
"""A request that has not ended by then hangs."""
PAUSE_S = (0.05, 0.5)
PAGE = 200


class Program:
    """Asks one thing after another; each ends with an answer or an error."""

    def __init__(self, agent: ChatAgent, *, domain: str, ledger: Ledger) -> None:
        self.name = str(agent.jid.local)
        self._ledger = ledger
        self._count = 0
        self._kept: set[str] = set()
        self._read: set[str] = set()
        requester = agent.node.requester
        self._memory = MemoryClient(requester, f"memory@{domain}", timeout_s=DEADLINE_S)
        self._documents = RagClient(requester, f"rag@{domain}", timeout_s=DEADLINE_S)
        self._assistant = ChatClient(requester, f"assistant@{domain}", timeout_s=DEADLINE_S)
        self._tools = ToolsClient(requester, f"tools@{domain}", timeout_s=DEADLINE_S)

    async def work(self, over: asyncio.Event) -> None:
        kinds = (self._store, self._ingest, self._list, self._calculate, self._chat)
        while not over.is_set():
            self._count += 1
            await self._one(random.choice(kinds), f"{self.name}-{self._count}")
            await asyncio.sleep(random.uniform(*PAUSE_S))

    async def _one(self, kind: Callable[[str], Awaitable[None]], text: str) -> None:
        loop = asyncio.get_running_loop()
        said = Said(text=f"{text} {kind.__name__}", began=loop.time())
        self._ledger.said.append(said)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await kind(text)
            said.answers.add(text)
        except (RequestError, ServiceError) as error:
            said.errors.append(f"{type(error).__name__}: {error}")
            logger.info("%s: %s", said.text, error)
        except TimeoutError:
            pass  # neither answer nor error: the ledger complains
        said.ended = loop.time()

    async def _store(self, text: str) -> None:
        draft = MemoryDraft(category=Category.FACT, content=fact_of(text))
        entry = await self._memory.add(draft, key=text)
        self._kept.add(entry.content)
        self._ledger.kept.append(entry.content)

    async def _list(self, text: str) -> None:
        kept, seen = set(self._kept), set[str]()
        while page := (await self._memory.list(limit=PAGE, offset=len(seen))).entries:
            seen |= {entry.content for entry in page}
        self._ledger.note_words(self.name, " ".join(seen), "a list")
        if not kept <= seen:
            self._ledger.leaks.append(f"{self.name} does not see {sorted(kept - seen)[:3]}")

    async def _ingest(self, text: str) -> None:
        document = Document(text=fact_of(text), source=text)
        self._read.add((await self._documents.ingest(document)).source)

    async def has_all_documents(self) -> None:
        """Asked when all is quiet: what was acknowledged is there."""
        seen: list[str] = []
        while page := (await self._documents.documents(limit=PAGE, offset=len(seen))).documents:
            seen += [one.source for one in page]
        self._ledger.note_words(self.name, " ".join(seen), "a list of documents")
        for source in self._read - set(seen):
            self._ledger.leaks.append(f"acknowledged and lost: document {source}")
        if len(seen) > len(set(seen)):
            self._ledger.leaks.append(f"{self.name} has a document twice")

    async def _calculate(self, text: str) -> None:
        result = await self._tools.call("calculator", {"expression": f"{self._count} + 1"})
        if str(self._count + 1) not in result.text:
            self._ledger.strays.append(f"{text}: {self._count} + 1 = {result.text}")

    async def _chat(self, text: str) -> None:
        reply = await self._assistant.say(text, conversation_id=text)
        self._ledger.note_words(self.name, reply.text, "a reply")
        if text not in reply.text:
            self._ledger.strays.append(f"{text}: {reply.text}")
