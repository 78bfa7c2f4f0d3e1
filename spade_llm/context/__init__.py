"""What of a conversation reaches the model. Pure: knows no agent and no storage.

A door, too, to what programs written for spade_llm 0.2/0.3 import from here.
"""

from importlib import import_module
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

_PROGRAMS = {
    "ContextManager": "context_manager",
    "create_assistant_message": "context_messages",
    "create_assistant_tool_call_message": "context_messages",
    "create_system_message": "context_messages",
    "create_tool_result_message": "context_messages",
    "create_user_message": "context_messages",
    "spade_message_to_user_message": "context_messages",
}


def __getattr__(name: str) -> object:
    if name not in _PROGRAMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"spade_llm.programs.{_PROGRAMS[name]}"), name)
