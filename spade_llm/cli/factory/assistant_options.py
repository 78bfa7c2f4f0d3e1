"""Guardrails and context strategy of an assistant, from its agent.toml."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm import context
from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
from spade_llm.cli.factory.model_choice import MODEL_FILE, configured_choice
from spade_llm.cli.factory.model_follower import followed_model
from spade_llm.core.errors import ConfigurationError
from spade_llm.providers.model import language_model

if TYPE_CHECKING:
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.factory.embeddings import EmbedderPool
    from spade_llm.cli.factory.model_follower import Choices
    from spade_llm.context import ContextManagement, TokenCounter
    from spade_llm.core.settings import AgentSettings, ContextTable, GuardrailTable, ProviderTable
    from spade_llm.guardrails import Guardrail
    from spade_llm.providers import ChatModel
    from spade_llm.providers.embedder import Embedder

WITHOUT_MODEL = (
    'kind = "model" needs a language model, but only rules are available: configure one in'
    " [provider] or in this guardrail's provider"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrails:
    """Input and output guardrails, in the order of the file."""

    input: tuple[Guardrail, ...] = ()
    output: tuple[Guardrail, ...] = ()


async def build_guardrails(
    spec: DeploymentSpec, model: ChatModel, data: Path, stack: AsyncExitStack
) -> Guardrails:
    """`model` judges where a table names no other model; the stack closes those others. `data`: the
    data directory, whose model.toml names the model of `kind = "auto"`.

    Raises ConfigurationError.
    """
    built = []
    for number, table in enumerate(spec.settings.guardrails):
        judge, key = model, f"guardrails.{number}"
        if table.provider is not None:
            choose = partial(_judge_choices, table.provider, spec.path, f"{key}.provider", data)
            follower = await stack.enter_async_context(
                followed_model(choose, [data / MODEL_FILE], rules_refused=WITHOUT_MODEL)
            )
            await stack.enter_async_context(follower.following())
            judge = follower.model
        built.append((table, _guardrail(table, spec.path, key, judge)))
    return Guardrails(
        input=tuple(guardrail for table, guardrail in built if table.on != "output"),
        output=tuple(guardrail for table, guardrail in built if table.on != "input"),
    )


def rules_refused(settings: AgentSettings) -> str:
    """Reason that rules cannot replace the assistant's model; empty: they can."""
    asks_model = any(one.kind == "model" and one.provider is None for one in settings.guardrails)
    return f"guardrails: {WITHOUT_MODEL}" if asks_model else ""


async def _judge_choices(table: ProviderTable, path: Path, key: str, data: Path) -> Choices:
    return (await configured_choice(table, path, key=key, data=data),)


def _guardrail(table: GuardrailTable, path: Path, key: str, judge: ChatModel) -> Guardrail:
    name = table.name or key
    try:
        match table.kind:
            case "keyword":
                return _keyword(table, name)
            case "regex":
                return _regex(table, name)
            case "model":
                return _judge(table, name, judge)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {key}: {error}") from None


def _keyword(table: GuardrailTable, name: str) -> Guardrail:
    from spade_llm.guardrails import GuardrailAction, KeywordGuardrail

    return KeywordGuardrail(
        name,
        table.keywords,
        GuardrailAction(table.action),
        table.replacement,
        table.case_sensitive,
        blocked_message=table.message,
        early_parts=table.early_parts,
    )


def _regex(table: GuardrailTable, name: str) -> Guardrail:
    from spade_llm.guardrails import GuardrailAction, RegexGuardrail

    action = GuardrailAction(table.action)
    what = table.replacement if action is GuardrailAction.MODIFY else action
    return RegexGuardrail(
        name,
        dict.fromkeys(table.patterns, what),
        blocked_message=table.message,
        early_parts=table.early_parts,
    )


def _judge(table: GuardrailTable, name: str, model: ChatModel) -> Guardrail:
    """Build a guardrail that asks a model. Its usage counts towards the person that wrote the
    text."""
    from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
    from spade_llm.guardrails import LLMGuardrail

    if language_model(model) is None:
        raise ConfigurationError(WITHOUT_MODEL)
    guardrail = LLMGuardrail(
        name, InstrumentedModel(model), table.rules, blocked_message=table.message
    )
    guardrail.timeout_s = table.timeout_s
    return guardrail


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
    return made[0] if len(made) == 1 else context.CombinedContext(made)


def _build(name: str, table: ContextTable, materials: StrategyParts) -> ContextManagement:
    match name:
        case "window":
            return context.WindowSizeContext(table.max_messages or WINDOW_MESSAGES)
        case "smart":
            return context.SmartWindowSizeContext(
                max_messages=table.max_messages or WINDOW_MESSAGES,
                preserve_initial=table.preserve_initial,
                prioritize_tools=table.prioritize_tools,
            )
        case "tokens":
            return context.TokenBudget(table.token_limit, counter=materials.counter)
        case "semantic":
            return context.SemanticRetention(
                table.max_messages, table.similarity_threshold, embedder=materials.embedder
            )
        case "compression":
            return context.Compression(table.summary_tokens, model=materials.summariser)
        case "adaptive_window":
            return context.AdaptiveWindow(
                table.min_messages, table.max_messages or ADAPTIVE_MESSAGES
            )
        case "adaptive":
            return context.AdaptiveSmartContext(
                table.token_limit,
                table.similarity_threshold,
                table.compression,
                table.adaptive_window,
                counter=materials.counter,
                embedder=materials.embedder,
                summariser=materials.summariser,
            )
        case _:
            return context.NoContextManagement()


def _counter(spec: DeploymentSpec, model: str) -> TokenCounter:
    named = spec.settings.context.tokenizer
    if named is None:
        return context.counter_for(model)
    path = spec.path.absolute().parent / named
    try:
        return context.counter_for(model, tokenizer=path)
    except ConfigurationError as error:
        raise ConfigurationError(f"{spec.path}: context.tokenizer: {error}") from error
