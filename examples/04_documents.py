"""An answer from a document, with its source.

Teaches: the RAG agent, giving it a document by message, and sources in the reply. Without an
embedder it searches by keywords.
"""

from __future__ import annotations

import asyncio

from spade_llm import ChatAgent, LLMAgent, LocalNetwork, RAGAgent, Services
from spade_llm.providers import OfflineProvider
from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient

GUIDE = """\
# Lighthouse guide

## Opening hours
The lighthouse is open from ten to six, except on Mondays.

## Stairs
There are 199 steps to the lamp, and no lift.
"""


async def main() -> None:
    async with LocalNetwork() as network:
        rag = RAGAgent(*await network.account("rag"), options=network.options("rag"))
        assistant = LLMAgent(
            *await network.account("assistant"),
            OfflineProvider(),
            services=Services(rag="rag@localhost"),
            options=network.options("assistant"),
        )
        you = ChatAgent(*await network.account("you"), options=network.options("you"))
        await network.start(rag, assistant, you)

        # Documents belong to who sends them: the assistant gives the RAG agent its own.
        documents = RagClient(assistant.node.requester, "rag@localhost")
        await documents.ingest(Document(text=GUIDE, source="guide.md"))
        reply = await you.say("assistant@localhost", "How many steps are there to the lamp?")
        print(reply.text)
        print("sources:", ", ".join(reply.sources))


if __name__ == "__main__":
    asyncio.run(main())
