"""Memory agent: serves memories and conversations to agents, and personal memory to people."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.service import ChatReply, ChatService
from spade_llm.assistant.commands.adhoc_menus import offer_personal_memory_menu
from spade_llm.assistant.commands.personal_memory import (
    PersonalMemoryCommands,
    parse_personal_command,
)
from spade_llm.assistant.presentation.reply_presenter import LongAnswerSender, export_name
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.learning.learner import Learner
from spade_llm.memory.remote import MemoryService
from spade_llm.memory.remote_endpoint import ENTRY_SUBJECT
from spade_llm.memory.sqlite.maintenance import DailyPurge
from spade_llm.messaging import agent_status
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.features.encryption_hint import EncryptionHint
from spade_llm.xmpp.features.uploads import send_file

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.providers.embedder import Embedder
    from spade_llm.providers.model import ChatModel


class MemoryAgent(XmppAgent):
    """`embedder=None`: keywords only, and every answer says so.

    `learns`: conversations become episodes and facts, with `learning_model` or by rules alone.
    """

    def __init__(
        self,
        jid: str,
        password: str,
        *,
        embedder: Embedder | None = None,
        learns: bool = True,
        learning_model: ChatModel | None = None,
        options: AgentOptions | None = None,
    ) -> None:
        super().__init__(jid, password, options=options)
        data = self.options.data
        self._backend = SQLiteMemoryBackend(
            data / "memory.db" if data else ":memory:", embedder=embedder, is_learned_from=learns
        )
        self._embeddings = embedder.name if embedder else "none (keywords only)"
        self._learns = learns
        by = f"with {learning_model.name}" if learning_model else "by rules"
        self._learning = by if learns else "off"
        self._learner = Learner(self._backend.learning(), self._backend, model=learning_model)
        self._own_memories = PersonalMemoryCommands(self._backend)
        service = MemoryService(self._backend, on_observed=self._learner.wake)
        service.attach(self.node.dispatcher)
        self._sending = LongAnswerSender(
            partial(send_file, self),
            long_answer_chars=0,
            name_of=lambda text: export_name(parse_personal_command(text).verb),
        )
        ChatService(self._answer).attach(self.node.dispatcher)
        EncryptionHint(self)
        offer_personal_memory_menu(self, self._backend, self._answer_text)
        self.announce(kind="memory")
        facts = {"storage": "SQLite", "embeddings": embedder.name if embedder else ""}
        agent_status.serve_status(
            self.node.dispatcher, kind="memory", summary=self._summary, facts=facts.copy
        )

    async def open_resources(self, stack: AsyncExitStack) -> None:
        # First in, last out: purge and learner use it until they have ended.
        await stack.enter_async_context(self._backend)
        await stack.enter_async_context(DailyPurge(self._backend))
        if self._learns:
            await stack.enter_async_context(self._learner)

    async def _answer(self, turn_input: ChatTurnInput) -> ChatReply:
        return await self._sending.answer(turn_input, self._answer_person)

    async def _answer_person(self, turn_input: ChatTurnInput) -> ChatReply:
        return ChatReply(text=await self._answer_text(turn_input.text, turn_input.peer))

    async def _answer_text(self, text: str, peer: str) -> str:
        answer = await self._own_memories.answer(text, subject=peer)
        # Answers to agents are remembered for repeated requests, and may quote what was changed.
        if parse_personal_command(text).verb in ("correct", "forget", "learn"):
            await self.node.dispatcher.scrub(ENTRY_SUBJECT, [peer])
        return answer

    async def _summary(self) -> str:
        return (
            f"SQLite, search by words and embeddings {self._embeddings}, learning {self._learning}"
        )
