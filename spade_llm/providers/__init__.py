"""Language models and embedders. Each name is imported only when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from spade_llm.providers.openai_provider import LLMProvider
    from spade_llm.providers.retry import ModelLimits
    from spade_llm.providers.scripted import ScriptedProvider

__all__ = [
    "ChatModel",
    "Completion",
    "Embedder",
    "FallbackModel",
    "LLMProvider",
    "MiniLmEmbedder",
    "ModelLimits",
    "OfflineProvider",
    "OpenAIEmbedder",
    "ScriptedProvider",
    "TextDelta",
    "ToolCall",
    "ToolSpec",
    "Usage",
    "fetch_weights",
    "find_weights",
]

_MODULE_OF = {
    "ChatModel": "model",
    "Completion": "model",
    "Embedder": "embedder",
    "FallbackModel": "fallback",
    "LLMProvider": "openai_provider",
    "MiniLmEmbedder": "minilm",
    "ModelLimits": "retry",
    "OfflineProvider": "offline",
    "OpenAIEmbedder": "openai_embedder",
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
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
