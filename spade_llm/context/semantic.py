"""SemanticRetention: beside the newest messages those that are nearest to the present question."""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING

from spade_llm.context.arguments import checked_count, checked_share
from spade_llm.context.composable import Composable, Limits
from spade_llm.context.nearness import has_vectors, nearest
from spade_llm.context.terms import text_of
from spade_llm.errors import ModelError

if TYPE_CHECKING:
    from spade_llm.context.filling import Filling
    from spade_llm.context.notes import Block, Notes
    from spade_llm.context.strategy import ContextStats
    from spade_llm.providers.embedder import Embedder

logger = logging.getLogger(__name__)

NEAR_SHARE = 0.5
"""Of the room that the current turn leaves: the newest messages have the rest."""
BATCH = 32
"""Blocks that are embedded together: 30 ms, and a deadline may come between two batches."""
MAX_EMBEDDED_CHARS = 2000


class SemanticRetention(Composable):
    """By words at once; by vectors too, as soon as `prepare` had the time for them."""

    name = "semantic_retention"

    def __init__(
        self,
        max_messages: int | None = None,
        similarity_threshold: float = 0.8,
        *,
        embedder: Embedder | None = None,
    ) -> None:
        """`max_messages`: None leaves the limit to the other parts (alone: 20).

        `similarity_threshold`: how near a message must be beside the nearest one. Not a cosine:
        those of different models, and of questions and answers, cannot be compared.
        """
        self.max_messages = (
            None if max_messages is None else checked_count("max_messages", max_messages, minimum=1)
        )
        self.similarity_threshold = checked_share("similarity_threshold", similarity_threshold)
        self.embedder = embedder

    def limits(self) -> Limits:
        return Limits(max_messages=inf if self.max_messages is None else self.max_messages)

    def claim(self, filling: Filling) -> None:
        self._keep_near(filling, NEAR_SHARE)

    def claim_rest(self, filling: Filling) -> None:
        self._keep_near(filling, 1.0)

    def _keep_near(self, filling: Filling, part: float) -> None:
        noted, share = filling.noted, filling.share(part)
        for index in nearest(noted.notes, filling.question, threshold=self.similarity_threshold):
            for block in _with_partner(noted.notes, index):
                place = noted.place(block)
                if place is not None and not share.is_used_up:
                    filling.retention.keep(place, within=share)

    async def enrich(self, notes: Notes, question: str) -> None:
        """The question's vector first, then those of blocks that have none yet."""
        if self.embedder is None or not question:
            return
        try:
            if notes.question_vector is None or notes.question_vector[0] != question:
                vectors = await self.embedder.embed([question[-MAX_EMBEDDED_CHARS:]])
                notes.question_vector = (question, vectors[0])
            await self._embed_rest(notes, self.embedder)
        except ModelError as error:
            logger.warning("nearness is by words only for now: %s", error)

    async def enrich_ahead(self, notes: Notes) -> None:
        if self.embedder is not None:
            await self._embed_rest(notes, self.embedder)

    async def _embed_rest(self, notes: Notes, embedder: Embedder) -> None:
        import numpy as np

        from spade_llm.text.packed import quantize
        from spade_llm.text.vectors import Vectors

        while notes.with_vector < len(notes.blocks):
            start = notes.with_vector
            blocks = notes.blocks[start : start + BATCH]
            values, _ = quantize(await embedder.embed([_text(notes, block) for block in blocks]))
            if notes.with_vector != start:
                continue  # Somebody else did it meanwhile.
            notes.vectors = notes.vectors or Vectors()
            notes.vectors.extend(len(blocks))
            notes.vectors.put(np.arange(start, start + len(blocks), dtype=np.int32), values)
            notes.with_vector = start + len(blocks)

    def describe(self, stats: ContextStats) -> None:
        stats["similarity_threshold"] = self.similarity_threshold
        stats["similarity_by"] = "words" if self.embedder is None else "vectors"
        if self.max_messages is not None:
            stats["max_messages"] = self.max_messages

    def degraded(self, filling: Filling) -> str:
        if self.embedder is None or filling.is_whole:
            return ""
        return "" if has_vectors(filling.noted.notes, filling.question) else "vectors"


def _with_partner(notes: Notes, index: int) -> list[Block]:
    """A question with the answer right behind it, an answer with the question right before it."""
    block = notes.blocks[index]
    other = index + 1 if block.role == "user" else index - 1
    is_there = 0 <= other < len(notes.blocks) and notes.blocks[other].turn == block.turn
    return [block, notes.blocks[other]] if is_there else [block]


def _text(notes: Notes, block: Block) -> str:
    messages = notes.messages[block.place.start : block.place.stop]
    return " ".join(map(text_of, messages))[:MAX_EMBEDDED_CHARS] or "-"
