"""Small things that programs written for spade_llm 0.2/0.3 import from here. A door only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.programs.conversation_ids import generate_conversation_id, generate_unique_id
    from spade_llm.programs.retrieval_body import (
        create_retrieval_response_body,
        format_documents_for_response,
    )
    from spade_llm.settings import load_env_vars

__all__ = [
    "create_retrieval_response_body",
    "format_documents_for_response",
    "generate_conversation_id",
    "generate_unique_id",
    "load_env_vars",
]

_HOME = {
    "create_retrieval_response_body": "programs.retrieval_body",
    "format_documents_for_response": "programs.retrieval_body",
    "generate_conversation_id": "programs.conversation_ids",
    "generate_unique_id": "programs.conversation_ids",
    "load_env_vars": "settings",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"spade_llm.{_HOME[name]}"), name)
