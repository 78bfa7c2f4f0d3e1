"""MemoryAgent: memories and conversations for every agent that asks, each seeing its own; and for
every person who writes, what is remembered about them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spade_llm.agent.menus import offer_own_memories_menus
from spade_llm.behaviour.sending_files import SendingFiles, export_name
from spade_llm.conversation.own_memories import OwnMemories, read_wish
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.learning.learner import Learner
from spade_llm.memory.sqlite.upkeep import Upkeep
from spade_llm.services import status
from spade_llm.services.chat import ChatService, Reply
from spade_llm.services.memory import MemoryService
from spade_llm.services.memory_forgetting import ENTRY_SUBJECT
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.encryption_hint import EncryptionHint
from spade_llm.xmpp.sent_file import send_file

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from spade_llm.providers.embedder import Embedder
    from spade_llm.providers.model import ChatModel
    from spade_llm.services.chat import Utterance


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
        self._learning = _described(learning_model) if learns else "off"
        self._learner = Learner(self._backend.learning(), self._backend, model=learning_model)
        self._own_memories = OwnMemories(self._backend)
        service = MemoryService(self._backend, on_observed=self._learner.wake)
        service.attach(self.node.dispatcher)
        self._sending = SendingFiles(
            partial(send_file, self),
            long_answer_chars=0,
            name_of=lambda text: export_name(read_wish(text).verb),
        )
        ChatService(self._answer).attach(self.node.dispatcher)
        EncryptionHint(self)
        offer_own_memories_menus(self, self._backend, self._answer_text)
        self.announce(kind="memory")
        facts = {"storage": "SQLite", "embeddings": embedder.name if embedder else ""}
        status.serve(self.node.dispatcher, kind="memory", summary=self._summary, facts=facts.copy)

    async def open_resources(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self._backend)
        await stack.enter_async_context(Upkeep(self._backend))
        if self._learns:
            await stack.enter_async_context(self._learner)

    async def _answer(self, utterance: Utterance) -> Reply:
        return await self._sending.answer(utterance, self._answer_person)

    async def _answer_person(self, utterance: Utterance) -> Reply:
        return Reply(text=await self._answer_text(utterance.text, utterance.peer))

    async def _answer_text(self, text: str, peer: str) -> str:
        answer = await self._own_memories.answer(text, subject=peer)
        if read_wish(text).verb in ("correct", "forget", "learn"):
            await self.node.dispatcher.scrub(ENTRY_SUBJECT, [peer])
        return answer

    async def _summary(self) -> str:
        return (
            f"SQLite, search by words and embeddings {self._embeddings}, learning {self._learning}"
        )


def _described(model: ChatModel | None) -> str:
    return f"with {model.name}" if model else "by rules"
