"""RAGAgent: documents for every agent that asks, each seeing its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError
from spade_llm.rag import DocumentLibrary
from spade_llm.services import status
from spade_llm.services.rag import RagService
from spade_llm.xmpp.agent import AgentOptions, XmppAgent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack
    from pathlib import Path

    from spade_llm.providers.embedder import Embedder


class RAGAgent(XmppAgent):
    """`embedder=None`: keywords only, and every answer says so."""

    def __init__(
        self,
        jid: str,
        password: str,
        *,
        embedder: Embedder | None,
        roots: Sequence[Path],
        options: AgentOptions,
    ) -> None:
        super().__init__(jid, password, options=options)
        if options.data is None:
            raise ConfigurationError("options.data: the RAG agent needs a directory to keep")
        self._library = DocumentLibrary(options.data / "rag", embedder=embedder, roots=roots)
        self._embeddings = embedder.name if embedder else "none (keywords only)"
        RagService(self._library).attach(self.node.dispatcher)
        self.announce(kind="rag")
        status.serve(self.node.dispatcher, kind="rag", summary=self._summary)

    async def open_resources(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self._library)

    async def _summary(self) -> str:
        return f"Chroma, embeddings {self._embeddings}"
