"""Utility functions of spade_llm 0.2 and 0.3, under their old import path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.compat.context_manager import generate_conversation_id, generate_unique_id
    from spade_llm.compat.retrieval_tool import (
        create_retrieval_response_body,
        format_documents_for_response,
    )
    from spade_llm.core.settings import load_env_vars
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = [
    "create_retrieval_response_body",
    "format_documents_for_response",
    "generate_conversation_id",
    "generate_unique_id",
    "load_env_vars",
]
