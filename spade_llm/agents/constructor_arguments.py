"""Constructor arguments of agents: keywords of assistants, their checks, the default connection."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

from spade_llm.agents.local_memory import LocalMemory, MemoryOption, open_local_memory
from spade_llm.assistant.config import AssistantConfig
from spade_llm.context import ContextManagement
from spade_llm.core.arguments import as_tuple, check_keywords, check_methods, check_type, wrong_type
from spade_llm.xmpp.connection.settings import ConnectionSettings

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spade_llm.assistant.middleware.routing import RoutingFunction
    from spade_llm.core.settings import Environment
    from spade_llm.guardrails import Guardrail
    from spade_llm.guardrails.chain import OnTrigger
    from spade_llm.mcp.server_configs import MCPServerConfig
    from spade_llm.tools import Tool
    from spade_llm.xmpp.servers.data_directory import RunRecord

logger = logging.getLogger(__name__)

T = TypeVar("T")


class SharedKeywords(TypedDict, total=False):
    """Keywords of LLMAgent and CoordinatorAgent, which override the same settings in `config`."""

    conduct: AssistantConfig | None
    """Former name of `config`."""
    tools: Sequence[Tool] | None
    mcp_servers: Sequence[MCPServerConfig] | None
    termination_markers: Sequence[str] | None
    max_interactions_per_conversation: int | None
    on_conversation_end: Callable[[str, str], Awaitable[None] | None] | None
    input_guardrails: Sequence[Guardrail] | None
    output_guardrails: Sequence[Guardrail] | None
    on_guardrail_trigger: OnTrigger | None
    interaction_memory: MemoryOption
    agent_base_memory: MemoryOption
    output_schema: type[BaseModel] | None
    reply_to: str | None
    verify_security: bool


class AssistantKeywords(SharedKeywords, total=False):
    """Keyword arguments of LLMAgent."""

    routing_function: RoutingFunction | None


def memory_from_keywords(jid: str, keywords: AssistantKeywords) -> LocalMemory:
    """Raises ConfigurationError: what is said of it is wrong, or a file is unreadable."""
    return open_local_memory(
        jid,
        interaction_memory=keywords.get("interaction_memory", False),
        agent_base_memory=keywords.get("agent_base_memory", False),
    )


def config_from_keywords(
    keywords: AssistantKeywords, config: AssistantConfig | None, memory: LocalMemory
) -> AssistantConfig:
    own = config or AssistantConfig()
    return replace(
        own,
        tools=(*_given_tuple_or("tools", keywords.get("tools"), own.tools), *memory.tools),
        notes=memory.notes_about if memory.interaction_memory else own.notes,
        termination_markers=_given_tuple_or(
            "termination_markers", keywords.get("termination_markers"), own.termination_markers
        ),
        max_interactions_per_conversation=_given_or(
            keywords.get("max_interactions_per_conversation"), own.max_interactions_per_conversation
        ),
        on_conversation_end=_given_or(keywords.get("on_conversation_end"), own.on_conversation_end),
        input_guardrails=_given_tuple_or(
            "input_guardrails", keywords.get("input_guardrails"), own.input_guardrails
        ),
        output_guardrails=_given_tuple_or(
            "output_guardrails", keywords.get("output_guardrails"), own.output_guardrails
        ),
        on_guardrail_trigger=_given_or(
            keywords.get("on_guardrail_trigger"), own.on_guardrail_trigger
        ),
        output_schema=_given_or(keywords.get("output_schema"), own.output_schema),
        reply_to=_given_or(keywords.get("reply_to"), own.reply_to),
        routing_function=_given_or(keywords.get("routing_function"), own.routing_function),
    )


def _given_or(value: T | None, otherwise: T) -> T:
    # Not `value or otherwise`: 0 and "" are given on purpose.
    return otherwise if value is None else value


def _given_tuple_or(
    name: str, value: Sequence[T] | None, otherwise: tuple[T, ...]
) -> tuple[T, ...]:
    return otherwise if value is None else as_tuple(value, of=name)


def check_assistant_arguments(
    of: Callable[..., object],
    provider: object,
    context_management: object,
    system_prompt: object,
    *,
    settings: Mapping[str, tuple[object, type]],
    keywords: AssistantKeywords,
) -> None:
    """Raise TypeError with the name of the invalid argument and the fix. `of`: the agent's class.
    `settings`: the other arguments with their classes; None stands for the default. The fourth
    parameter of spade_llm 0.2/0.3 was `reply_to`: a JID in place of a strategy is reported."""
    check_keywords(keywords, AssistantKeywords, of=of)
    if isinstance(provider, str):  # Not shown: it may be the password.
        raise TypeError(
            "LLMAgent: provider is a text: create a model, such as LLMProvider('ollama/llama3.2')"
        )
    fix = "give a model, such as LLMProvider('ollama/llama3.2') or OfflineProvider()"
    check_methods(provider, ("name", "complete", "stream"), of="LLMAgent: provider", fix=fix)
    if context_management is not None and not isinstance(context_management, ContextManagement):
        raise wrong_type(
            context_management,
            of="LLMAgent: context_management",
            fix="give a strategy of spade_llm.context; reply_to is given by keyword, and so is"
            " system_prompt",
        )
    for name, (value, kind) in {"system_prompt": (system_prompt, str), **settings}.items():
        if value is not None:
            what = "a text" if kind is str else f"an object of {kind.__name__}"
            check_type(value, kind, of=f"LLMAgent: {name}", fix=f"give {what}")


async def default_connection(jid: str, password: str) -> ConnectionSettings:
    """SPADE_LLM_SERVER and SPADE_LLM_CA name a server; SPADE_LLM_REGISTER=1 makes the account.

    Raises:
        ConfigurationError: what is named is wrong, or the account cannot be made.
    """
    from spade_llm.core.settings import read_environment
    from spade_llm.xmpp.connection.settings import parse_address
    from spade_llm.xmpp.servers.data_directory import read_run_record
    from spade_llm.xmpp.servers.managed_server import ServerKind

    environment = read_environment()
    if environment.server not in list(ServerKind):
        host, port = parse_address(environment.server, named="SPADE_LLM_SERVER")
        return _connection(environment, host=host, port=port)
    record = read_run_record(_data(environment))
    if record is None or record.domain != jid.rpartition("@")[2]:
        return _connection(environment)
    return await _connection_to_local_network(record, environment, jid, password)


async def _connection_to_local_network(
    record: RunRecord, environment: Environment, jid: str, password: str
) -> ConnectionSettings:
    from spade_llm.xmpp.servers.data_directory import account_exists, create_account

    data = _data(environment)
    if (
        environment.register_accounts
        and record.server
        and not await account_exists(data, jid, record)
    ):
        await create_account(data, jid, password)
    return ConnectionSettings(host=record.host, port=record.port, ca_path=record.ca)


def _connection(
    environment: Environment, *, host: str | None = None, port: int = 5222
) -> ConnectionSettings:
    ca = Path(environment.ca).absolute() if environment.ca else None
    return ConnectionSettings(
        host=host, port=port, ca_path=ca, register=environment.register_accounts
    )


def _data(environment: Environment) -> Path:
    return Path(environment.data).absolute()


_said: set[str] = set()


def warn_about_verify_security(jid: str, *, verify_security: bool | None) -> None:
    """Says once per account that it is not left out."""
    if verify_security is False and jid not in _said:
        _said.add(jid)
        logger.warning(
            "%s: verify_security=False has no effect: certificates are always verified;"
            " SPADE_LLM_CA names the CA of a server of your own",
            jid,
        )
