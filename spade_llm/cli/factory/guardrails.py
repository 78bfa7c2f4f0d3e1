"""Guardrails of an agent from [[guardrails]] of agent.toml."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.cli.factory.model_choice import build_model, configured_choice
from spade_llm.core.errors import ConfigurationError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.core.settings import GuardrailTable
    from spade_llm.guardrails import Guardrail
    from spade_llm.providers import ChatModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrails:
    """Input and output guardrails, in the order of the file."""

    input: tuple[Guardrail, ...] = ()
    output: tuple[Guardrail, ...] = ()


async def build_guardrails(
    spec: DeploymentSpec, model: ChatModel, stack: AsyncExitStack
) -> Guardrails:
    """`model` judges where a table names no other model; the stack closes those others.

    Raises ConfigurationError.
    """
    tables = spec.settings.guardrails
    built = [
        (table, await _guardrail(table, f"{spec.path}: guardrails.{number}", model, stack))
        for number, table in enumerate(tables)
    ]
    return Guardrails(
        input=tuple(guardrail for table, guardrail in built if table.on != "output"),
        output=tuple(guardrail for table, guardrail in built if table.on != "input"),
    )


async def _guardrail(
    table: GuardrailTable, where: str, model: ChatModel, stack: AsyncExitStack
) -> Guardrail:
    name = table.name or where.rpartition(" ")[2]
    try:
        match table.kind:
            case "keyword":
                return _keyword(table, name)
            case "regex":
                return _regex(table, name)
            case "model":
                return await _judge(table, name, where, model, stack)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None


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


async def _judge(
    table: GuardrailTable, name: str, where: str, model: ChatModel, stack: AsyncExitStack
) -> Guardrail:
    """Build a guardrail that asks a model. Its usage counts towards the person that wrote the
    text."""
    from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
    from spade_llm.guardrails import LLMGuardrail
    from spade_llm.providers import OfflineProvider

    if table.provider is not None:
        judge = build_model(await configured_choice(table.provider, named_in=f"{where}.provider"))
        stack.push_async_callback(judge.aclose)
        model = judge
    if isinstance(model, OfflineProvider):
        raise ConfigurationError(
            'kind = "model" needs a language model, but only rules are available: configure one in'
            " [provider] or in this guardrail's provider"
        )
    guardrail = LLMGuardrail(
        name, InstrumentedModel(model), table.rules, blocked_message=table.message
    )
    guardrail.timeout_s = table.timeout_s
    return guardrail
