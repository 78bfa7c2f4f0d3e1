"""Language models and embedders; each name is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.compat.llm_provider import LLMProvider
    from spade_llm.compat.own_provider import BaseLLMProvider
    from spade_llm.providers.fallback import FallbackModel
    from spade_llm.providers.local_embedder.embedder import MiniLmEmbedder
    from spade_llm.providers.local_embedder.weights import fetch_weights, find_weights
    from spade_llm.providers.model import (
        ChatModel,
        Completion,
        Embedder,
        NonStreamingModel,
        TextDelta,
        ToolCall,
        ToolSpec,
        Usage,
    )
    from spade_llm.providers.offline.provider import OfflineProvider
    from spade_llm.providers.openai.embedder import OpenAIEmbedder
    from spade_llm.providers.openai.model import OpenAIModel
    from spade_llm.providers.retry import ModelLimits
    from spade_llm.providers.scripted import ScriptedProvider
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = [
    "BaseLLMProvider",
    "ChatModel",
    "Completion",
    "Embedder",
    "FallbackModel",
    "LLMProvider",
    "MiniLmEmbedder",
    "ModelLimits",
    "NonStreamingModel",
    "OfflineProvider",
    "OpenAIEmbedder",
    "OpenAIModel",
    "ScriptedProvider",
    "TextDelta",
    "ToolCall",
    "ToolSpec",
    "Usage",
    "fetch_weights",
    "find_weights",
]
