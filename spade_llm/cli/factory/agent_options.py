"""Options of an agent from agent.toml: admission control, rooms, files, identity, HTTP, MCP,
guardrails, context strategy."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm import context
from spade_llm.assistant.config import FileSharingOptions
from spade_llm.assistant.middleware.quota import GroupQuotas, PeerQuota
from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
from spade_llm.cli.factory.model_choice import MODEL_FILE, configured_choice
from spade_llm.cli.factory.model_follower import followed_model
from spade_llm.cli.health import HttpRecord
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.limits import Rate
from spade_llm.core.settings import variable
from spade_llm.providers.model import language_model

if TYPE_CHECKING:
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.factory.embeddings import EmbedderPool
    from spade_llm.cli.factory.model_follower import Choices
    from spade_llm.cli.sockets import Listener
    from spade_llm.context import ContextManagement, TokenCounter
    from spade_llm.core.settings import (
        AdmissionTable,
        AgentSettings,
        ContextTable,
        FilesTable,
        GuardrailTable,
        LimitsTable,
        McpTable,
        ProviderTable,
    )
    from spade_llm.gateway.agent_clients import AgentAddresses
    from spade_llm.gateway.options import HttpOptions
    from spade_llm.guardrails import Guardrail
    from spade_llm.mcp.client import HttpEndpoint, StdioEndpoint
    from spade_llm.providers import ChatModel
    from spade_llm.providers.model import Embedder
    from spade_llm.tools.toolbox import ToolGroup
    from spade_llm.xmpp.admission_control import AdmissionPolicy
    from spade_llm.xmpp.features.rooms import RoomsOptions
    from spade_llm.xmpp.stanzas.vcard import Identity


_DESCRIPTIONS = {
    "assistant": "An assistant, not a person: a language model answers here. Write help to see what"
    " it can do, memories to see what it remembers about you.",
    "memory": "Keeps what agents remember. Write to it to see, correct or remove what is stored"
    " about you: help says how.",
    "rag": "Keeps documents, and finds passages in them for agents.",
    "tools": "Runs tools for agents.",
    "gateway": "Lets web programs and browsers talk to these agents over HTTP.",
}


def build_admission(table: AdmissionTable) -> AdmissionPolicy:
    from spade_llm.xmpp.admission_control import AdmissionPolicy

    return AdmissionPolicy(
        allow=tuple(map(str.lower, table.allow)),
        guests=tuple(map(str.lower, table.guests)),
        talk=_rate(table.messages_per_minute / 60, table.messages_at_once),
        guest_talk=_rate(table.guest_messages_per_minute / 60, table.guest_messages_at_once),
        domain_talk=_rate(table.domain_messages_per_minute / 60, table.domain_messages_at_once),
        requests=_rate(table.requests_per_second, table.requests_at_once),
        signals=_rate(table.signals_per_second, table.signals_at_once),
    )


def build_crowd_limits(table: LimitsTable) -> GroupQuotas:
    return GroupQuotas(
        guest=PeerQuota(**table.guest.model_dump()),
        domain=PeerQuota(**table.domain.model_dump()),
        all_guests=PeerQuota(**table.all_guests.model_dump()),
    )


def build_file_rules(table: FilesTable) -> FileSharingOptions:
    return FileSharingOptions(
        takes=table.take,
        max_files=table.max_files,
        seconds=table.seconds,
        long_answer_chars=table.long_answer_chars,
    )


def build_rooms_options(settings: AgentSettings) -> RoomsOptions:
    from spade_llm.xmpp.features.room_membership import KnownRoom
    from spade_llm.xmpp.features.rooms import RoomsOptions

    return RoomsOptions(
        rooms=tuple(
            KnownRoom(jid=one.jid.lower(), nick=one.nick or "", password=one.password)
            for one in settings.rooms
        ),
        takes_invitations=settings.room_invitations,
    )


def build_identity(spec: DeploymentSpec) -> Identity:
    """Raises ConfigurationError: the avatar is no readable picture, or a text cannot be sent."""
    from spade_llm.xmpp.stanzas.vcard import Identity, default_avatar, read_avatar

    kind, table = spec.settings.kind, spec.settings.identity
    local = spec.jid.partition("@")[0]
    try:
        if table.avatar is None:
            avatar = read_avatar(default_avatar(kind, spec.jid))
        else:
            avatar = read_avatar((spec.path.parent / table.avatar).read_bytes())
    except (OSError, ConfigurationError) as error:
        raise ConfigurationError(
            f"{spec.path}: identity.avatar {table.avatar!r}: {error}"
        ) from None
    try:
        return Identity(
            name=table.name or local[:1].upper() + local[1:],
            description=_DESCRIPTIONS[kind] if table.description is None else table.description,
            url=table.url or "",
            avatar=avatar,
            is_published=table.publish,
            shows_load=table.status,
            busy_at=table.busy_at,
            status_every_s=table.status_every_s,
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"{spec.path}: identity.{error}") from None


def _rate(per_s: float, burst: int) -> Rate | None:
    return Rate(per_s=per_s, burst=burst) if per_s else None


def build_http_options(spec: DeploymentSpec, listener: Listener) -> HttpOptions:
    from spade_llm.gateway.options import HttpOptions

    table = spec.settings.http
    return HttpOptions(
        host=listener.host,
        port=listener.port,
        local_principal=spec.resolve_jid(table.local_principal) if table.local_principal else None,
        language=table.language,
        hosts=tuple(table.hosts),
        cors_origins=tuple(table.cors_origins),
        requests_per_minute=table.requests_per_minute,
        max_body_bytes=table.max_body_kb * 1024,
        max_upload_bytes=table.max_upload_mb * 1024 * 1024,
        max_streams=table.max_streams,
        console=table.console,
    )


def build_agent_addresses(spec: DeploymentSpec) -> AgentAddresses:
    from spade_llm.gateway.agent_clients import AgentAddresses

    table = spec.settings.network
    return AgentAddresses(
        assistants=tuple(map(spec.resolve_jid, table.assistants)),
        memory=spec.resolve_jid(table.memory) if table.memory else None,
        rag=spec.resolve_jid(table.rag) if table.rag else None,
        tools=tuple(map(spec.resolve_jid, table.tools)),
    )


def build_http_record(http: HttpOptions, listener: Listener) -> HttpRecord:
    return HttpRecord(
        url=listener.url,
        is_open=not http.is_loopback,
        local_principal=http.local_principal if http.is_loopback else None,
    )


MAX_CALL_S = 3600.0
"""Maximum duration of a call in seconds; the tool agent enforces shorter limits."""


def mcp_tool_groups(spec: DeploymentSpec, data: Path) -> list[ToolGroup]:
    """Raises ConfigurationError: a variable is not set, a directory is missing."""
    from spade_llm.cli.factory.agent_factory import build_terms
    from spade_llm.mcp.client import McpServerSettings, McpToolbox, Pins
    from spade_llm.mcp.client.pins import PINS_FILE
    from spade_llm.tools.toolbox import ToolGroup

    pins = Pins(data / "agents" / spec.jid / PINS_FILE)
    groups = []
    for name, table in spec.settings.mcp.items():
        server = McpServerSettings(
            name=name,
            endpoint=_endpoint(name, table, spec.path),
            tools=None if table.tools is None else frozenset(table.tools),
            timeout_s=MAX_CALL_S,
            accepts_new_tools=table.new_tools == "accept",
        )
        box = McpToolbox(server, pins)
        terms = build_terms(table)
        groups.append(ToolGroup(name=name, toolbox=box, terms=terms, resource=box, state=box.state))
    return groups


def _endpoint(name: str, table: McpTable, toml: Path) -> StdioEndpoint | HttpEndpoint:
    from spade_llm.mcp.client import HttpEndpoint, StdioEndpoint

    key = f"{toml}: mcp.{name}"
    if table.url is not None:
        headers = {
            header: variable(source, named_in=f"{key}.headers_env")
            for header, source in table.headers_env.items()
        }
        return HttpEndpoint(url=table.url, transport=table.transport, headers=headers)
    directory = toml.parent / (table.cwd or ".")
    if not directory.is_dir():
        raise ConfigurationError(f"{key}.cwd: {table.cwd!r} is not a folder")
    return StdioEndpoint(
        command=tuple(table.command or ()),
        env={one: variable(one, named_in=f"{key}.env") for one in table.env},
        cwd=directory,
    )


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
    """Guardrail that asks a model. Its usage counts towards the person that wrote the text."""
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
