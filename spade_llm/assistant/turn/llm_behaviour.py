"""Chat turn handler: command or turn; recall, middleware, tool loop, reply, stored history.

command? → done. Otherwise: layers around (recall ∥ retrieve → turn: model ↔ tools) → observe →
reply.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.messages import (
    AnswerSource,
    BuiltContext,
    ChatReply,
    ToolCallReport,
    ToolRoundReport,
)
from spade_llm.assistant.commands.command_registry import NOTHING_TO_STOP, STOP, CommandRegistry
from spade_llm.assistant.commands.forget_requests import ForgetRequests
from spade_llm.assistant.commands.memory import LearningCommands, MemoryCommands
from spade_llm.assistant.history.conversation_cache import (
    IDLE_S,
    ConversationCache,
    ConversationLocks,
)
from spade_llm.assistant.turn.approval import Approver
from spade_llm.assistant.turn.context_builder import (
    AssembledContext,
    ContextSources,
    assemble_context,
)
from spade_llm.assistant.turn.document_tools import check_namespace_access
from spade_llm.assistant.turn.fact_revision import (
    MAX_EARLIER_MESSAGES,
    Comparison,
    FactRevision,
    SaidMessage,
)
from spade_llm.assistant.turn.memory_selection import select_memories
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer, MemoryToolbox, stored_texts
from spade_llm.assistant.turn.prompt import (
    CachedContext,
    ContextPreparationBehaviour,
    TokenCounterCache,
    shown_texts,
    told_texts,
    user_message,
    without_text,
)
from spade_llm.assistant.turn.tool_calls import ExecutedToolCall, offered_tools
from spade_llm.assistant.turn.tool_loop import TurnResult
from spade_llm.assistant.turn.turn import Turn, TurnMiddleware, TurnOutcome, with_middleware
from spade_llm.assistant.turn.turn_options import ContextOptions, TurnOptions
from spade_llm.context import ContextManagement, ContextStats, NoContextManagement
from spade_llm.core.errors import (
    ContextTooLong,
    Failure,
    ModelError,
    RateLimited,
    RequestError,
    StorageFailed,
)
from spade_llm.core.text import describe_seconds, join_words
from spade_llm.memory.contract import ScoredMemory
from spade_llm.messaging import Encoding
from spade_llm.providers.model import (
    ChatModel,
    ContextMessage,
    ToolSpec,
    UserMessage,
    language_model,
    safe_name,
    same_model,
)
from spade_llm.providers.retry import pause_listener
from spade_llm.rag.cited_answers import citation_label
from spade_llm.search.language import language_of
from spade_llm.tools.toolbox import CombinedToolbox, Toolbox
from spade_llm.understanding.clause_kinds import is_question
from spade_llm.understanding.clauses import is_off_the_record
from spade_llm.understanding.pronouns import with_asked
from spade_llm.understanding.statements import start_compiling
from spade_llm.xmpp.spade_adapters import Behaviour

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.config import TurnLimits
    from spade_llm.assistant.history.conversation_cache import Conversation
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.assistant.turn.prompt import BillingScope
    from spade_llm.assistant.turn.recall import RecallResult
    from spade_llm.assistant.turn.structured_output import AnswerSchema
    from spade_llm.rag.contract import ScoredChunk

logger = logging.getLogger(__name__)

MAX_REPLIED_CHARS = 1000
"""Maximum length of a call's arguments, and of its result, in replies to programs, in characters.
"""
_SPANISH_NAMES = {"memory": "memoria", "documents": "documentos", "tools": "herramientas"}
_PAUSE = "The model's server asks for a pause of {}; I answer after it."
COMPILE_AFTER_S = 1.0
"""Seconds from the start of the assistant until the rules are compiled."""
LIST_DEADLINE_S = 2.0
"""Deadline for listing the shared tools, in seconds, as for recall: an offline tool agent delays a
turn no longer."""


class LLMBehaviour(Behaviour):
    """Chat turn handler: holds the conversations; each `answer` is one turn."""

    def __init__(
        self,
        model: ChatModel,
        *,
        strategy: ContextManagement,
        system_prompt: str,
        memory: MemoryBehaviour,
        memory_offer: MemoryOffer,
        toolboxes: Sequence[Toolbox],
        limits: TurnLimits,
        layers: Sequence[TurnMiddleware] = (),
        program_layers: Sequence[TurnMiddleware] | None = None,
        answer_schema: AnswerSchema | None = None,
        billing: BillingScope | None = None,
        admins: Collection[str] = (),
    ) -> None:
        """Create the handler. `toolboxes` are shared by all conversations; `shared_tools` combines
        them, and may change. `layers` are the middleware of each turn, outermost first;
        `program_layers` those of programs' turns, by default the same. `answer_schema` is that of
        requests without their own. `billing` is the usage scope of a strategy's work between
        turns. `admins` are the bare JIDs that are told why the model fails."""
        super().__init__()
        self.model = model
        self.strategy = strategy
        self.preparing = ContextPreparationBehaviour(billing)
        """Behaviour that must be added to the agent together with this one."""
        # Without a memory agent they are nowhere else.
        self.conversations = ConversationCache(idle_s=IDLE_S if memory.memory is not None else None)
        self.conversations.on_change.append(self._discard_context)
        self.locks = ConversationLocks()
        """Locks of conversations and peers; no turn begins while they are held."""
        self._system_prompt = system_prompt
        self._memory = memory
        self._revision = None if memory.memory is None else FactRevision(memory.memory)
        self._memory_offer = memory_offer
        self._token_counters = TokenCounterCache()
        self.shared_tools = CombinedToolbox(toolboxes, list_timeout_s=LIST_DEADLINE_S)
        self._limits = limits
        self._layers = layers
        self._program_layers = layers if program_layers is None else program_layers
        self._form = answer_schema
        self._admins = frozenset(admins)
        self._paused_until = 0.0
        self.commands = CommandRegistry()
        self.commands.add(
            "status", self._status, "/status – which model I use, and which services can be reached"
        )
        self.commands.add(
            STOP, _nothing_to_stop, "/stop – stop my answer, and drop the messages that wait"
        )
        self.memory_commands = MemoryCommands(memory, self.conversations, model=model)
        self.memory_commands.add_to(self.commands)
        LearningCommands(memory).add_to(self.commands)
        forget_requests = ForgetRequests(memory, self.conversations, model=model)
        forget_requests.add_to(self.commands)
        if memory.memory is not None:
            self.commands.add_request(forget_requests.answer)

    def _discard_context(self, conversation: Conversation) -> None:
        self.preparing.cancel(conversation.key)
        self.strategy.discard(conversation.messages)

    async def on_start(self) -> None:
        """Compile the rules before the first message needs them, and not during the start, which it
        would delay by 0.4 s."""
        if self._revision is not None:
            asyncio.get_running_loop().call_later(COMPILE_AFTER_S, start_compiling)

    async def run(self) -> None:
        """Turns begin with messages (assistant/chat/service.py); between them conversations
        expire."""
        await asyncio.sleep(min(self.conversations.next_expiry_s(), IDLE_S))
        self.conversations.expire()

    async def answer(self, turn_input: ChatTurnInput) -> ChatReply:
        """Reply to one message. If the model fails, the reply is an apology."""
        # A model that writes "/forget all" commands nobody.
        if not turn_input.is_forwarded:
            obeyed = await self.commands.obey(turn_input)
            if obeyed is not None:
                return ChatReply(text=obeyed, context=_context_of(None, turn_input))
        turn_input = replace(turn_input, answer_schema=turn_input.answer_schema or self._form)
        # A turn beside a deletion would write again what is removed.
        await self.locks.are_free([turn_input.message.owner, turn_input.conversation])
        conversation = self.conversations.get(
            turn_input.conversation, peer=turn_input.message.owner
        )
        conversation.heard_from(turn_input.peer)
        attempt = _TurnAttempt(result=TurnResult(is_annotated=turn_input.is_annotated))
        is_client = turn_input.message.encoding is Encoding.PLAIN
        call_next = with_middleware(
            self._layers if is_client else self._program_layers,
            conversation,
            partial(self._respond, conversation, attempt),
        )
        outcome = None
        try:
            with same_model():
                outcome = await call_next(turn_input)
        finally:
            # In `finally`, since a stopped turn (CancelledError) leaves its calls, too.
            if outcome is None:
                attempt.leave_in(conversation, turn_input.id)
        unkept: tuple[str, ...] = ()
        if outcome.is_kept:
            unkept = await self._store_exchange(conversation, turn_input, outcome)
            if self._revision and attempt.comparison and not turn_input.is_forwarded:
                # The facts of the message that the model has not stored by a tool.
                stored = stored_texts(outcome.result.called)
                await self._revision.keep(attempt.comparison, stored=stored)
        missing = dict.fromkeys([*outcome.missing, *unkept])
        return _reply(outcome, tuple(missing), turn_input)

    async def retract(self, place: str, turn_id: str, peer: str) -> None:
        """The exchange that a turn left, the last in its conversation, was meant otherwise: neither
        history nor memory have it any more."""
        conversation = self.conversations.get(place, peer=peer)
        # After a restart, `last_turn` is known from memory only.
        await self._memory.load(conversation)
        if conversation.last_turn == turn_id:
            conversation.drop_last_exchange()
        await self._memory.retract(conversation, turn_id)

    def context_stats(self, key: str | None = None) -> ContextStats:
        """Context size of the conversation with this key, else of the longest in RAM."""
        known = self.conversations
        one = known.longest() if key is None else known.find(key)
        messages = list(one.messages) if one else []
        stats = self.strategy.stats_of(messages, self._system_prompt)
        stats["conversations"] = len(known)
        return stats

    async def _respond(
        self, conversation: Conversation, attempt: _TurnAttempt, turn_input: ChatTurnInput
    ) -> TurnOutcome:
        """Innermost handler of the turn middleware chain."""
        if turn_input.context is not None:
            return await self._respond_with_options(
                conversation, attempt, turn_input, turn_input.context
            )
        toolbox = self._toolbox_of_turn(turn_input)
        recalled, comparison, specs = await asyncio.gather(
            self._memory.recall(
                _search_text(conversation, turn_input),
                subject=turn_input.peer,
                with_former=language_model(self.model) is None,
            ),
            self._load_and_compare(conversation, turn_input),
            toolbox.list(),
        )
        # Before anything is stored: options that cannot be met leave no trace.
        tools = offered_tools(specs, turn_input.wishes)
        attempt.comparison = comparison
        recalled = await self._revised(recalled, comparison)
        recalled = replace(recalled, heard=turn_input.heard, replied_to=turn_input.replied_to)
        attempt.question = user_message(turn_input.text, peer=turn_input.speaker)
        history = (*conversation.messages, attempt.question)
        await self.preparing.prepare(self.strategy, conversation.key, history)
        strategy = CachedContext(self.strategy)
        # Memories that fit the budget, and are not in the history given to the model.
        read = strategy.apply_context_strategy(list(history), self._system_prompt)
        chosen = select_memories(
            recalled.memories,
            said=shown_texts(read),
            told=told_texts(read),
            tokens=self._limits.recall_tokens,
        )
        recalled = replace(recalled, memories=chosen)
        turn = self._turn(strategy, toolbox)
        result = await self._run_turn(turn, history, recalled, turn_input, attempt.result, tools)
        return TurnOutcome(
            question=turn_input.text,
            result=result,
            recalled=recalled,
            missing=(*recalled.missing, *self._missing_tools()),
        )

    async def _load_and_compare(
        self, conversation: Conversation, turn_input: ChatTurnInput
    ) -> Comparison | None:
        """Load the conversation, which the message may refer to; find what it replaces."""
        await self._memory.load(conversation)
        return await self._compared(conversation, turn_input)

    async def _compared(
        self, conversation: Conversation, turn_input: ChatTurnInput
    ) -> Comparison | None:
        """The memories that the message says are outdated; None if it is not compared."""
        if self._revision is None or turn_input.message.said.is_passing:
            return None
        message = SaidMessage(
            text=turn_input.text,
            conversation=turn_input.kept_in,
            said_before=_said_before(conversation, turn_input),
            at=turn_input.at,
        )
        return await self._revision.compare(
            message, subject=turn_input.peer, is_away=self._memory.is_away
        )

    async def _revised(self, recalled: RecallResult, found: Comparison | None) -> RecallResult:
        """The recalled memories. Those that the message makes outdated are closed, and stand at the
        end as no longer true: a change is understood, and acknowledged, only beside what it ends.
        """
        if self._revision is None or found is None:
            return recalled
        closed = await self._revision.close(found)
        kept = [one for one in recalled.memories if one.entry.id not in closed]
        kept += (ScoredMemory(entry=one, score=1.0) for one in found.closed if one.id in closed)
        return replace(recalled, memories=tuple(kept))

    async def _respond_with_options(
        self,
        conversation: Conversation,
        attempt: _TurnAttempt,
        turn_input: ChatTurnInput,
        context_options: ContextOptions,
    ) -> TurnOutcome:
        """Respond with the context that the options select, instead of the assistant's defaults."""
        tool_options = turn_input.wishes
        toolbox = (
            self._toolbox_of_turn(turn_input)
            if tool_options.are_any_wanted
            else CombinedToolbox([])  # Nobody waits for tools that are not to be called.
        )
        check_namespace_access(context_options.namespaces, person=turn_input.peer)
        is_history_known, recalled, specs, count = await asyncio.gather(
            self._is_known(conversation, context_options),
            self._memory.recall_wished(
                turn_input.text, subject=turn_input.peer, context_options=context_options
            ),
            toolbox.list(),
            self._token_counters.count_for(self.model.name),
        )
        # Before anything is stored: options that cannot be met leave no trace.
        tools = offered_tools(specs, tool_options)
        # Also without memory in the context: what is said is stored, and so is what it changes.
        attempt.comparison = comparison = await self._compared(conversation, turn_input)
        recalled = await self._revised(recalled, comparison)
        available = ContextSources(
            history=tuple(conversation.messages) if context_options.reads_history else (),
            recalled=replace(recalled, heard=turn_input.heard, replied_to=turn_input.replied_to),
            tools=tools,
            named=tool_options.tools or (),
            chosen=tool_options.tool_choice,
        )
        built = assemble_context(context_options, available, count=count)
        attempt.question = user_message(turn_input.text, peer=turn_input.speaker)
        turn = self._turn(NoContextManagement(), toolbox)
        history = (*built.history, attempt.question)
        result = await self._run_turn(
            turn, history, built.recalled, turn_input, attempt.result, built.tools
        )
        unknown = () if is_history_known else ("memory",)
        no_tools = self._missing_tools() if tool_options.are_any_wanted else ()
        return TurnOutcome(
            question=turn_input.text,
            result=result,
            recalled=built.recalled,
            built=built,
            missing=(*unknown, *recalled.missing, *no_tools),
        )

    async def _is_known(self, conversation: Conversation, context_options: ContextOptions) -> bool:
        """True if the history from before the process start is loaded, or is not needed."""
        if not context_options.reads_history or self._memory.memory is None:
            return True
        await self._memory.load(conversation)
        return conversation.is_loaded

    async def _store_exchange(
        self, conversation: Conversation, turn_input: ChatTurnInput, outcome: TurnOutcome
    ) -> tuple[str, ...]:
        """A disk that refuses costs the exchange its place in memory, not the person the answer."""
        question = user_message(outcome.question, peer=turn_input.speaker)
        conversation.extend([question, *outcome.result.added])
        conversation.last_turn = turn_input.id
        self.preparing.work_ahead(self.strategy, conversation)
        try:
            await self._memory.observe(
                conversation,
                said=turn_input,
                question=outcome.question,
                answer=outcome.result.text,
                recalled=outcome.recalled.memories,
            )
        except StorageFailed:
            logger.exception("conversation %s: an exchange could not be stored", conversation.key)
            return ("memory",)
        return ()

    def _turn(self, strategy: ContextManagement, toolbox: CombinedToolbox) -> Turn:
        return Turn(
            self.model,
            strategy=strategy,
            system_prompt=self._system_prompt,
            toolbox=toolbox,
            limits=self._limits,
        )

    async def _run_turn(
        self,
        turn: Turn,
        history: Sequence[ContextMessage],
        recalled: RecallResult,
        turn_input: ChatTurnInput,
        result: TurnResult,
        tools: Sequence[ToolSpec],
    ) -> TurnResult:
        options = TurnOptions(
            on_delta=turn_input.on_delta,
            wishes=turn_input.wishes,
            approver=Approver(
                jid=turn_input.peer,
                turn_id=turn_input.id,
                turn_key=turn_input.key,
                ask=turn_input.ask,
                expiry_s=self._limits.approval_seconds,
                release_slot=turn_input.release_slot,
            ),
            answer_schema=turn_input.answer_schema,
            sampling=turn_input.sampling,
            tools=tools,
        )
        listening = pause_listener.set(partial(self._tell_pause, turn_input))
        try:
            return await turn.run(history, recalled, options=options, result=result)
        except (ModelError, TimeoutError) as error:
            logger.warning("conversation %s: the model failed: %s", turn_input.conversation, error)
            if isinstance(error, ModelError) and self._is_admin(turn_input):
                error.is_for_operator = True
                result.cause = str(error)
            if turn_input.answer_schema is not None:
                raise Failure(_apology(error)) from error
            if turn_input.context is not None or not turn_input.is_annotated:
                raise  # Who decides so much decides, too, what to do without an answer.
            result.close_as(_apology(error))
            result.is_apology = True
            result.failure = error.code if isinstance(error, ModelError) else ModelError.code
            return result
        finally:
            pause_listener.reset(listening)

    def _is_admin(self, turn_input: ChatTurnInput) -> bool:
        """True if the asker runs the assistant, and alone reads the answer."""
        is_private = not (turn_input.message.said.room or turn_input.is_forwarded)
        return is_private and turn_input.peer in self._admins

    async def _tell_pause(self, turn_input: ChatTurnInput, pause_s: float) -> None:
        """Tell the person that the model's server asks for a pause, which the turn waits for."""
        self._paused_until = max(self._paused_until, time.monotonic() + pause_s)
        if turn_input.tell is None:
            return  # A program: the agent's status says it.
        with suppress(RequestError):
            await turn_input.tell(_PAUSE.format(describe_seconds(pause_s)))

    def status_notes(self) -> list[str]:
        """Notes for the agent's status."""
        left_s = self._paused_until - time.monotonic()
        return [_PAUSE.format(describe_seconds(left_s))] if left_s > 0 else []

    def _toolbox_of_turn(self, turn_input: ChatTurnInput) -> CombinedToolbox:
        """Toolbox of a turn; without memory tools if its message is not to be remembered."""
        if is_off_the_record(turn_input.text):
            return CombinedToolbox([self.shared_tools])
        return self.toolbox_of(turn_input.peer, turn_input.kept_in, said_at=turn_input.at)

    def toolbox_of(
        self, peer: str, conversation: str | None = None, *, said_at: datetime | None = None
    ) -> CombinedToolbox:
        """Toolbox for this bare JID's turns; memories stored by its tools belong to the
        conversation, and hold since `said_at`."""
        if self._memory.memory is None:
            return CombinedToolbox([self.shared_tools])
        own = MemoryToolbox(
            self._memory.memory,
            self._memory_offer,
            subject=peer,
            session=conversation,
            said_at=said_at,
        )
        return CombinedToolbox([own, self.shared_tools])

    def _missing_tools(self) -> tuple[str, ...]:
        return ("tools",) if self.shared_tools.unavailable else ()

    async def _status(self, _argument: str, _turn_input: ChatTurnInput) -> str:
        away, tools = await asyncio.gather(self._memory.away(), self.shared_tools.list())
        missing = [*away, *self._missing_tools()]
        return (
            f"Model: {self.model.name}. Conversations open: {len(self.conversations)}."
            f" Tools: {', '.join(tool.name for tool in tools) or 'none'}."
            f" {'Not reachable: ' + ', '.join(missing) if missing else 'Everything is reachable'}."
        )


@dataclass(slots=True)
class _TurnAttempt:
    """Progress of a turn, used if it ends without an outcome."""

    comparison: Comparison | None = None
    """Changes and statements of the message; None: it was not compared."""
    question: UserMessage | None = None
    """Question of the turn; None: the turn has not begun."""
    result: TurnResult = field(default_factory=TurnResult)

    def leave_in(self, conversation: Conversation, turn_id: str) -> None:
        """Store the question and the tool calls of a failed turn, so that the model reads them in
        the next one. The model's text is dropped: no guardrail has checked it."""
        if self.question is not None:
            self.result.stop()
            conversation.extend([self.question, *map(without_text, self.result.added)])
            conversation.last_turn = turn_id


async def _nothing_to_stop(_argument: str, _turn_input: ChatTurnInput) -> str:
    """Reply to /stop when nothing is running; otherwise chat/service.py stops the turn."""
    return NOTHING_TO_STOP


def _said_before(conversation: Conversation, turn_input: ChatTurnInput) -> tuple[str, ...]:
    """The latest messages of the person in the conversation, oldest first. In a room, those of
    other occupants are not this one's."""
    name = safe_name(turn_input.speaker)
    # From the end: a conversation may hold thousands of messages.
    own = (
        one["content"]
        for one in reversed(conversation.messages)
        if one["role"] == "user" and one.get("name") == name
    )
    return (*islice(own, MAX_EARLIER_MESSAGES),)[::-1]


def _search_text(conversation: Conversation, turn_input: ChatTurnInput) -> str:
    """The text that memory and documents are searched for: a question with what its pronouns mean
    (`how much was it before?`), as far as the conversation is in RAM."""
    text = turn_input.text
    return with_asked(text, _said_before(conversation, turn_input)) if is_question(text) else text


def _reply(outcome: TurnOutcome, missing: tuple[str, ...], turn_input: ChatTurnInput) -> ChatReply:
    result = outcome.result
    text = result.text if outcome.said is None else outcome.said
    if result.cause and outcome.said is None:
        text += f"\n\n(You run this assistant. The cause: {result.cause})"
    if missing and turn_input.is_annotated and not (result.is_formed or turn_input.context):
        text += f"\n\n({_missing_note(missing, language_of(turn_input.text))})"
    return ChatReply(
        text=text,
        sources=tuple(citation_label(found.chunk) for found in outcome.recalled.passages),
        missing=missing,
        prompt_tokens=result.usage.prompt_tokens,
        completion_tokens=result.usage.completion_tokens,
        tool_calls=tuple(map(_tool_use, result.called)),
        routed_to=outcome.routed_to,
        steps=tuple(_steps(result)),
        context=_context_of(outcome.built, turn_input),
        is_for_asker=outcome.is_for_asker,
        finish=result.finish,
        failure=result.failure,
        fallback=result.fallback,
    )


def _steps(result: TurnResult) -> Iterator[ToolRoundReport]:
    """Each message with calls is a round."""
    wishing = (one for one in result.added if one["role"] == "assistant" and one.get("tool_calls"))
    for number, message in enumerate(wishing, 1):
        yield ToolRoundReport(
            round=number,
            text=str(message["content"] or "")[:MAX_REPLIED_CHARS],
            tools=tuple(one.name for one in result.called if one.round == number),
        )


def _context_of(built: AssembledContext | None, turn_input: ChatTurnInput) -> BuiltContext | None:
    """Context report for a reply, empty without a model call; None: no context options."""
    if turn_input.context is None:
        return None
    built = built or AssembledContext()
    sources = (_source(one, asker=turn_input.peer) for one in built.recalled.passages)
    return BuiltContext(text=built.text, tokens=built.tokens, sources=tuple(sources))


def _source(found: ScoredChunk, *, asker: str) -> AnswerSource:
    chunk = found.chunk
    return AnswerSource(
        content=chunk.text,
        source=chunk.source,
        namespace=chunk.namespace.removeprefix(f"{asker}/"),
        chunk_index=chunk.index,
        score=min(max(found.score, 0.0), 1.0),
        page=chunk.page,
        heading=chunk.heading,
    )


def _tool_use(called: ExecutedToolCall) -> ToolCallReport:
    result = called.result[:MAX_REPLIED_CHARS]
    return ToolCallReport(
        id=called.id,
        name=called.name,
        arguments=called.arguments[:MAX_REPLIED_CHARS],
        success=called.is_success,
        result=result if called.is_success else "",
        error="" if called.is_success else result,
        round=called.round,
        seconds=called.seconds,
    )


def _missing_note(missing: Sequence[str], language: str) -> str:
    if language == "es":
        names = join_words([_SPANISH_NAMES.get(name, name) for name in missing], "y")
        return f"Respondido sin {names}: no se puede contactar ahora."
    return f"Answered without {join_words(missing, 'and')}: not reachable now."


def _apology(error: ModelError | TimeoutError) -> str:
    match error:
        case RateLimited():
            wait = "a minute" if error.retry_after is None else describe_seconds(error.retry_after)
            return f"My language model has too many requests. Please try again in {wait}."
        case ContextTooLong():
            return "Our conversation has become too long for my model. /new begins a new one."
        case _:
            return "Sorry, my language model is not answering right now. Please try again."
