"""Small things that programs written for spade_llm 0.2/0.3 import from here. A door only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

if TYPE_CHECKING:
    from spade_llm.programs.conversation_ids import generate_conversation_id, generate_unique_id
    from spade_llm.programs.retrieval_body import (
        create_retrieval_response_body,
        format_documents_for_response,
    )
    from spade_llm.settings import load_env_vars
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = [
    "create_retrieval_response_body",
    "format_documents_for_response",
    "generate_conversation_id",
    "generate_unique_id",
    "load_env_vars",
]
