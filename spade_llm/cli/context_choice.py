"""An assistant's context strategy from its `[context]`; knows what each needs to be made."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.context import (
    AdaptiveSmartContext,
    AdaptiveWindow,
    CombinedContext,
    Compression,
    NoContextManagement,
    SemanticRetention,
    SmartWindowSizeContext,
    TokenBudget,
    WindowSizeContext,
    counter_for,
)
from spade_llm.conversation.watched_model import WatchedModel
from spade_llm.errors import ConfigurationError
from spade_llm.providers.offline import OfflineProvider

if TYPE_CHECKING:
    from spade_llm.cli.definition import Definition
    from spade_llm.cli.embeddings import Embedders
    from spade_llm.context import ContextManagement, TokenCounter
    from spade_llm.providers.embedder import Embedder
    from spade_llm.providers.model import ChatModel
    from spade_llm.settings import ContextTable

WINDOW_MESSAGES = 20
ADAPTIVE_MESSAGES = 60
COUNTING = frozenset({"tokens", "adaptive"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Materials:
    """What strategies are made with; None where none of them asks for it."""

    counter: TokenCounter | None = None
    embedder: Embedder | None = None
    summariser: ChatModel | None = None


async def choose_context(
    definition: Definition, model: ChatModel, embedders: Embedders
) -> ContextManagement:
    """Raises ConfigurationError: a file that the table names is not there."""
    table = definition.settings.context
    by_model = table.summary_by == "model" and not isinstance(model, OfflineProvider)
    is_counting = bool(COUNTING & set(table.strategy))
    materials = Materials(
        # Off the loop: a table takes half a second to load.
        counter=await asyncio.to_thread(_counter, definition, model.name) if is_counting else None,
        embedder=await embedders.get(definition) if table.vectors else None,
        summariser=WatchedModel(model) if by_model else None,
    )
    return build_context(table, materials)


def build_context(table: ContextTable, materials: Materials | None = None) -> ContextManagement:
    made = [_build(name, table, materials or Materials()) for name in table.strategy]
    return made[0] if len(made) == 1 else CombinedContext(made)


def _build(name: str, table: ContextTable, materials: Materials) -> ContextManagement:
    match name:
        case "window":
            return WindowSizeContext(table.max_messages or WINDOW_MESSAGES)
        case "smart":
            return SmartWindowSizeContext(
                max_messages=table.max_messages or WINDOW_MESSAGES,
                preserve_initial=table.preserve_initial,
                prioritize_tools=table.prioritize_tools,
            )
        case "tokens":
            return TokenBudget(table.token_limit, counter=materials.counter)
        case "semantic":
            return SemanticRetention(
                table.max_messages, table.similarity_threshold, embedder=materials.embedder
            )
        case "compression":
            return Compression(table.summary_tokens, model=materials.summariser)
        case "adaptive_window":
            return AdaptiveWindow(table.min_messages, table.max_messages or ADAPTIVE_MESSAGES)
        case "adaptive":
            return AdaptiveSmartContext(
                table.token_limit,
                table.similarity_threshold,
                table.compression,
                table.adaptive_window,
                counter=materials.counter,
                embedder=materials.embedder,
                summariser=materials.summariser,
            )
        case _:
            return NoContextManagement()


def _counter(definition: Definition, model: str) -> TokenCounter:
    named = definition.settings.context.tokenizer
    if named is None:
        return counter_for(model)
    path = definition.path.absolute().parent / named
    try:
        return counter_for(model, tokenizer=path)
    except ConfigurationError as error:
        raise ConfigurationError(f"{definition.path}: context.tokenizer: {error}") from error
