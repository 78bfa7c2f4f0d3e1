"""RetrievalAgent: a retriever of one's own, asked by messages as spade_llm 0.3 asks.

Our own RAGAgent keeps documents by owner and speaks `spade-llm.rag/1`; this one has one set for all
who may write to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.acl import MESSAGE_TYPE
from spade_llm.programs.retrieval_behaviour import RetrievalBehaviour
from spade_llm.programs.retrieval_body import ASKED
from spade_llm.programs.security import note_security
from spade_llm.programs.surroundings import connection_here
from spade_llm.xmpp.agent import XmppAgent
from spade_llm.xmpp.spade_classes import SpadeTemplate

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.programs.document import Document
    from spade_llm.programs.retrieval_behaviour import RetrievalStats
    from spade_llm.programs.vector_store import BaseRetriever
    from spade_llm.xmpp.agent import AgentOptions


class RetrievalAgent(XmppAgent):
    def __init__(
        self,
        jid: str,
        password: str,
        retriever: BaseRetriever,
        reply_to: str | None = None,
        default_k: int = 4,
        on_retrieval_complete: Callable[[str, list[Document]], None] | None = None,
        verify_security: bool | None = None,
        *,
        options: AgentOptions | None = None,
    ) -> None:
        find = None if options else connection_here
        super().__init__(jid, password, options=options, find_connection=find)
        note_security(str(self.jid), verify_security=verify_security)
        self.retrieval_behaviour = RetrievalBehaviour(
            retriever, reply_to, default_k, on_retrieval_complete
        )
        asked = SpadeTemplate(metadata={MESSAGE_TYPE: ASKED})
        self.add_behaviour(self.retrieval_behaviour, asked)

    @property
    def retriever(self) -> BaseRetriever:
        return self.retrieval_behaviour.retriever

    def update_retriever(self, new_retriever: BaseRetriever) -> None:
        self.retrieval_behaviour.update_retriever(new_retriever)

    def set_default_k(self, k: int) -> None:
        self.retrieval_behaviour.set_default_k(k)

    def get_retrieval_stats(self) -> RetrievalStats:
        return self.retrieval_behaviour.get_stats()
