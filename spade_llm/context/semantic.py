"""SemanticRetention: keeps the messages most relevant to the question, by words and vectors."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from math import inf, log
from typing import TYPE_CHECKING

from spade_llm.context.composable import Composable, ContextLimits, check_count, check_share
from spade_llm.context.salience import message_text, text_terms
from spade_llm.core.errors import ModelError

if TYPE_CHECKING:
    from spade_llm.context.notes import Block, HistoryNotes
    from spade_llm.context.strategy import ContextDraft, ContextStats
    from spade_llm.providers.model import Embedder

logger = logging.getLogger(__name__)

MAX_TERMS = 12
"""Maximum number of terms of a question, the rarest first."""
FEW_BLOCKS = 8
"""Maximum number of blocks with a word for the word to count as rare."""
MAX_CANDIDATES = 48
MIN_COSINE = 0.25
"""Cosine of two MiniLM vectors below which their texts are unrelated."""
VECTOR_SHARE = 0.5

RELEVANT_SHARE = 0.5
"""Share of the budget left by the current turn; the newest messages get the rest."""
QUESTION_MARKS = frozenset("?？؟")
BATCH = 32
"""Blocks that are embedded together: 30 ms, and a deadline may come between two batches."""
MAX_EMBEDDED_CHARS = 2000


def most_relevant_blocks(notes: HistoryNotes, question: str, *, threshold: float) -> list[int]:
    """Return the blocks most relevant to the question, the best first, of equal ones the newer.

    They score at least `threshold` times the best score. For each rare word of the question the
    best block with it is added, because a question may ask for several things.
    """
    known = [term for term in text_terms(question) if notes.block_counts.get(term)]
    asked = sorted(known, key=lambda term: (notes.block_counts[term], term))[:MAX_TERMS]
    scores = _term_scores(notes, asked, _cosines(notes, question))
    if not scores:
        return []
    best = max(scores.values())
    near = {block for block, score in scores.items() if score >= threshold * best}
    for term in asked:
        if notes.block_counts[term] <= FEW_BLOCKS:
            near.add(max(notes.blocks_by_term[term], key=lambda block: (scores[block], block)))
    return sorted(near, key=lambda block: (-scores[block], -block))[:MAX_CANDIDATES]


def ranks_by_vectors(notes: HistoryNotes, question: str) -> bool:
    """True if vectors of the question and of every block are available for the similarity."""
    asked = notes.question_vector
    is_asked = asked is not None and asked[0] == question
    return is_asked and notes.embedded_blocks >= len(notes.blocks)


class SemanticRetention(Composable):
    """Retention by similarity to the question: by words at once, and by vectors once `prepare` has
    embedded the messages."""

    name = "semantic_retention"
    allows_stable_prefix = True
    quotes = True

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
            None if max_messages is None else check_count("max_messages", max_messages, minimum=1)
        )
        self.similarity_threshold = check_share("similarity_threshold", similarity_threshold)
        self.embedder = embedder

    def limits(self) -> ContextLimits:
        return ContextLimits(max_messages=inf if self.max_messages is None else self.max_messages)

    def select_important(self, draft: ContextDraft) -> None:
        self._keep_near(draft, RELEVANT_SHARE)

    def select_more(self, draft: ContextDraft) -> None:
        self._keep_near(draft, 1.0)

    def relevant_blocks(self, notes: HistoryNotes, question: str) -> Iterator[Block]:
        """As in `_near_pairs`, but a person's statement comes without the reply to it, which says
        little more."""
        for block, other in self._near_pairs(notes, question):
            yield block
            text = notes.messages[block.indexes.start]["content"] or ""
            is_question = not QUESTION_MARKS.isdisjoint(text)
            if other is not None and (other.role == "user" or is_question):
                yield other

    def _near_pairs(
        self, notes: HistoryNotes, question: str
    ) -> Iterator[tuple[Block, Block | None]]:
        """Each with its other half: a question with its answer, an answer with its question."""
        blocks = notes.blocks
        for index in most_relevant_blocks(notes, question, threshold=self.similarity_threshold):
            block = blocks[index]
            other = index + 1 if block.role == "user" else index - 1
            is_pair = 0 <= other < len(blocks) and blocks[other].turn == block.turn
            yield block, blocks[other] if is_pair else None

    def _keep_near(self, draft: ContextDraft, part: float) -> None:
        noted, share = draft.noted_history, draft.share(part)
        for pair in self._near_pairs(noted.notes, draft.question):
            for block in filter(None, pair):
                indexes = noted.locate(block)
                if indexes is not None and not share.is_exhausted:
                    draft.retention.keep(indexes, within=share)

    async def prepare_notes(self, notes: HistoryNotes, question: str) -> None:
        """The question's vector first, then those of blocks that have none yet."""
        if self.embedder is None or not question:
            return
        try:
            if notes.question_vector is None or notes.question_vector[0] != question:
                vectors = await self.embedder.embed([question[-MAX_EMBEDDED_CHARS:]])
                notes.question_vector = (question, vectors[0])
            await self._embed_rest(notes, self.embedder)
        except ModelError as error:
            logger.warning("embedder unavailable, relevance is computed from words: %s", error)

    async def prepare_notes_ahead(self, notes: HistoryNotes) -> None:
        if self.embedder is not None:
            await self._embed_rest(notes, self.embedder)

    async def _embed_rest(self, notes: HistoryNotes, embedder: Embedder) -> None:
        import numpy as np

        from spade_llm.search.vectors import QuantizedVectors, quantize_vectors

        while notes.embedded_blocks < len(notes.blocks):
            start = notes.embedded_blocks
            blocks = notes.blocks[start : start + BATCH]
            texts = []
            for block in blocks:
                messages = notes.messages[block.indexes.start : block.indexes.stop]
                texts.append(" ".join(map(message_text, messages))[:MAX_EMBEDDED_CHARS] or "-")
            values, _ = quantize_vectors(await embedder.embed(texts))
            if notes.embedded_blocks != start:
                continue  # Another task embedded them meanwhile.
            notes.vectors = notes.vectors or QuantizedVectors()
            notes.vectors.extend(len(blocks))
            notes.vectors.put(np.arange(start, start + len(blocks), dtype=np.int32), values)
            notes.embedded_blocks = start + len(blocks)

    def describe(self, stats: ContextStats) -> None:
        stats["similarity_threshold"] = self.similarity_threshold
        stats["similarity_by"] = "words" if self.embedder is None else "vectors"
        if self.max_messages is not None:
            stats["max_messages"] = self.max_messages

    def degraded(self, draft: ContextDraft) -> str:
        if self.embedder is None or draft.fits:
            return ""
        return "" if ranks_by_vectors(draft.noted_history.notes, draft.question) else "vectors"


def _term_scores(
    notes: HistoryNotes, asked: list[int], cosines: dict[int, float]
) -> dict[int, float]:
    """Score the blocks by the weight of the question terms they contain (rare words weigh more),
    and by cosine if there are any."""
    weights = {term: log(1 + len(notes.blocks) / notes.block_counts[term]) for term in asked}
    total = sum(weights.values()) or 1.0
    scores: defaultdict[int, float] = defaultdict(float)
    for term, weight in weights.items():
        for block in notes.blocks_by_term[term]:
            scores[block] += weight / total
    if not cosines:
        return scores
    return {
        block: (1 - VECTOR_SHARE) * scores.get(block, 0.0) + VECTOR_SHARE * cosines.get(block, 0.0)
        for block in {*scores, *cosines}
    }


def _cosines(notes: HistoryNotes, question: str) -> dict[int, float]:
    """Compute the cosines of the blocks nearest to the question."""
    if notes.vectors is None or notes.question_vector is None:
        return {}
    text, vector = notes.question_vector
    if text != question:
        return {}
    import numpy as np

    near = notes.vectors.near_cosines(vector)
    rows = np.argsort(-near, kind="stable")[:MAX_CANDIDATES]
    exact = notes.vectors.cosines(rows, vector)
    return {
        int(row): float(cosine)
        for row, cosine in zip(rows, exact, strict=True)
        if cosine >= MIN_COSINE
    }
