"""Turns a Definition into a running agent with its stores. Knows every kind of agent; no server."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.admission import admission_of, crowd_limits_of
from spade_llm.cli.beating import beating
from spade_llm.cli.files import file_rules_of
from spade_llm.cli.guardrails import build_guardrails
from spade_llm.cli.identity import identity_of
from spade_llm.cli.model_choice import (
    build_model,
    choose_fallback,
    choose_learning_model,
    choose_model,
)
from spade_llm.cli.model_record import ModelRecord, checked, kept_model_record
from spade_llm.cli.rooms import rooms_of
from spade_llm.deployment import lock
from spade_llm.deployment.http_record import kept_record
from spade_llm.errors import ConfigurationError
from spade_llm.settings import read_environment, read_password, read_prompt

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from spade_llm.agent import AgentOptions, XmppAgent
    from spade_llm.behaviour.conduct import Conduct
    from spade_llm.cli.definition import Definition
    from spade_llm.cli.embeddings import Embedders
    from spade_llm.cli.listening import Listener
    from spade_llm.cli.model_choice import ModelChoice
    from spade_llm.cli.place import Place
    from spade_llm.providers import ChatModel, LLMProvider, OfflineProvider
    from spade_llm.services.expert_tool import Expert
    from spade_llm.settings import TelemetryTable, TermsTable
    from spade_llm.tools import Tool
    from spade_llm.tools.terms import Terms
    from spade_llm.tracing import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What every agent of a process shares."""

    place: Place
    embedders: Embedders
    say: Callable[[str], None]
    """Tells the person who started us, one line each."""
    listeners: Mapping[str, Listener] = field(default_factory=dict)
    """Of gateways, by JID."""


@asynccontextmanager
async def running_agent(definition: Definition, host: Host) -> AsyncIterator[XmppAgent]:
    """The agent, logged in and answering, as long as the block runs.

    Raises:
        ConfigurationError: its file, its account or the server is wrong; or it runs already.
    """
    password = password_of(definition, host.place)
    home = host.place.data / "agents" / definition.jid
    async with AsyncExitStack() as stack:
        stack.enter_context(lock.hold(home, what=f"{definition.jid} with this data"))
        agent = await _build(definition, password, host, stack)
        await agent.start()
        stack.push_async_callback(agent.stop)
        await stack.enter_async_context(beating(agent, home))
        yield agent


def password_of(definition: Definition, place: Place) -> str:
    """Raises ConfigurationError if there is none."""
    given = read_password(definition.path, definition.settings)
    return given or place.accounts.get(definition.jid)


async def _build(
    definition: Definition, password: str, host: Host, stack: AsyncExitStack
) -> XmppAgent:
    match definition.settings.kind:
        case "assistant":
            return await _assistant(definition, password, host, stack)
        case "memory":
            return await _memory(definition, password, host, stack)
        case "rag":
            return await _rag(definition, password, host, stack)
        case "tools":
            return _tools(definition, password, host)
        case "gateway":
            return _gateway(definition, password, host, stack)


async def _assistant(
    definition: Definition, password: str, host: Host, stack: AsyncExitStack
) -> XmppAgent:
    from spade_llm.agent.llm import LLMAgent, Services
    from spade_llm.cli.context_choice import choose_context
    from spade_llm.conversation.memory_toolbox import MemoryToolSet
    from spade_llm.conversation.turn import TurnLimits
    from spade_llm.providers import OfflineProvider

    settings = definition.settings
    prompt = read_prompt(definition.path, settings)
    choice = await choose_model(definition)
    first = _opened(choice, stack)
    model = await _with_fallback(first, definition, stack)
    wanted, limits = settings.services, settings.limits
    agent = LLMAgent(
        definition.jid,
        password,
        model,
        await choose_context(definition, model, host.embedders),
        prompt,
        services=Services(
            memory=definition.full(wanted.memory) if wanted.memory else None,
            memory_tools=MemoryToolSet(settings.memory.tools),
            memory_max_batch=read_environment().memory_batch_max_size,
            rag=definition.full(wanted.rag) if wanted.rag else None,
            document_tools=settings.documents.tools,
            shared_documents=tuple(map(definition.full_address, settings.documents.shared)),
            tools=tuple(definition.full(name) for name in wanted.tools),
            discover=tuple(wanted.discover),
        ),
        limits=TurnLimits(
            tool_rounds=limits.rounds,
            tool_calls=limits.tool_calls,
            model_calls=limits.calls_of_model,
            tokens=limits.tokens,
            seconds=limits.seconds,
            approval_seconds=limits.approval_seconds,
            recall_tokens=settings.memory.recall_tokens,
        ),
        conduct=await _conduct(definition, model, stack),
        options=_options(definition, host),
    )
    home, health = host.place.data / "agents" / definition.jid, agent.model_health
    record = ModelRecord(description=choice.description, is_offline=choice.kind == "offline")
    stack.enter_context(kept_model_record(home, record, health))
    if not isinstance(first, OfflineProvider):
        await stack.enter_async_context(checked(first, health))
    return agent


async def _conduct(definition: Definition, model: ChatModel, stack: AsyncExitStack) -> Conduct:
    from spade_llm.behaviour.conduct import Conduct, MannersOptions
    from spade_llm.conversation.peer_limits import PeerLimits

    guardrails = await build_guardrails(definition, model, stack)
    return Conduct(
        termination_markers=tuple(definition.settings.ending.markers),
        max_interactions_per_conversation=definition.settings.ending.max_interactions,
        input_guardrails=guardrails.input,
        output_guardrails=guardrails.output,
        peer_limits=PeerLimits(**definition.settings.limits.peer.model_dump()),
        crowd_limits=crowd_limits_of(definition.settings.limits),
        experts=_experts(definition),
        files=file_rules_of(definition.settings.files),
        manners=MannersOptions(**definition.settings.manners.model_dump()),
        rooms=rooms_of(definition.settings),
    )


def _experts(definition: Definition) -> tuple[Expert, ...]:
    from spade_llm.services.expert_tool import Expert

    return tuple(
        Expert(name=name, jid=definition.full(one.jid), knows=one.knows, seconds=one.seconds)
        for name, one in definition.settings.human.items()
    )


async def _with_fallback(
    first: ChatModel, definition: Definition, stack: AsyncExitStack
) -> ChatModel:
    """With the one that answers while the first is away; closed with the stack."""
    from spade_llm.providers import FallbackModel

    second, table = await choose_fallback(definition), definition.settings.fallback
    if second is None or table is None:
        return first
    return FallbackModel(first, _opened(second, stack), patience_s=table.after_s)


def _opened(choice: ModelChoice, stack: AsyncExitStack) -> LLMProvider | OfflineProvider:
    model = build_model(choice)
    stack.push_async_callback(model.aclose)
    return model


async def _memory(
    definition: Definition, password: str, host: Host, stack: AsyncExitStack
) -> XmppAgent:
    from spade_llm.agent.memory import MemoryAgent

    choice = await choose_learning_model(definition)
    return MemoryAgent(
        definition.jid,
        password,
        embedder=await host.embedders.get(definition),
        learns=definition.settings.learning.enabled,
        learning_model=_opened(choice, stack) if choice else None,
        options=_options(definition, host),
    )


async def _rag(
    definition: Definition, password: str, host: Host, stack: AsyncExitStack
) -> XmppAgent:
    from spade_llm.agent.rag import RAGAgent, RagOptions

    data, settings = host.place.data, definition.settings
    choice = await choose_model(definition)
    return RAGAgent(
        definition.jid,
        password,
        embedder=await host.embedders.get(definition),
        roots=[_root(data, folder, definition) for folder in settings.roots],
        options=_options(definition, host),
        rag=RagOptions(
            namespaces=tuple(settings.namespaces),
            chroma_url=settings.storage.chroma_url,
            upload_hosts=tuple(settings.upload.hosts),
            max_upload_bytes=settings.upload.max_mb * 1_000_000,
            model=None if choice.kind == "offline" else _opened(choice, stack),
        ),
    )


def _tools(definition: Definition, password: str, host: Host) -> XmppAgent:
    from spade_llm.agent.tools import ToolAgent
    from spade_llm.cli.mcp_groups import mcp_groups
    from spade_llm.tools.group import ToolRules

    settings = definition.settings
    rules = ToolRules(
        defaults=terms_of(settings.calls),
        terms_of={name: terms_of(table) for name, table in settings.tools.items()},
    )
    return ToolAgent(
        definition.jid,
        password,
        tools=_own_tools(definition),
        groups=mcp_groups(definition, host.place.data),
        rules=rules,
        experts=_experts(definition),
        options=_options(definition, host),
    )


def _own_tools(definition: Definition) -> Sequence[Tool]:
    """Those that every tool agent has, and those of the toml."""
    from spade_llm.tools import builtin_tools
    from spade_llm.tools.own_tools import load_tools

    folder = definition.path.absolute().parent
    try:
        return (*builtin_tools(), *load_tools(definition.settings.python.tools, folder=folder))
    except ConfigurationError as error:
        raise ConfigurationError(f"{definition.path}: python.tools: {error}") from error


def terms_of(table: TermsTable) -> Terms:
    from spade_llm.tools.terms import Terms

    return Terms(
        allowed=None if table.allowed is None else frozenset(map(str.lower, table.allowed)),
        needs_approval=None if table.approval is None else table.approval == "ask",
        timeout_s=table.timeout_s,
        max_concurrent=table.max_concurrent,
        max_result_chars=table.max_result_chars,
    )


def _gateway(definition: Definition, password: str, host: Host, stack: AsyncExitStack) -> XmppAgent:
    from spade_llm.agent.gateway import GatewayAgent
    from spade_llm.cli.http_options import addresses_of, http_options_of, record_of

    listener = host.listeners[definition.jid]
    http = http_options_of(definition, listener)
    home = host.place.data / "agents" / definition.jid
    stack.enter_context(kept_record(home, record_of(http, listener)))
    return GatewayAgent(
        definition.jid,
        password,
        addresses=addresses_of(definition),
        http=http,
        listener=listener.socket,
        options=_options(definition, host),
    )


def _options(definition: Definition, host: Host) -> AgentOptions:
    from spade_llm.xmpp.agent import AgentOptions

    return AgentOptions(
        connection=host.place.connection(),
        data=host.place.data / "agents" / definition.jid,
        allowed=tuple(definition.settings.allowed),
        announce_to=tuple(map(definition.full, definition.settings.announce_to)),
        gateways=tuple(map(definition.full, definition.settings.gateways)),
        admission=admission_of(definition.settings.admission),
        telemetry=_telemetry(definition.settings.telemetry),
        identity=identity_of(definition),
        read_password=partial(password_of, definition, host.place),
    )


def _telemetry(table: TelemetryTable) -> Telemetry | None:
    from spade_llm.tracing import Telemetry

    endpoint = table.endpoint or read_environment().collector
    return Telemetry(endpoint=endpoint, include_text=table.include_text) if endpoint else None


def _root(data: Path, folder: str, definition: Definition) -> Path:
    """A relative folder is ours, and made; another must be there."""
    path = data / folder
    if not Path(folder).is_absolute():
        path.mkdir(parents=True, exist_ok=True)
    if not path.is_dir():
        raise ConfigurationError(f"{definition.path}: roots: {folder!r} is not a folder")
    return path
