"""What of a conversation reaches the model. Pure: knows no agent and no storage."""

from spade_llm.context.adaptive_smart import AdaptiveSmartContext
from spade_llm.context.adaptive_window import AdaptiveWindow
from spade_llm.context.combined import CombinedContext
from spade_llm.context.compression import Compression
from spade_llm.context.no_management import NoContextManagement
from spade_llm.context.semantic import SemanticRetention
from spade_llm.context.smart_window import SmartWindowSizeContext
from spade_llm.context.strategy import ContextManagement, ContextStats
from spade_llm.context.token_budget import TokenBudget
from spade_llm.context.token_counter import EstimatedTokens, TokenCounter
from spade_llm.context.token_tables import counter_for
from spade_llm.context.window import WindowSizeContext
from spade_llm.providers.messages import (
    AssistantMessage,
    ContextMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)

__all__ = [
    "AdaptiveSmartContext",
    "AdaptiveWindow",
    "AssistantMessage",
    "CombinedContext",
    "Compression",
    "ContextManagement",
    "ContextMessage",
    "ContextStats",
    "EstimatedTokens",
    "NoContextManagement",
    "SemanticRetention",
    "SmartWindowSizeContext",
    "SystemMessage",
    "TokenBudget",
    "TokenCounter",
    "ToolResultMessage",
    "UserMessage",
    "WindowSizeContext",
    "counter_for",
]
