"""The package's public names, and that they cost nothing until they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spade_llm.providers
from spade_llm.providers import (
    ChatModel,
    Embedder,
    FallbackModel,
    LLMProvider,
    MiniLmEmbedder,
    OfflineProvider,
    OpenAIEmbedder,
    ScriptedProvider,
)

CHAT_MODELS: list[type[ChatModel]] = [
    FallbackModel,
    LLMProvider,
    OfflineProvider,
    ScriptedProvider,
]
"""mypy checks that each plays the role."""
EMBEDDERS: list[type[Embedder]] = [MiniLmEmbedder, OpenAIEmbedder]


def test_every_public_name_can_be_imported_and_they_are_sorted() -> None:
    names = spade_llm.providers.__all__

    assert names == sorted(names)
    assert all(getattr(spade_llm.providers, name).__name__ == name for name in names)


@pytest.mark.parametrize(
    "statement",
    [
        "import spade_llm.providers.model",
        "from spade_llm.providers import LLMProvider, OfflineProvider, ScriptedProvider, ToolCall",
    ],
)
def test_importing_loads_no_heavy_library(statement: str) -> None:
    heavy = {"openai", "httpx2", "onnxruntime", "numpy", "tokenizers", "pydantic"}
    code = f"import sys; {statement}; print(*sorted({heavy!r} & set(sys.modules)))"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert loaded.stdout.split() == []
