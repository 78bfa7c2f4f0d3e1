"""What of a conversation reaches the model. Pure: knows no agent and no storage.

A door, too, to what programs written for spade_llm 0.2/0.3 import from here.
"""

from typing import TYPE_CHECKING

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
from spade_llm.lazy import lazy_exports
from spade_llm.providers.messages import (
    AssistantMessage,
    ContextMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from spade_llm.providers.messages import FunctionCall as ToolCallFunction
from spade_llm.providers.messages import ToolCallEntry as ToolCall

if TYPE_CHECKING:
    from spade_llm.programs.context_manager import ContextManager
    from spade_llm.programs.context_messages import (
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
