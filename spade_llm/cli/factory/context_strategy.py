"""Context strategy of an assistant from [context] of agent.toml."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
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
from spade_llm.core.errors import ConfigurationError
from spade_llm.providers.model import language_model

if TYPE_CHECKING:
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.factory.embeddings import EmbedderPool
    from spade_llm.context import ContextManagement, TokenCounter
    from spade_llm.core.settings import ContextTable
    from spade_llm.providers.embedder import Embedder
    from spade_llm.providers.model import ChatModel

WINDOW_MESSAGES = 20
ADAPTIVE_MESSAGES = 60
TOKEN_COUNTING_STRATEGIES = frozenset({"tokens", "adaptive"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyParts:
    """Dependencies of context strategies; None if no strategy needs it."""

    counter: TokenCounter | None = None
    embedder: Embedder | None = None
    summariser: ChatModel | None = None


async def choose_context(
    spec: DeploymentSpec, model: ChatModel, embedders: EmbedderPool
) -> ContextManagement:
    """Raises ConfigurationError if a file that the table names is missing."""
    table = spec.settings.context
    by_model = table.summary_by == "model" and language_model(model) is not None
    is_counting = bool(TOKEN_COUNTING_STRATEGIES & set(table.strategy))
    parts = StrategyParts(
        # Off the event loop: a tokenizer takes half a second to load.
        counter=await asyncio.to_thread(_counter, spec, model.name) if is_counting else None,
        embedder=await embedders.get(spec) if table.vectors else None,
        summariser=InstrumentedModel(model) if by_model else None,
    )
    return build_context(table, parts)


def build_context(table: ContextTable, materials: StrategyParts | None = None) -> ContextManagement:
    made = [_build(name, table, materials or StrategyParts()) for name in table.strategy]
    return made[0] if len(made) == 1 else CombinedContext(made)


def _build(name: str, table: ContextTable, materials: StrategyParts) -> ContextManagement:
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


def _counter(spec: DeploymentSpec, model: str) -> TokenCounter:
    named = spec.settings.context.tokenizer
    if named is None:
        return counter_for(model)
    path = spec.path.absolute().parent / named
    try:
        return counter_for(model, tokenizer=path)
    except ConfigurationError as error:
        raise ConfigurationError(f"{spec.path}: context.tokenizer: {error}") from error
