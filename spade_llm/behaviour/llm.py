"""LLMBehaviour: what an assistant does with each thing that is said to it. Knows no stanza.

command? → done. Otherwise: recall ∥ retrieve → turn (model ↔ tools) → observe → reply.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.conversation.chosen import choose
from spade_llm.conversation.commands import HELP, Command, parse_command
from spade_llm.conversation.history import Conversations
from spade_llm.conversation.memory_numbers import numbered_line, with_number
from spade_llm.conversation.memory_toolbox import MemoryToolbox
from spade_llm.conversation.prompt import citation, user_message
from spade_llm.conversation.tool_calls import Person
from spade_llm.conversation.turn import Turn, TurnLimits, TurnResult
from spade_llm.conversation.wishes import offered
from spade_llm.errors import (
    ContextTooLong,
    ModelError,
    RateLimited,
    RequestError,
    ServiceError,
    StorageFailed,
)
from spade_llm.memory.store import MemoryFilter, MemoryQuery
from spade_llm.services.chat import Reply, ToolUse, Utterance
from spade_llm.tools.combined import CombinedToolbox
from spade_llm.xmpp.behaviour import Behaviour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.behaviour.memory import MemoryBehaviour
    from spade_llm.context import ContextManagement
    from spade_llm.conversation.history import Conversation
    from spade_llm.conversation.memory_toolbox import MemoryOffer
    from spade_llm.conversation.recall import Recalled
    from spade_llm.conversation.tool_calls import CalledTool
    from spade_llm.providers.model import ChatModel
    from spade_llm.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)

LISTED_MEMORIES = 20
FORGETTABLE = 1000
"""Of a person's memories, newest first, those that /forget NUMBER can mean."""
IDLE_S = 3600.0
MAX_REPLIED_CHARS = 1000
"""Of the arguments and of the result of one call, as programs get them beside the answer."""
LIST_DEADLINE_S = 2.0
"""For the listing of shared tools, as for recall: a turn does not wait longer for who is away."""


class LLMBehaviour(Behaviour):
    """Holds the conversations; each `answer` is one turn."""

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
    ) -> None:
        """`toolboxes`: shared by all conversations; `shared_tools` has them, and may change."""
        super().__init__()
        self.model = model
        self.strategy = strategy
        self.conversations = Conversations()
        self._system_prompt = system_prompt
        self._memory = memory
        self._memory_offer = memory_offer
        self.shared_tools = CombinedToolbox(toolboxes, list_timeout_s=LIST_DEADLINE_S)
        self._limits = limits

    async def run(self) -> None:
        """Turns begin with messages (services/chat.py); there is nothing to do between them."""
        await asyncio.sleep(IDLE_S)

    async def answer(self, utterance: Utterance) -> Reply:
        """One reply to one thing said. A model that fails costs a polite sentence, no more."""
        if command := parse_command(utterance.text):
            return Reply(text=await self._obey(command, utterance))
        toolbox = self._toolbox(utterance.peer)
        conversation = self.conversations.get(utterance.conversation, peer=utterance.peer)
        _, recalled, specs = await asyncio.gather(
            self._memory.load(conversation),
            self._memory.recall(utterance.text, subject=utterance.peer),
            toolbox.list(),
        )
        offered(specs, utterance.wishes)  # A wish that cannot be met leaves no trace.
        conversation.extend([user_message(utterance.text, peer=utterance.peer)])
        recalled = self._chosen(conversation, recalled)
        result, missing_tools = await self._turn(conversation, recalled, utterance, toolbox)
        conversation.extend(result.added)
        unkept = await self._keep(conversation, utterance, recalled, result)
        missing = dict.fromkeys([*recalled.missing, *missing_tools, *unkept])
        return _reply(result, recalled, tuple(missing))

    def _chosen(self, conversation: Conversation, recalled: Recalled) -> Recalled:
        """What fits, and is not in the part of the conversation that the model reads anyway."""
        read = self.strategy.apply_context_strategy(list(conversation.messages), None)
        said = {str(message["content"]) for message in read}
        chosen = choose(recalled.memories, said=said, tokens=self._limits.recall_tokens)
        return replace(recalled, memories=chosen)

    async def _keep(
        self,
        conversation: Conversation,
        utterance: Utterance,
        recalled: Recalled,
        result: TurnResult,
    ) -> tuple[str, ...]:
        """A disk that refuses costs the exchange its place in memory, not the person the answer."""
        try:
            await self._memory.observe(
                conversation,
                turn_id=utterance.id,
                question=utterance.text,
                answer=result.text,
                recalled=recalled.memories,
            )
        except StorageFailed:
            logger.exception("conversation %s: an exchange was not kept", conversation.key)
            return ("memory",)
        return ()

    async def _turn(
        self,
        conversation: Conversation,
        recalled: Recalled,
        utterance: Utterance,
        toolbox: CombinedToolbox,
    ) -> tuple[TurnResult, tuple[str, ...]]:
        turn = Turn(
            self.model,
            strategy=self.strategy,
            system_prompt=self._system_prompt,
            toolbox=toolbox,
            limits=self._limits,
        )
        try:
            history = tuple(conversation.messages)
            result = await turn.run(
                history,
                recalled,
                on_delta=utterance.on_delta,
                wishes=utterance.wishes,
                person=self._person(utterance),
            )
        except (ModelError, TimeoutError) as error:
            logger.warning("conversation %s: the model failed: %s", conversation.key, error)
            result = _apology(error)
        return result, self._missing_tools()

    def _person(self, utterance: Utterance) -> Person:
        return Person(
            jid=utterance.peer,
            turn_id=utterance.id,
            ask=utterance.ask,
            expiry_s=self._limits.approval_seconds,
        )

    def _toolbox(self, peer: str) -> CombinedToolbox:
        if self._memory.memory is None:
            return CombinedToolbox([self.shared_tools])
        own = MemoryToolbox(self._memory.memory, self._memory_offer, subject=peer)
        return CombinedToolbox([own, self.shared_tools])

    def _missing_tools(self) -> tuple[str, ...]:
        return ("tools",) if self.shared_tools.missing else ()

    async def _obey(self, command: Command, utterance: Utterance) -> str:
        try:
            match command.name:
                case "new":
                    return await self._begin_anew(utterance)
                case "status":
                    return await self._status()
                case "memories":
                    return await self._list_memories(command.argument, utterance.peer)
                case "forget":
                    return await self._forget(command.argument, utterance)
                case _:
                    return HELP
        except (RequestError, ServiceError) as error:
            logger.warning("/%s for %s: %s", command.name, utterance.peer, error)
            return "My memory cannot be reached right now. Please try again in a moment."

    async def _begin_anew(self, utterance: Utterance) -> str:
        self.conversations.drop(utterance.conversation)
        if self._memory.memory is not None:
            await self._memory.memory.close_conversation(utterance.conversation)
        return "A new conversation. What I remember about you stays; /forget all removes it."

    async def _status(self) -> str:
        away, tools = await asyncio.gather(self._memory.away(), self.shared_tools.list())
        missing = [*away, *self._missing_tools()]
        return (
            f"Model: {self.model.name}. Conversations open: {len(self.conversations)}."
            f" Tools: {', '.join(tool.name for tool in tools) or 'none'}."
            f" {'Not reachable: ' + ', '.join(missing) if missing else 'Everything is reachable'}."
        )

    async def _list_memories(self, words: str, peer: str) -> str:
        if self._memory.memory is None:
            return "I have no memory agent."
        about = MemoryFilter(subject=peer)
        if words:
            query = MemoryQuery(text=words, which=about, limit=LISTED_MEMORIES)
            entries = [hit.entry for hit in (await self._memory.memory.search(query)).hits]
        else:
            page = await self._memory.memory.list(about, limit=LISTED_MEMORIES)
            entries = list(page.entries)
        if not entries:
            return "I remember nothing about you" + (" with these words." if words else ".")
        lines = map(numbered_line, entries)
        return "\n".join(["What I remember about you:", *lines, "/forget NUMBER forgets one."])

    async def _forget(self, argument: str, utterance: Utterance) -> str:
        if argument.lower() == "all":
            return await self._forget_all(utterance)
        if self._memory.memory is None or not argument:
            return "Write /forget NUMBER (from /memories), or /forget all."
        about = MemoryFilter(subject=utterance.peer)
        page = await self._memory.memory.list(about, limit=FORGETTABLE)
        entry = with_number(page.entries, argument)
        if entry is None:
            return f"There is no single memory {argument!r}: /memories lists them."
        await self._memory.memory.forget([entry.id], subject=utterance.peer)
        return "Forgotten."

    async def _forget_all(self, utterance: Utterance) -> str:
        self.conversations.drop_peer(utterance.peer)
        count = await self._memory.forget_peer(utterance.peer)
        return f"Forgotten: {count} memories and our conversations."


def _reply(result: TurnResult, recalled: Recalled, missing: tuple[str, ...]) -> Reply:
    return Reply(
        text=result.text + _note(missing),
        sources=tuple(citation(found) for found in recalled.passages),
        missing=missing,
        prompt_tokens=result.usage.prompt_tokens,
        completion_tokens=result.usage.completion_tokens,
        tool_calls=tuple(map(_tool_use, result.called)),
    )


def _tool_use(called: CalledTool) -> ToolUse:
    result = called.result[:MAX_REPLIED_CHARS]
    return ToolUse(
        id=called.id,
        name=called.name,
        arguments=called.arguments[:MAX_REPLIED_CHARS],
        success=called.is_success,
        result=result if called.is_success else "",
        error="" if called.is_success else result,
        round=called.round,
        seconds=called.seconds,
    )


def _note(missing: tuple[str, ...]) -> str:
    return f"\n\n(Answered without {' and '.join(missing)}: not reachable now.)" if missing else ""


def _apology(error: ModelError | TimeoutError) -> TurnResult:
    match error:
        case RateLimited():
            text = "I am being asked too much right now. Please try again in a minute."
        case ContextTooLong():
            text = "Our conversation has become too long for my model. /new begins a new one."
        case _:
            text = "Sorry, my language model is not answering right now. Please try again."
    return TurnResult(text=text, added=[{"role": "assistant", "content": text}])
