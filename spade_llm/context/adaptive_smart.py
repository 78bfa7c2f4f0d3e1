"""AdaptiveSmartContext: a budget of tokens, and all that makes the best of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.adaptive_window import AdaptiveWindow
from spade_llm.context.arguments import checked_flag
from spade_llm.context.composable import Composable
from spade_llm.context.compression import MIN_TOKENS, Compression
from spade_llm.context.semantic import SemanticRetention
from spade_llm.context.token_budget import TokenBudget

if TYPE_CHECKING:
    from spade_llm.context.strategy import ContextStats
    from spade_llm.context.token_counter import TokenCounter
    from spade_llm.providers.embedder import Embedder
    from spade_llm.providers.model import ChatModel

SUMMARY_SHARE = 4
MAX_MESSAGES = 400
"""Of tokens there is a limit already."""


class AdaptiveSmartContext(Composable):
    """Everything while it fits. Then, within `token_limit`: the current turn, a summary of what is
    left out, what is nearest to the question, and the newest messages as far as they matter."""

    name = "adaptive_smart"

    def __init__(
        self,
        token_limit: int = 4000,
        semantic_similarity_threshold: float = 0.8,
        compression_enabled: bool = True,
        adaptive_window: bool = True,
        *,
        counter: TokenCounter | None = None,
        embedder: Embedder | None = None,
        summariser: ChatModel | None = None,
    ) -> None:
        """`embedder`: nearness by vectors, too; `summariser`: writes the summary between turns."""
        budget = TokenBudget(token_limit, counter=counter)
        parts: list[Composable] = [budget]
        if checked_flag("compression_enabled", compression_enabled):
            tokens = max(token_limit // SUMMARY_SHARE, MIN_TOKENS)
            parts.append(Compression(tokens, model=summariser))
        parts.append(SemanticRetention(None, semantic_similarity_threshold, embedder=embedder))
        if checked_flag("adaptive_window", adaptive_window):
            parts.append(AdaptiveWindow(max_messages=MAX_MESSAGES, only_if_needed=True))
        self._parts = tuple(parts)

    @property
    def parts(self) -> tuple[Composable, ...]:
        return self._parts

    def get_stats(self, total_messages: int) -> ContextStats:
        stats = super().get_stats(total_messages)
        stats["strategy"] = self.name
        return stats
