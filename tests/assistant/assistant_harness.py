"""An assistant's mind on an in-memory network: chat service, layers and turns, without XMPP."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.service import ChatService
from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer
from spade_llm.context import NoContextManagement
from spade_llm.messaging.outgoing_messages import OutgoingMessages
from tests.messaging.node_harness import Member

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from spade_llm.assistant.turn.turn import TurnMiddleware
    from spade_llm.messaging import InMemoryNetwork
    from spade_llm.providers.model import ChatModel
    from spade_llm.tools.toolbox import Toolbox


@dataclass
class Mind:
    network: InMemoryNetwork
    jid: str
    model: ChatModel
    limits: TurnLimits = field(default_factory=TurnLimits)

    def __post_init__(self) -> None:
        self.member = Member(network=self.network, jid=self.jid)
        self.letters = OutgoingMessages(self.member.node)
        self.errands: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self.errands.add(task)
        task.add_done_callback(self.errands.discard)

    def think(
        self, *, layers: Sequence[TurnMiddleware] = (), toolboxes: Sequence[Toolbox] = ()
    ) -> Mind:
        memory = MemoryBehaviour(memory=None, retriever=None, outbox=MemoryOutbox(None))
        self.behaviour = LLMBehaviour(
            self.model,
            strategy=NoContextManagement(),
            system_prompt="Be",
            memory=memory,
            memory_offer=MemoryOffer(owner=self.jid),
            toolboxes=toolboxes,
            limits=self.limits,
            layers=layers,
        )
        self.chat = ChatService(self.behaviour.answer)
        self.chat.attach(self.member.node.dispatcher)
        return self
