"""LLM agent: composes model, turn middleware, memory, documents, tools and presentation."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Unpack

from spade_llm.agents.assistant_controls import AssistantControls
from spade_llm.agents.constructor_arguments import (
    AssistantKeywords,
    check_assistant_arguments,
    config_from_keywords,
    default_connection,
    memory_from_keywords,
    warn_about_verify_security,
)
from spade_llm.assistant.chat.reply_presenter import ReplyPresenter
from spade_llm.assistant.chat.service import ChatService
from spade_llm.assistant.commands.adhoc_menus import offer_assistant_menu
from spade_llm.assistant.commands.command_registry import RoomNotices
from spade_llm.assistant.commands.reports import add_resource_commands
from spade_llm.assistant.config import AssistantConfig, TurnLimits
from spade_llm.assistant.delegation.expert_questions import expert_questions_of, expert_tools
from spade_llm.assistant.feedback import ReactionHandler
from spade_llm.assistant.history.caller_sessions import ConversationDeletion, sessions_for
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import OUTBOX_TABLES, MemoryOutbox
from spade_llm.assistant.history.remote_sessions import SessionsService
from spade_llm.assistant.middleware.conversation_end import (
    ConversationEndMiddleware,
    TerminationMarkers,
)
from spade_llm.assistant.middleware.file_sharing import FileSharing
from spade_llm.assistant.middleware.guardrails import GuardrailMiddleware
from spade_llm.assistant.middleware.quota import QuotaGroups
from spade_llm.assistant.middleware.routing import routing_middleware
from spade_llm.assistant.middleware.usage_ledger import USAGE_TABLES, UsageTracking
from spade_llm.assistant.tool_discovery import ToolAgentDiscovery, bind_tools
from spade_llm.assistant.turn.document_tools import TrustedDocumentRetriever, documents_toolbox
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer, MemoryToolSet
from spade_llm.assistant.turn.prompt import DEFAULT_SYSTEM_PROMPT
from spade_llm.assistant.turn.structured_output import PydanticAnswerSchema
from spade_llm.assistant.turn.turn import StatelessCompletion
from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
from spade_llm.context import NoContextManagement
from spade_llm.core.arguments import as_tuple
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import pluralize
from spade_llm.mcp.mcp_sessions import AgentMcpToolbox
from spade_llm.memory.remote import MemoryClient
from spade_llm.memory.tools.batches import MAX_BATCH
from spade_llm.messaging import Encoding, agent_status, bare
from spade_llm.messaging.claimed_log import conversation_owner
from spade_llm.messaging.outgoing_messages import OutgoingMessages
from spade_llm.providers.model import ReplaceableModel, language_model
from spade_llm.rag.remote import RagClient
from spade_llm.tools.local import LocalToolbox
from spade_llm.tools.remote import ToolsClient
from spade_llm.xmpp.agent import AgentOptions
from spade_llm.xmpp.connection.jids import check_agent_jid
from spade_llm.xmpp.features.rooms import Rooms

if TYPE_CHECKING:
    from spade_llm.assistant.chat.messages import ChatReply
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.turn.turn import TurnMiddleware
    from spade_llm.context import ContextManagement
    from spade_llm.messaging import AclMessage
    from spade_llm.providers.model import ChatModel, Embedder
    from spade_llm.tools.toolbox import Toolbox

STATUS_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """JIDs of the agents that an assistant uses; None or empty: it does without."""

    memory: str | None = None
    memory_tools: MemoryToolSet = MemoryToolSet.BASE
    memory_max_batch: int = MAX_BATCH
    """Maximum number of memories that one call may store or change."""
    rag: str | None = None
    document_tools: bool = True
    """The model may search the documents itself, beside what is quoted to it anyway."""
    shared_documents: tuple[str, ...] = ()
    """Documents of other owners that are used besides our own, if granted to us: all of an owner
    (`owner@domain`) or one collection (`owner@domain/namespace`)."""
    tools: tuple[str, ...] = ()
    discover: tuple[str, ...] = ()
    """JIDs and domains of agents that are discovered by presence; their tools are used, too."""

    def __post_init__(self) -> None:
        """Raises TypeError or ConfigurationError, naming the field."""
        for name in ("tools", "discover", "shared_documents"):
            as_tuple(getattr(self, name), of=f"Services: {name}")
        named = (
            ("memory", self.memory),
            ("rag", self.rag),
            *(("tools", one) for one in self.tools),
        )
        for name, jid in named:
            if jid is not None:
                check_agent_jid(jid, of=f"Services: {name}")


class LLMAgent(AssistantControls):
    """Assistant: answers people and programs with a language model; reaches memory, documents and
    tools by messages.

    Args:
        jid: account, as name@domain.
        password: password of the account.
        provider: model, such as `LLMProvider("ollama/llama3.2")` or `OfflineProvider()`.
        context_management: selects the messages of a conversation that reach the model
            (`spade_llm.context`); None: all.
        system_prompt: instructions for the model; None: those built in.
        services: JIDs of the memory, RAG and tool agents that it uses.
        limits: limits of one turn: tool rounds, calls, tokens, seconds.
        config: further settings: guardrails, own tools, human experts, quotas, rooms.
        embedder: computes the vector of a question once for memory and RAG agents that use the same
            model; None: each computes its own.
        options: connection, data directory and access rules; None: the server is found by the
            environment variables SPADE_LLM_SERVER, SPADE_LLM_CA and SPADE_LLM_DATA
            (docs/migration.md).
        program: settings of `config` by keyword, such as `tools=[…]` or `output_schema=Model`, and
            those of spade_llm 0.2 and 0.3.
    """

    _goes_on_after_marker: ClassVar[bool] = False
    """True if a termination marker ends a task, and not the conversation."""

    def __init__(
        self,
        jid: str,
        password: str,
        provider: ChatModel,
        context_management: ContextManagement | None = None,
        system_prompt: str | None = None,
        *,
        services: Services | None = None,
        limits: TurnLimits | None = None,
        config: AssistantConfig | None = None,
        embedder: Embedder | None = None,
        options: AgentOptions | None = None,
        **program: Unpack[AssistantKeywords],
    ) -> None:
        config = config or program.get("conduct")
        check_agent_jid(jid, of="LLMAgent: jid")
        check_assistant_arguments(
            LLMAgent,
            provider,
            context_management,
            system_prompt,
            settings={
                "services": (services, Services),
                "limits": (limits, TurnLimits),
                "config": (config, AssistantConfig),
                "options": (options, AgentOptions),
            },
            keywords=program,
        )
        services = services or Services()
        self._program_memory = memory_from_keywords(bare(jid), program)
        config = config_from_keywords(program, config, self._program_memory)
        given = options or AgentOptions()
        super().__init__(
            jid,
            password,
            # Agents that may be discovered may send us their presence.
            options=replace(given, allowed=(*given.allowed, *services.discover)),
            find_connection=None if options else default_connection,
        )
        warn_about_verify_security(str(self.jid), verify_security=program.get("verify_security"))
        if self.replicas is not None and config.experts:
            raise ConfigurationError(
                f"{self.jid}: replicas cannot ask human experts: the answer may reach another one"
            )
        self.letters = OutgoingMessages(self.node)
        groups = QuotaGroups(own_domain=str(self.jid.domain), is_guest=self.admission.is_guest)
        self._chat = ChatService(self._answer, generate=self._generate, quota_groups_of=groups.of)
        self.experts = expert_questions_of(self, self.letters, is_for_others=self._is_no_answer)
        self._own_tools = [*config.tools, *expert_tools(config.experts, self.experts)]
        bind_tools(self, self._own_tools)
        self._guardrails = GuardrailMiddleware(
            config.input_guardrails,
            config.output_guardrails,
            on_trigger=config.on_guardrail_trigger,
        )
        data = self.options.data
        notices = RoomNotices(str(self.jid))
        self.rooms = Rooms(self, config.rooms, notices) if config.rooms else None
        self._outbox = MemoryOutbox(self.database_place(OUTBOX_TABLES))
        self._usage = UsageTracking(
            self.database_place(USAGE_TABLES),
            limits=config.peer_limits,
            crowd=config.crowd_limits,
            groups_of=groups.of,
        )
        servers = program.get("mcp_servers") or ()
        self._mcp_servers = [AgentMcpToolbox(servers, data=data)] if servers else []
        documents = RagClient(self.node.requester, services.rag) if services.rag else None
        retriever = (
            TrustedDocumentRetriever(documents, shared=services.shared_documents)
            if documents
            else None
        )
        self.memory_behaviour = self._memory_behaviour(services, retriever, config, embedder)
        tool_agents = [ToolsClient(self.node.requester, one) for one in services.tools]
        model = InstrumentedModel(provider)
        self.provider = provider
        """Model as passed to the constructor, without instrumentation."""
        self.reply_to = config.reply_to
        """Bare JID that receives all answers; None: each sender receives its own."""
        self.model_health = model.health
        files = FileSharing(self, documents, rules=config.files)
        # Raises while the RAG agent is away: then nothing is reported as forgotten.
        self.memory_behaviour.on_forget.append(files.forget)
        if self.rooms is not None:
            self.memory_behaviour.on_forget.append(self.rooms.forget)
        file_sharing = files.taking(model)
        # Quota outermost: what it refuses costs nothing and reaches no guardrail's model.
        layers = [*self._usage.layers, *self._layers(config, file_sharing)]
        self._long_answers = files.sending()
        self._reactions = ReactionHandler(self, self.memory_behaviour)
        self.llm_behaviour = LLMBehaviour(
            model,
            strategy=context_management or NoContextManagement(),
            system_prompt=system_prompt or DEFAULT_SYSTEM_PROMPT,
            memory=self.memory_behaviour,
            memory_offer=MemoryOffer(
                owner=self.jid.bare,
                tools=services.memory_tools,
                max_batch=services.memory_max_batch,
                model=model,
            ),
            toolboxes=[*self._own_toolboxes(services, documents, retriever), *tool_agents],
            limits=limits or TurnLimits(),
            billing=self._usage.billing,
            layers=layers,
            # Only people's clients share files.
            program_layers=[one for one in layers if one is not file_sharing],
            answer_schema=PydanticAnswerSchema(config.output_schema)
            if config.output_schema
            else None,
            admins=config.admins,
        )
        self._completion = StatelessCompletion(
            model,
            limits=limits or TurnLimits(),
            layers=[*self._usage.layers, self._guardrails],
        )
        add_resource_commands(
            self.llm_behaviour, self._chat, documents, shared=services.shared_documents
        )
        offer_assistant_menu(self, self.llm_behaviour, self._chat, is_room=self._is_in)
        self._presenter = self._reply_presenter(config)
        self._tool_agents = ToolAgentDiscovery(
            self,
            self.llm_behaviour.shared_tools,
            named=tool_agents,
            discover=services.discover,
            run=self.submit,
        )
        self._serve()

    def _own_toolboxes(
        self,
        services: Services,
        documents: RagClient | None,
        retriever: TrustedDocumentRetriever | None,
    ) -> list[Toolbox]:
        """Own toolboxes, placed before all others: if names are equal, the assistant's own tool is
        used."""
        own: list[Toolbox] = [LocalToolbox(tuple(self._own_tools))] if self._own_tools else []
        own += self._mcp_servers
        if documents is not None and retriever is not None and services.document_tools:
            shared = services.shared_documents
            own.append(documents_toolbox(retriever, documents, shared=shared))
        return own

    def _reply_presenter(self, config: AssistantConfig) -> ReplyPresenter:
        # Not streamed if answers are routed: their recipient is known when they are complete.
        is_routed = bool(config.reply_to or config.routing_function)
        streaming = config.manners.streaming and not is_routed
        presenter = ReplyPresenter(
            self,
            replace(config.manners, streaming=streaming),
            is_command=self.llm_behaviour.commands.is_command,
            retract=self.llm_behaviour.retract,
        )
        self.memory_behaviour.on_forget.append(presenter.forget)
        self.memory_behaviour.on_clear.append(presenter.shown.forget_place)
        return presenter

    def _memory_behaviour(
        self,
        services: Services,
        retriever: TrustedDocumentRetriever | None,
        config: AssistantConfig,
        embedder: Embedder | None,
    ) -> MemoryBehaviour:
        ask = self.node.requester
        named = (("memory", services.memory), ("documents", services.rag))
        return MemoryBehaviour(
            memory=MemoryClient(ask, services.memory) if services.memory else None,
            retriever=retriever,
            outbox=self._outbox,
            embedder=embedder,
            probes={
                name: partial(agent_status.ask_status, ask, jid, timeout_s=STATUS_TIMEOUT_S)
                for name, jid in named
                if jid
            },
            notes=config.notes,
        )

    def _serve(self) -> None:
        behaviour, dispatcher = self.llm_behaviour, self.node.dispatcher
        self.announce(kind="assistant")
        if self.status_line is not None:
            # The name of the rules, "offline", would look as if the contact were.
            self.status_line.describe = lambda: (
                behaviour.model.name if language_model(behaviour.model) else "no model"
            )
        self._usage.attach(
            behaviour.commands,
            self._chat.service,
            self.memory_behaviour,
            reaction=self._reactions.feedback.line,
        )
        self._chat.attach(dispatcher)
        # Answers are remembered for requests that are repeated, and may quote what is forgotten.
        self.memory_behaviour.on_forget.append(dispatcher.scrub_asked)
        clearing = ConversationDeletion(
            dispatcher=dispatcher,
            conversations=behaviour.conversations,
            locks=behaviour.locks,
            memory=self.memory_behaviour,
        )
        SessionsService(partial(sessions_for, clearing=clearing), dispatcher).attach()
        agent_status.serve_status(
            dispatcher,
            kind="assistant",
            summary=self._summary,
            notes=behaviour.status_notes,
            facts=lambda: {
                "provider": provider_kind(self.provider),
                "model": behaviour.model.name,
            },
            operator_notes=self._operator_notes,
            replicas=self.replicas,
        )
        for one in (self.memory_behaviour, behaviour, behaviour.preparing):
            self.add_behaviour(one)
        if self.replicas is not None:
            members = self.replicas.members
            members.count_conversations = behaviour.conversations.__len__
            members.count_turns = self._usage.quota.group_turns
            self._usage.quota.turns_elsewhere = members.turns_elsewhere
            members.on_change.append(self._ownership_changed)
            self._outbox.is_ours = lambda one: self.acts_for(conversation_owner(one.subject))

    def _ownership_changed(self) -> None:
        """Follow a change of ownership among the replicas of this assistant."""
        self._outbox.has_mail.set()
        # Without a memory, what is in RAM is all that is known of a conversation.
        if self.memory_behaviour.memory is not None:
            conversations, dispatcher = self.llm_behaviour.conversations, self.node.dispatcher
            conversations.hand_over(self.acts_for, dispatcher.is_serving)

    async def open_resources(self, stack: AsyncExitStack) -> None:
        stack.push_async_callback(self._program_memory.close)
        await stack.enter_async_context(self._outbox)
        if self.rooms is not None:
            await stack.enter_async_context(self.rooms.invited_to)
        await stack.enter_async_context(self._presenter.shown)
        for servers in self._mcp_servers:
            await stack.enter_async_context(servers)
        await stack.enter_async_context(self.experts)
        await stack.enter_async_context(self._usage.ledger)
        await self._reactions.open(stack)

    def _is_in(self, room: str) -> bool:
        return self.rooms is not None and room in self.rooms

    def _is_no_answer(self, message: AclMessage) -> bool:
        """True if an expert's message is no answer: a command, or an approval of a tool call."""
        is_command = self.llm_behaviour.commands.knows(message.content)
        return is_command or self._chat.is_settling(message)

    def _layers(
        self, config: AssistantConfig, file_sharing: TurnMiddleware
    ) -> list[TurnMiddleware]:
        """Turn middleware inside quota and usage recording, outermost first."""
        ending = ConversationEndMiddleware(
            max_interactions=config.max_interactions_per_conversation,
            on_end=config.on_conversation_end,
            goes_on=self._goes_on_after_marker,
        )
        routing = routing_middleware(config, self.letters, run=self.submit)
        # An empty marker would match the end of every answer.
        markers = [one for one in config.termination_markers if one.strip()]
        innermost = [TerminationMarkers(markers)] if markers else []
        # Routing stands outside the guardrails: what it passes on has been judged. Markers are
        # removed first, so that no other layer sees one.
        return [ending, *routing, self._guardrails, file_sharing, *innermost]

    async def _answer(self, turn_input: ChatTurnInput) -> ChatReply:
        if self.rooms is not None and (said := turn_input.message.said).room:
            heard = self.rooms.heard_in(said.room)
            # Programs (forwarded answers) are not asked for approval.
            turn_input = replace(turn_input, heard=heard, ask=None if said.hops else turn_input.ask)
        # Programs and SPADE agents see no styling, bubbles or files: those are for clients.
        if turn_input.message.encoding is not Encoding.PLAIN:
            return await self.llm_behaviour.answer(turn_input)
        # Inside the presenter: a file holds the answer's Markdown, before it is styled.
        answer = partial(self._long_answers.answer, handler=self.llm_behaviour.answer)
        return await self._presenter.answer(turn_input, answer)

    async def _generate(self, turn_input: ChatTurnInput) -> ChatReply:
        return await self._completion.answer(turn_input)

    def _operator_notes(self) -> list[str]:
        fault = self.model_health.fault
        return [f"Model: {fault}"] if fault else []

    async def _summary(self) -> str:
        model = self.llm_behaviour.model.name
        if self.replicas is None:
            count = len(self.llm_behaviour.conversations)
            return f"model {model}, {pluralize(count, 'conversation')}"
        replicas = self.replicas.members.members
        count = sum(one.conversations for one in replicas)
        return (
            f"model {model}, {pluralize(count, 'conversation')} in"
            f" {pluralize(len(replicas), 'replica')}"
        )


def provider_kind(provider: ChatModel) -> str:
    """Provider name derived from the model's class: `OpenAI` (any server with its protocol),
    `Offline`, or the name of a custom class."""
    provider = provider.current if isinstance(provider, ReplaceableModel) else provider
    # By names: importing the model's class would import openai.
    names = [kind.__name__ for kind in type(provider).__mro__]
    name = "OpenAIModel" if "OpenAIModel" in names else names[0]
    return name.removesuffix("Provider").removesuffix("Model")
