"""What a retrieval may ask for: the bounds of its options. Knows no store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.rag.filters import check_where

if TYPE_CHECKING:
    from spade_llm.rag.retriever import RetrievalOptions

MAX_TOKENS = 1_000_000


def check_options(options: RetrievalOptions) -> None:
    """Raises InvalidArguments."""
    if options.min_score is not None and not 0 <= options.min_score <= 1:
        raise InvalidArguments(f"min_score is {options.min_score}; it must be 0 to 1")
    if options.max_tokens is not None and not 1 <= options.max_tokens <= MAX_TOKENS:
        raise InvalidArguments(f"max_tokens is {options.max_tokens}; it must be 1 to {MAX_TOKENS}")
    check_where(options.where)
