"""LLM agent: composes model, turn middleware, memory, documents, tools and presentation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

from spade_llm.agents.assistant_keywords import (
    AssistantKeywords,
    LiveContext,
    check_assistant_keywords,
    config_from_keywords,
    memory_from_keywords,
)
from spade_llm.agents.bound_tools import bind_tools
from spade_llm.agents.default_connection import default_connection
from spade_llm.agents.keyword_checks import warn_about_verify_security
from spade_llm.agents.rooms import build_rooms, with_room_context
from spade_llm.assistant.chat.service import ChatService
from spade_llm.assistant.commands.adhoc_menus import offer_assistant_menu
from spade_llm.assistant.commands.documents_and_tools import add_resource_commands
from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.delegation.expert_questions import expert_questions_of, expert_tools
from spade_llm.assistant.feedback import ReactionHandler
from spade_llm.assistant.history.caller_sessions import ConversationDeletion, sessions_for
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.history.remote_sessions import SessionsService
from spade_llm.assistant.middleware.conversation_end import (
    ConversationEndMiddleware,
    TerminationMarkers,
)
from spade_llm.assistant.middleware.file_sharing import FileSharing
from spade_llm.assistant.middleware.guardrails import GuardrailMiddleware
from spade_llm.assistant.middleware.quota import QuotaGroups
from spade_llm.assistant.middleware.routing import routing_middleware
from spade_llm.assistant.middleware.usage import UsageTracking
from spade_llm.assistant.presentation.reply_presenter import ReplyPresenter
from spade_llm.assistant.tool_discovery import ToolAgentDiscovery
from spade_llm.assistant.turn.documents import TrustedDocumentRetriever, documents_toolbox
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer, MemoryToolSet
from spade_llm.assistant.turn.prompt import DEFAULT_SYSTEM_PROMPT
from spade_llm.assistant.turn.structured_output import PydanticAnswerSchema
from spade_llm.assistant.turn.turn import StatelessCompletion
from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
from spade_llm.context import NoContextManagement
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import pluralize
from spade_llm.mcp.sessions import AgentMcpToolbox
from spade_llm.memory.remote import MemoryClient
from spade_llm.memory.tools.toolset import MAX_BATCH
from spade_llm.messaging import Encoding, agent_status, bare
from spade_llm.messaging.outgoing_messages import OutgoingMessages
from spade_llm.providers.offline.provider import OfflineProvider
from spade_llm.rag.remote import RagClient
from spade_llm.tools.local import LocalToolbox
from spade_llm.tools.remote import ToolsClient
from spade_llm.xmpp.agent import AgentOptions, XmppAgent

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from spade_llm.agents.interaction_memory import AgentInteractionMemory
    from spade_llm.assistant.chat.service import ChatReply, ChatTurnInput
    from spade_llm.assistant.config import AssistantConfig, PresentationOptions
    from spade_llm.assistant.turn.turn import TurnMiddleware
    from spade_llm.context import ContextManagement, ContextStats
    from spade_llm.guardrails import Guardrail
    from spade_llm.memory.agent_memory import AgentBaseMemory
    from spade_llm.messaging import AclMessage
    from spade_llm.providers.model import ChatModel
    from spade_llm.tools import Tool
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


class LLMAgent(XmppAgent):
    """Talks with people and programs; reaches memory, documents and tools by messages.

    The first five parameters are those of specs/5; what spade_llm 0.2/0.3 takes by keyword is taken
    too (agents/assistant_keywords.py). `options=None`: it logs in where the environment says
    (agents/default_connection.py).
    """

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
        conduct: AssistantConfig | None = None,
        options: AgentOptions | None = None,
        **program: Unpack[AssistantKeywords],
    ) -> None:
        check_assistant_keywords(program, context_management)
        services = services or Services()
        self._program_memory = memory_from_keywords(bare(jid), program)
        conduct = config_from_keywords(program, conduct, self._program_memory)
        find = None if options else default_connection
        super().__init__(
            jid,
            password,
            options=_allow_discovered(services.discover, options),
            find_connection=find,
        )
        warn_about_verify_security(str(self.jid), verify_security=program.get("verify_security"))
        self.letters = OutgoingMessages(self.node)
        groups = QuotaGroups(own_domain=str(self.jid.domain), is_guest=self.admission.is_guest)
        self._chat = ChatService(self._answer, generate=self._generate, quota_groups_of=groups.of)
        self.experts = expert_questions_of(self, self.letters, is_for_others=self._is_no_answer)
        self._own_tools = [*conduct.tools, *expert_tools(conduct.experts, self.experts)]
        bind_tools(self, self._own_tools)
        self._guarding = _guardrail_middleware(conduct)
        data, name = self.options.data, str(self.jid.local)
        self.rooms = build_rooms(self, conduct)
        self._outbox = MemoryOutbox(data / f"outbox-{name}.db" if data else None)
        self._watch = UsageTracking(
            data,
            name,
            limits=conduct.peer_limits,
            crowd=conduct.crowd_limits,
            groups_of=groups.of,
        )
        servers = program.get("mcp_servers") or ()
        self._mcp_servers = [AgentMcpToolbox(servers, data=data)] if servers else []
        documents = RagClient(self.node.requester, services.rag) if services.rag else None
        self.memory_behaviour = self._memory_behaviour(services, documents, conduct)
        tool_agents = [ToolsClient(self.node.requester, one) for one in services.tools]
        model = InstrumentedModel(provider)
        self.provider = provider
        """Model as passed to the constructor, without instrumentation."""
        self.reply_to = conduct.reply_to
        """Bare JID that receives all answers; None: each sender receives its own."""
        self.model_health = model.health
        is_offline = isinstance(provider, OfflineProvider)
        files = FileSharing(self, documents, rules=conduct.files)
        # Raises while the RAG agent is away: then nothing is reported as forgotten.
        self.memory_behaviour.on_forget.append(files.forget)
        if self.rooms is not None:
            self.memory_behaviour.on_forget.append(self.rooms.forget)
        taking = files.taking(model, is_offline=is_offline)
        # Quota outermost: what it refuses costs nothing and reaches no guardrail's model.
        layers = [*self._watch.layers, *self._layers(conduct, taking)]
        self._sending = files.sending()
        self._reactions = ReactionHandler(self, self.memory_behaviour, data=data)
        self.llm_behaviour = LLMBehaviour(
            model,
            strategy=context_management or NoContextManagement(),
            system_prompt=system_prompt or DEFAULT_SYSTEM_PROMPT,
            memory=self.memory_behaviour,
            memory_offer=self._memory_offer(services, None if is_offline else model),
            toolboxes=[*self._own_toolboxes(documents, services), *tool_agents],
            limits=limits or TurnLimits(),
            billing=self._watch.billing,
            layers=layers,
            # Only people's clients share files.
            program_layers=[one for one in layers if one is not taking],
            form=PydanticAnswerSchema(conduct.output_schema) if conduct.output_schema else None,
        )
        self._generating = StatelessCompletion(
            model,
            limits=limits or TurnLimits(),
            layers=[*self._watch.layers, self._guarding],
        )
        add_resource_commands(
            self.llm_behaviour, self._chat, documents, shared=services.shared_documents
        )
        offer_assistant_menu(self, self.llm_behaviour, self._chat, is_room=self._is_in)
        self._manners = self._mannered(conduct)
        self._tool_agents = ToolAgentDiscovery(
            self,
            self.llm_behaviour.shared_tools,
            named=tool_agents,
            discover=services.discover,
            run=self.submit,
        )
        self._serve()

    def _own_toolboxes(self, documents: RagClient | None, services: Services) -> list[Toolbox]:
        """Own toolboxes, placed before all others: if names are equal, the assistant's own tool is
        used."""
        own: list[Toolbox] = [LocalToolbox(tuple(self._own_tools))] if self._own_tools else []
        return [*own, *self._mcp_servers, *_document_tools(documents, services)]

    def _mannered(self, conduct: AssistantConfig) -> ReplyPresenter:
        manners = ReplyPresenter(
            self,
            _presentation_options(conduct),
            is_command=self.llm_behaviour.commands.is_command,
            retract=self.llm_behaviour.retract,
        )
        self.memory_behaviour.on_forget.append(manners.forget)
        self.memory_behaviour.on_clear.append(manners.shown.forget_place)
        return manners

    def _memory_behaviour(
        self, services: Services, documents: RagClient | None, conduct: AssistantConfig
    ) -> MemoryBehaviour:
        ask = self.node.requester
        named = (("memory", services.memory), ("documents", services.rag))
        return MemoryBehaviour(
            memory=MemoryClient(ask, services.memory) if services.memory else None,
            retriever=_trusted_retriever(documents, services) if documents else None,
            outbox=self._outbox,
            probes={
                name: partial(agent_status.ask_status, ask, jid, timeout_s=STATUS_TIMEOUT_S)
                for name, jid in named
                if jid
            },
            notes=conduct.notes,
        )

    def _memory_offer(self, services: Services, model: ChatModel | None) -> MemoryOffer:
        return MemoryOffer(
            owner=self.jid.bare,
            tools=services.memory_tools,
            max_batch=services.memory_max_batch,
            model=model,
        )

    def _serve(self) -> None:
        behaviour, dispatcher = self.llm_behaviour, self.node.dispatcher
        self.announce(kind="assistant")
        if self.status_line is not None:
            self.status_line.describe = lambda: behaviour.model.name
        self._watch.attach(
            behaviour.commands,
            self._chat.service,
            self.memory_behaviour,
            reaction=self._reactions.feedback.line,
        )
        self._chat.attach(dispatcher)
        self._serve_sessions()
        agent_status.serve_status(
            dispatcher,
            kind="assistant",
            summary=self._summary,
            facts=self._facts_now,
            operator_notes=self._operator_notes,
        )
        for one in (self.memory_behaviour, behaviour, behaviour.preparing):
            self.add_behaviour(one)

    def _serve_sessions(self) -> None:
        behaviour, dispatcher = self.llm_behaviour, self.node.dispatcher
        # Answers are remembered for requests that are repeated, and may quote what is forgotten.
        self.memory_behaviour.on_forget.append(dispatcher.scrub_asked)
        clearing = ConversationDeletion(
            dispatcher=dispatcher,
            conversations=behaviour.conversations,
            held=behaviour.held,
            memory=self.memory_behaviour,
        )
        SessionsService(partial(sessions_for, clearing=clearing), dispatcher).attach()

    async def open_resources(self, stack: AsyncExitStack) -> None:
        stack.push_async_callback(self._program_memory.close)
        await stack.enter_async_context(self._outbox)
        if self.rooms is not None:
            await stack.enter_async_context(self.rooms.invited_to)
        await stack.enter_async_context(self._manners.shown)
        for servers in self._mcp_servers:
            await stack.enter_async_context(servers)
        await stack.enter_async_context(self.experts)
        await stack.enter_async_context(self._watch.ledger)
        await self._reactions.open(stack)

    def add_tool(self, tool: Tool) -> None:
        """Add a tool, offered from the next turn on. Raises ConfigurationError if the name is
        taken."""
        if tool.spec.name in (known.spec.name for known in self._own_tools):
            raise ConfigurationError(f"there are two tools {tool.spec.name!r}; rename one")
        bind_tools(self, [tool])
        self._own_tools.append(tool)
        self.llm_behaviour.shared_tools.add(LocalToolbox([tool]))

    def get_tools(self) -> list[Tool]:
        """Those of this process; tool agents' are not among them."""
        return list(self._own_tools)

    @property
    def tools(self) -> list[Tool]:
        """The same as `get_tools()`; `add_tool` adds one."""
        return self.get_tools()

    @property
    def interaction_memory(self) -> AgentInteractionMemory | None:
        return self._program_memory.interaction_memory

    @property
    def agent_base_memory(self) -> AgentBaseMemory | None:
        return self._program_memory.agent_base_memory

    @property
    def input_guardrails(self) -> list[Guardrail]:
        """Input guardrails of the next turn; the list can be changed, and each guardrail
        disabled."""
        return self._guarding.input_guardrails

    @property
    def output_guardrails(self) -> list[Guardrail]:
        return self._guarding.output_guardrails

    def add_input_guardrail(self, guardrail: Guardrail) -> None:
        """Append an input guardrail, used from the next turn on."""
        self._guarding.input_guardrails.append(guardrail)

    def add_output_guardrail(self, guardrail: Guardrail) -> None:
        self._guarding.output_guardrails.append(guardrail)

    def reset_conversation(self, conversation_id: str) -> bool:
        """Reopen a conversation that has ended, and reset its answer count; its messages stay.
        False if it is not in RAM."""
        conversation = self.llm_behaviour.conversations.find(conversation_id)
        if conversation is not None:
            conversation.begin_anew()
        return conversation is not None

    def get_conversation_state(self, conversation_id: str) -> dict[str, object] | None:
        """`state` (`active`, or why it is over), `interaction_count`; None if it is not in RAM."""
        conversation = self.llm_behaviour.conversations.find(conversation_id)
        if conversation is None:
            return None
        state = conversation.ended or "active"
        return {"state": state, "interaction_count": conversation.interactions}

    @property
    def context(self) -> LiveContext:
        return LiveContext(self.llm_behaviour.conversations)

    def update_context_management(self, context_management: ContextManagement) -> None:
        """Use another strategy from the next turn on (specs/5)."""
        self.llm_behaviour.strategy = context_management

    def get_context_stats(self, conversation_id: str | None = None) -> ContextStats:
        """Size of a conversation as the strategy sees it (specs/5); default: the longest in RAM. A
        conversation that is not in RAM has no messages."""
        return self.llm_behaviour.context_stats(conversation_id)

    def _is_in(self, room: str) -> bool:
        return self.rooms is not None and room in self.rooms

    def _is_no_answer(self, message: AclMessage) -> bool:
        """True if an expert's message is not an answer to a question: a command, or an approval of
        a tool call."""
        is_command = self.llm_behaviour.commands.knows(message.content)
        return is_command or self._chat.is_settling(message)

    def _layers(self, conduct: AssistantConfig, taking: TurnMiddleware) -> list[TurnMiddleware]:
        """Turn middleware inside quota and usage recording, outermost first."""
        ending = self._ending(conduct)
        routing = routing_middleware(conduct, self.letters, run=self.submit)
        # An empty marker would match the end of every answer.
        markers = [one for one in conduct.termination_markers if one.strip()]
        innermost = [TerminationMarkers(markers)] if markers else []
        # Routing stands outside the guardrails: what it passes on has been judged. Markers are
        # removed first, so that no other layer sees one.
        return [ending, *routing, self._guarding, taking, *innermost]

    def _ending(self, conduct: AssistantConfig) -> ConversationEndMiddleware:
        return ConversationEndMiddleware(
            max_interactions=conduct.max_interactions_per_conversation,
            on_end=conduct.on_conversation_end,
        )

    async def _answer(self, utterance: ChatTurnInput) -> ChatReply:
        if self.rooms is not None:
            utterance = with_room_context(utterance, self.rooms)
        # Programs and SPADE agents see no styling, bubbles or files: those are for clients.
        if utterance.message.encoding is not Encoding.PLAIN:
            return await self.llm_behaviour.answer(utterance)
        # Inside the presenter: a file holds the answer's Markdown, before it is styled.
        answer = partial(self._sending.answer, handler=self.llm_behaviour.answer)
        return await self._manners.answer(utterance, answer)

    async def _generate(self, utterance: ChatTurnInput) -> ChatReply:
        return await self._generating.answer(utterance)

    def _facts_now(self) -> dict[str, str]:
        return {"provider": provider_kind(self.provider), "model": self.llm_behaviour.model.name}

    def _operator_notes(self) -> list[str]:
        fault = self.model_health.fault
        return [f"Model: {fault}"] if fault else []

    async def _summary(self) -> str:
        count = len(self.llm_behaviour.conversations)
        return f"model {self.llm_behaviour.model.name}, {pluralize(count, 'conversation')}"


def provider_kind(provider: ChatModel) -> str:
    """Provider name derived from the model's class: `OpenAI` (any server with its protocol),
    `Offline`, or the name of a custom class."""
    # By names: importing the model's class would import openai.
    names = [kind.__name__ for kind in type(provider).__mro__]
    name = "OpenAIModel" if "OpenAIModel" in names else names[0]
    return name.removesuffix("Provider").removesuffix("Model")


def _allow_discovered(discover: tuple[str, ...], options: AgentOptions | None) -> AgentOptions:
    """Allow the agents to be discovered to send us their presence."""
    options = options or AgentOptions()
    return replace(options, allowed=(*options.allowed, *discover))


def _guardrail_middleware(conduct: AssistantConfig) -> GuardrailMiddleware:
    return GuardrailMiddleware(
        conduct.input_guardrails,
        conduct.output_guardrails,
        on_trigger=conduct.on_guardrail_trigger,
    )


def _presentation_options(conduct: AssistantConfig) -> PresentationOptions:
    """Presentation options of an assistant, without streaming if answers are routed."""
    # The recipient of a routed answer is known only when the answer is complete.
    is_routed = bool(conduct.reply_to or conduct.routing_function)
    return replace(conduct.manners, streaming=conduct.manners.streaming and not is_routed)


def _trusted_retriever(documents: RagClient, services: Services) -> TrustedDocumentRetriever:
    return TrustedDocumentRetriever(documents, shared=services.shared_documents)


def _document_tools(documents: RagClient | None, services: Services) -> list[Toolbox]:
    if documents is None or not services.document_tools:
        return []
    shared = services.shared_documents
    return [documents_toolbox(_trusted_retriever(documents, services), documents, shared=shared)]
