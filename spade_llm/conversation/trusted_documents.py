"""A Retriever that finds its owner's documents, and of others' only what it was told to trust, and
what the person granted that it is asked for.

Anybody may grant a namespace to anybody: without this, a stranger's text would be quoted in every
chat of an assistant that was let in unasked, and what one person granted in another's. Knows no
wire.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.rag.retriever import RetrievalOptions

if TYPE_CHECKING:
    from spade_llm.rag.retriever import Retrieval, Retriever


class TrustedDocuments:
    """Satisfies Retriever."""

    def __init__(self, retriever: Retriever, *, shared: tuple[str, ...]) -> None:
        """`shared`: `owner@domain` or `owner@domain/name`."""
        self._retriever = retriever
        self._shared = shared

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        trusted = replace(options or RetrievalOptions(), shared=self._shared)
        return await self._retriever.retrieve(query, k=k, options=trusted)
