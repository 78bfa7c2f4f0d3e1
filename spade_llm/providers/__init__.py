"""Language models and embedders. Each name is imported only when it is first used.

A door, too, to what programs written for spade_llm 0.2/0.3 find here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

if TYPE_CHECKING:
    from spade_llm.programs.base_provider import BaseLLMProvider
    from spade_llm.programs.llm_provider import LLMProvider
    from spade_llm.providers.embedder import Embedder
    from spade_llm.providers.fallback import FallbackModel
    from spade_llm.providers.minilm import MiniLmEmbedder
    from spade_llm.providers.minilm_weights import fetch_weights, find_weights
    from spade_llm.providers.model import (
        ChatModel,
        Completion,
        TextDelta,
        ToolCall,
        ToolSpec,
        Usage,
    )
    from spade_llm.providers.offline import OfflineProvider
    from spade_llm.providers.openai_embedder import OpenAIEmbedder
    from spade_llm.providers.openai_model import OpenAIModel
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
