"""Context management: selects the messages of a conversation that reach the model."""

from typing import TYPE_CHECKING

from spade_llm.context.compression import Compression
from spade_llm.context.semantic import SemanticRetention
from spade_llm.context.strategy import ContextManagement, ContextStats
from spade_llm.context.token_counter import EstimatedTokens, TokenCounter, counter_for
from spade_llm.context.windows import (
    AdaptiveSmartContext,
    AdaptiveWindow,
    CombinedContext,
    NoContextManagement,
    SmartWindowSizeContext,
    TokenBudget,
    WindowSizeContext,
)
from spade_llm.core.imports import lazy_exports
from spade_llm.providers.model import (
    AssistantMessage,
    ContextMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from spade_llm.providers.model import FunctionCall as ToolCallFunction
from spade_llm.providers.model import ToolCallEntry as ToolCall

if TYPE_CHECKING:
    from spade_llm.compat.context_manager import (
        ContextManager,
        create_assistant_message,
        create_assistant_tool_call_message,
        create_system_message,
        create_tool_result_message,
        create_user_message,
        spade_message_to_user_message,
    )
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = [
    "AdaptiveSmartContext",
    "AdaptiveWindow",
    "AssistantMessage",
    "CombinedContext",
    "Compression",
    "ContextManagement",
    "ContextManager",
    "ContextMessage",
    "ContextStats",
    "EstimatedTokens",
    "NoContextManagement",
    "SemanticRetention",
    "SmartWindowSizeContext",
    "SystemMessage",
    "TokenBudget",
    "TokenCounter",
    "ToolCall",
    "ToolCallFunction",
    "ToolResultMessage",
    "UserMessage",
    "WindowSizeContext",
    "counter_for",
    "create_assistant_message",
    "create_assistant_tool_call_message",
    "create_system_message",
    "create_tool_result_message",
    "create_user_message",
    "spade_message_to_user_message",
]
