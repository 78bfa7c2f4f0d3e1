"""Guardrails of an agent from [[guardrails]] of agent.toml."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.cli.factory.model_choice import build_model, configured_choice
from spade_llm.core.errors import ConfigurationError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from pathlib import Path

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
            choice = await configured_choice(
                table.provider, spec.path, key=f"{key}.provider", data=data
            )
            own = build_model(choice)
            stack.push_async_callback(own.aclose)
            judge = own
        built.append((table, _guardrail(table, spec.path, key, judge)))
    return Guardrails(
        input=tuple(guardrail for table, guardrail in built if table.on != "output"),
        output=tuple(guardrail for table, guardrail in built if table.on != "input"),
    )


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
    from spade_llm.providers import OfflineProvider

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
