"""What of a conversation reaches the model. Pure: knows no agent, no model and no storage."""

from spade_llm.context.no_management import NoContextManagement
from spade_llm.context.smart_window import SmartWindowSizeContext
from spade_llm.context.strategy import ContextManagement, ContextStats
from spade_llm.context.window import WindowSizeContext
from spade_llm.providers.messages import (
    AssistantMessage,
    ContextMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)

__all__ = [
    "AssistantMessage",
    "ContextManagement",
    "ContextMessage",
    "ContextStats",
    "NoContextManagement",
    "SmartWindowSizeContext",
    "SystemMessage",
    "ToolResultMessage",
    "UserMessage",
    "WindowSizeContext",
]
