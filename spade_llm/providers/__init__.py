"""Language models and embedders. Each name is imported only when it is first used.

A door, too, to what programs written for spade_llm 0.2/0.3 find here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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

_MODULE_OF = {
    "BaseLLMProvider": "spade_llm.programs.base_provider",
    "ChatModel": "model",
    "Completion": "model",
    "Embedder": "embedder",
    "FallbackModel": "fallback",
    "LLMProvider": "spade_llm.programs.llm_provider",
    "MiniLmEmbedder": "minilm",
    "ModelLimits": "retry",
    "OfflineProvider": "offline",
    "OpenAIEmbedder": "openai_embedder",
    "OpenAIModel": "openai_model",
    "ScriptedProvider": "scripted",
    "TextDelta": "model",
    "ToolCall": "model",
    "ToolSpec": "model",
    "Usage": "model",
    "fetch_weights": "minilm_weights",
    "find_weights": "minilm_weights",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULE_OF[name]
    return getattr(import_module(module if "." in module else f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
