"""Agent factory: agent with its stores, models and heartbeat from agent.toml."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.factory import agent_options
from spade_llm.cli.factory.deployment_spec import database_of, read_spec
from spade_llm.cli.factory.model_choice import (
    MODEL_FILE,
    ModelChoice,
    check_in_background,
    choose_fallback,
    choose_learning_model,
    choose_model,
)
from spade_llm.cli.factory.model_follower import followed_model
from spade_llm.cli.factory.model_record import ModelDescription, ModelRecord, maintain_model_record
from spade_llm.cli.health import (
    HEARTBEAT_INTERVAL_S,
    published_http_record,
    remove_heartbeat,
    replica_home,
    touch_heartbeat,
)
from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import read_environment, read_password, read_prompt
from spade_llm.xmpp.servers.data_directory import lock_directory

if TYPE_CHECKING:
    from spade_llm.agents import AgentOptions, XmppAgent
    from spade_llm.assistant.config import AssistantConfig
    from spade_llm.assistant.delegation.expert_questions import Expert
    from spade_llm.cli.context import CliContext
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.factory.embeddings import EmbedderPool
    from spade_llm.cli.factory.model_follower import Choices, ModelChange, ModelFollower
    from spade_llm.cli.sockets import Listener
    from spade_llm.core.settings import TermsTable
    from spade_llm.providers import ChatModel
    from spade_llm.tools import Tool
    from spade_llm.tools.toolbox import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFactory:
    """Dependencies that all agents of a process share."""

    place: CliContext
    embedders: EmbedderPool
    print_line: Callable[[str], None]
    """Callback that prints a line for the person that started the program."""
    listeners: Mapping[str, Listener] = field(default_factory=dict)
    """Sockets of gateways, keyed by JID."""
    replica: int | None = None
    """Number of this process among the replicas of its agent on this machine; None: it is alone."""

    def home(self, spec: DeploymentSpec) -> Path:
        """Folder of an agent's data; each replica has one of its own."""
        home = self.shared_home(spec)
        return home if self.replica is None else replica_home(home, self.replica)

    def shared_home(self, spec: DeploymentSpec) -> Path:
        """Folder of an agent's data on this machine, with those of its replicas."""
        return self.place.data / "agents" / spec.jid


@asynccontextmanager
async def running_agent(spec: DeploymentSpec, factory: AgentFactory) -> AsyncIterator[XmppAgent]:
    """Run the agent, logged in and answering, for the block. Raises ConfigurationError: its file,
    its account or the server is wrong; or it runs already."""
    password = password_of(spec, factory.place)
    home = factory.home(spec)
    async with AsyncExitStack() as stack:
        # Before anything is opened: a second process with this data would write the same databases.
        stack.enter_context(lock_directory(home, what=f"{spec.jid} with this data"))
        agent = await _build(spec, password, factory, stack)
        await agent.start()
        stack.push_async_callback(_stop, agent)
        # Entered last, left first: an agent that is stopping is not reported as healthy.
        await stack.enter_async_context(_heartbeat(agent, home))
        yield agent


async def _stop(agent: XmppAgent) -> None:
    """Stop the agent in its own task. A stop signal has cancelled this one, in which a deadline
    (`asyncio.timeout`) raises CancelledError before Python 3.11.4 (python/cpython#102780)."""
    await asyncio.create_task(agent.stop())


def password_of(spec: DeploymentSpec, cli_context: CliContext) -> str:
    """Raises ConfigurationError if there is none."""
    given = read_password(spec.path, spec.settings)
    return given or cli_context.accounts.get(spec.jid)


def build_terms(table: TermsTable) -> Terms:
    from spade_llm.tools.toolbox import Terms

    return Terms(
        allowed=None if table.allowed is None else frozenset(map(str.lower, table.allowed)),
        needs_approval=None if table.approval is None else table.approval == "ask",
        timeout_s=table.timeout_s,
        max_concurrent=table.max_concurrent,
        max_result_chars=table.max_result_chars,
    )


@asynccontextmanager
async def _heartbeat(agent: XmppAgent, home: Path) -> AsyncIterator[None]:
    """Touch the heartbeat file while the server answers, for the block."""

    async def beat() -> None:
        while True:
            if agent.connection is not None and await agent.connection.answers_self_ping():
                touch_heartbeat(home)
            await asyncio.sleep(HEARTBEAT_INTERVAL_S)

    remove_heartbeat(home)
    try:
        async with concurrent_task(beat()):
            yield
    finally:
        remove_heartbeat(home)


async def _build(
    spec: DeploymentSpec, password: str, factory: AgentFactory, stack: AsyncExitStack
) -> XmppAgent:
    # Imports stand in the functions: a process with one agent loads the modules of its kind only.
    match spec.settings.kind:
        case "assistant":
            return await _assistant(spec, password, factory, stack)
        case "memory":
            return await _memory(spec, password, factory, stack)
        case "rag":
            return await _rag(spec, password, factory, stack)
        case "tools":
            return _tools(spec, password, factory)
        case "gateway":
            return _gateway(spec, password, factory, stack)


async def _assistant(
    spec: DeploymentSpec, password: str, factory: AgentFactory, stack: AsyncExitStack
) -> XmppAgent:
    from spade_llm.agents.llm import LLMAgent, Services
    from spade_llm.assistant.config import TurnLimits
    from spade_llm.assistant.turn.memory_toolbox import MemoryToolSet
    from spade_llm.cli.factory.agent_options import choose_context

    settings, began = spec.settings, datetime.now(UTC)
    prompt = read_prompt(spec.path, settings)
    follower = await _follow(spec, factory, stack)
    model = follower.model
    wanted, limits = settings.services, settings.limits
    agent = LLMAgent(
        spec.jid,
        password,
        model,
        await choose_context(spec, model, factory.embedders),
        prompt,
        services=Services(
            memory=spec.resolve_jid(wanted.memory) if wanted.memory else None,
            memory_tools=MemoryToolSet(settings.memory.tools),
            memory_max_batch=read_environment().memory_batch_max_size,
            rag=spec.resolve_jid(wanted.rag) if wanted.rag else None,
            document_tools=settings.documents.tools,
            shared_documents=tuple(map(spec.resolve_address, settings.documents.shared)),
            tools=tuple(spec.resolve_jid(name) for name in wanted.tools),
            discover=tuple(wanted.discover),
        ),
        limits=TurnLimits(
            tool_rounds=limits.rounds,
            tool_calls=limits.tool_calls,
            model_calls=limits.effective_model_calls,
            tokens=limits.tokens,
            seconds=limits.seconds,
            approval_seconds=limits.approval_seconds,
            recall_tokens=settings.memory.recall_tokens,
        ),
        config=await _assistant_config(spec, model, factory, stack),
        embedder=await factory.embedders.get(spec) if settings.context.vectors else None,
        options=_options(spec, factory),
    )
    home, health, opened = factory.home(spec), agent.model_health, follower.opened
    record = ModelRecord(settings_read_at=began, **_described(opened.choices[0]))
    file = stack.enter_context(maintain_model_record(home, record, health))
    checking = await stack.enter_async_context(check_in_background(opened.first, health))

    async def changed(change: ModelChange) -> None:
        if change.is_replaced:
            checking.cancel()
            health.succeed()
        described = _described(change.choice)
        file.update(refused=change.refused, settings_read_at=change.read_at, **described)
        if change.is_replaced:
            # Its token counter and its summaries are those of a model.
            context = await choose_context(spec, model, factory.embedders)
            agent.llm_behaviour.strategy = context

    follower.on_change.append(changed)
    await stack.enter_async_context(follower.following())
    return agent


def _described(choice: ModelChoice) -> ModelDescription:
    return {"description": choice.description, "is_offline": choice.kind == "offline"}


async def _assistant_config(
    spec: DeploymentSpec, model: ChatModel, factory: AgentFactory, stack: AsyncExitStack
) -> AssistantConfig:
    from spade_llm.assistant.config import AssistantConfig, PresentationOptions
    from spade_llm.assistant.middleware.quota import PeerQuota
    from spade_llm.cli.factory.agent_options import build_guardrails

    guardrails = await build_guardrails(spec, model, factory.place.data, stack)
    return AssistantConfig(
        termination_markers=tuple(spec.settings.ending.markers),
        max_interactions_per_conversation=spec.settings.ending.max_interactions,
        input_guardrails=guardrails.input,
        output_guardrails=guardrails.output,
        peer_limits=PeerQuota(**spec.settings.limits.peer.model_dump()),
        crowd_limits=agent_options.build_crowd_limits(spec.settings.limits),
        experts=_experts(spec),
        files=agent_options.build_file_rules(spec.settings.files),
        manners=PresentationOptions(**spec.settings.manners.model_dump()),
        rooms=agent_options.build_rooms_options(spec.settings),
        admins=_admins(spec, factory.place.data),
    )


def _admins(spec: DeploymentSpec, data: Path) -> frozenset[str]:
    """Bare JIDs of the people that run the assistant: those of its settings, and the person of the
    running `up`."""
    from spade_llm.xmpp.connection.jids import bare_jid
    from spade_llm.xmpp.servers.data_directory import read_run_record

    record = read_run_record(data)
    named = [spec.resolve_jid(one) for one in spec.settings.admins]
    return frozenset(map(bare_jid, [*named, record.person] if record else named))


def _experts(spec: DeploymentSpec) -> tuple[Expert, ...]:
    from spade_llm.assistant.delegation.expert_questions import Expert

    return tuple(
        Expert(name=name, jid=spec.resolve_jid(one.jid), knows=one.knows, seconds=one.seconds)
        for name, one in spec.settings.human.items()
    )


async def _follow(
    spec: DeploymentSpec,
    factory: AgentFactory,
    stack: AsyncExitStack,
    choose: Callable[[DeploymentSpec, Path], Awaitable[ModelChoice | None]] = choose_model,
) -> ModelFollower:
    """Open the model that `choose` takes from the agent's file and from DATA/model.toml, with the
    fallback that the file names."""
    data = factory.place.data

    async def read_and_choose() -> Choices:
        read = read_spec(spec.path, domain=spec.domain)
        first, fallback = await choose(read, data), await choose_fallback(read, data)
        first = first or ModelChoice(kind="offline")
        return (first, fallback) if fallback else (first,)

    refused = ""
    if spec.settings.kind == "assistant":
        from spade_llm.cli.factory.agent_options import rules_refused

        refused = rules_refused(spec.settings)
    files = [spec.path, data / MODEL_FILE]
    follower = followed_model(read_and_choose, files, rules_refused=refused)
    return await stack.enter_async_context(follower)


async def _memory(
    spec: DeploymentSpec, password: str, factory: AgentFactory, stack: AsyncExitStack
) -> XmppAgent:
    from spade_llm.agents.memory import MemoryAgent
    from spade_llm.memory.learning.learner import ReflectionLimits

    learning, model = spec.settings.learning, None
    reflection = learning.reflection
    if learning.enabled and learning.provider is not None:
        follower = await _follow(spec, factory, stack, choose_learning_model)
        await stack.enter_async_context(follower.following())
        model = follower.model
    return MemoryAgent(
        spec.jid,
        password,
        embedder=await factory.embedders.get(spec),
        learns=learning.enabled,
        learning_model=model,
        reflection=ReflectionLimits(
            runs_per_day=reflection.runs_per_day,
            tokens=reflection.tokens,
            deadline_s=reflection.seconds,
        )
        if reflection.enabled
        else None,
        uses_file=spec.settings.storage.memories == "files",
        options=_options(spec, factory),
    )


async def _rag(
    spec: DeploymentSpec, password: str, factory: AgentFactory, stack: AsyncExitStack
) -> XmppAgent:
    from spade_llm.agents.rag import RAGAgent, RagOptions

    data, settings = factory.place.data, spec.settings
    follower = await _follow(spec, factory, stack)
    await stack.enter_async_context(follower.following())
    return RAGAgent(
        spec.jid,
        password,
        embedder=await factory.embedders.get(spec),
        roots=[_documents_root(data, folder, spec) for folder in settings.roots],
        options=_options(spec, factory),
        rag=RagOptions(
            namespaces=tuple(settings.namespaces),
            chroma_url=settings.storage.chroma_url,
            uses_files=settings.storage.documents == "files",
            upload_hosts=tuple(settings.upload.hosts),
            max_upload_bytes=settings.upload.max_mb * 1_000_000,
            model=follower.model,
        ),
    )


def _tools(spec: DeploymentSpec, password: str, factory: AgentFactory) -> XmppAgent:
    from spade_llm.agents.tools import ToolAgent
    from spade_llm.cli.factory.agent_options import mcp_tool_groups
    from spade_llm.tools.toolbox import ToolRules

    settings = spec.settings
    rules = ToolRules(
        defaults=build_terms(settings.calls),
        terms_of={name: build_terms(table) for name, table in settings.tools.items()},
    )
    return ToolAgent(
        spec.jid,
        password,
        tools=_own_tools(spec),
        groups=mcp_tool_groups(spec, factory.place.data),
        rules=rules,
        experts=_experts(spec),
        options=_options(spec, factory),
    )


def _own_tools(spec: DeploymentSpec) -> Sequence[Tool]:
    """Built-in tools, and those of the agent.toml."""
    from spade_llm.tools import builtin_tools
    from spade_llm.tools.function_tool import load_tools

    folder = spec.path.absolute().parent
    try:
        return (*builtin_tools(), *load_tools(spec.settings.python.tools, folder=folder))
    except ConfigurationError as error:
        raise ConfigurationError(f"{spec.path}: python.tools: {error}") from error


def _gateway(
    spec: DeploymentSpec, password: str, factory: AgentFactory, stack: AsyncExitStack
) -> XmppAgent:
    from spade_llm.agents.gateway import GatewayAgent

    listener = factory.listeners[spec.jid]
    http = agent_options.build_http_options(spec, listener)
    home = factory.home(spec)
    stack.enter_context(
        published_http_record(home, agent_options.build_http_record(http, listener))
    )
    return GatewayAgent(
        spec.jid,
        password,
        addresses=agent_options.build_agent_addresses(spec),
        http=http,
        listener=listener.socket,
        options=_options(spec, factory),
    )


def _options(spec: DeploymentSpec, factory: AgentFactory) -> AgentOptions:
    from spade_llm.core.tracing import TracingConfig
    from spade_llm.xmpp.agent import AgentOptions

    telemetry = spec.settings.telemetry
    endpoint = telemetry.endpoint or read_environment().collector
    return AgentOptions(
        connection=factory.place.connection(),
        data=factory.home(spec),
        home=factory.shared_home(spec),
        is_replica=factory.replica is not None,
        database=database_of(spec, factory.place.database),
        allowed=tuple(spec.settings.allowed),
        announce_to=tuple(map(spec.resolve_jid, spec.settings.announce_to)),
        gateways=tuple(map(spec.resolve_jid, spec.settings.gateways)),
        admission=agent_options.build_admission(spec.settings.admission),
        telemetry=TracingConfig(endpoint=endpoint, include_text=telemetry.include_text)
        if endpoint
        else None,
        identity=agent_options.build_identity(spec),
        read_password=partial(password_of, spec, factory.place),
    )


def _documents_root(data: Path, folder: str, spec: DeploymentSpec) -> Path:
    """A relative folder is created below the data directory; an absolute one must exist."""
    path = data / folder
    if not Path(folder).is_absolute():
        path.mkdir(parents=True, exist_ok=True)
    if not path.is_dir():
        raise ConfigurationError(f"{spec.path}: roots: {folder!r} is not a folder")
    return path
