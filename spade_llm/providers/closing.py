"""Ends a model's stream where its reader stops, and so its connection. Knows no vendor."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.providers.model import Completion, TextDelta


@asynccontextmanager
async def closing(pieces: AsyncIterator[TextDelta | Completion]) -> AsyncIterator[None]:
    """Where the model knows how: a ChatModel need not give a generator."""
    try:
        yield
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
