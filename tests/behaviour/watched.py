"""An assistant with its watch around, without a network."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.agent.turn_watch import TurnWatch
from spade_llm.behaviour.llm import LLMBehaviour
from spade_llm.behaviour.memory import MemoryBehaviour
from spade_llm.context import NoContextManagement
from spade_llm.conversation.circles import GroupsOf, no_groups
from spade_llm.conversation.memory_toolbox import MemoryOffer
from spade_llm.conversation.outbox import Outbox
from spade_llm.conversation.peer_limits import (
    NO_CROWD_LIMITS,
    NO_LIMITS,
    CrowdLimits,
    PeerLimits,
)
from spade_llm.conversation.turn import TurnLimits
from spade_llm.conversation.watched_model import WatchedModel
from spade_llm.services.chat import ONTOLOGY
from spade_llm.services.service import Service
from tests.behaviour.test_llm import an_utterance

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from spade_llm.behaviour.layers import Layer
    from spade_llm.memory.backend import OwnedMemory
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.retriever import Retriever
    from spade_llm.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    behaviour: LLMBehaviour
    watch: TurnWatch
    groups_of: GroupsOf

    async def say(self, text: str, *, peer: str = "you@x", thread: str = "") -> str:
        utterance = replace(
            an_utterance(text, peer=peer),
            conversation=f"{peer}#{thread}",
            quota_groups=self.groups_of(peer),
        )
        return (await self.behaviour.answer(utterance)).text


@asynccontextmanager
async def a_watched_assistant(
    model: ChatModel,
    *,
    limits: PeerLimits = NO_LIMITS,
    crowd: CrowdLimits = NO_CROWD_LIMITS,
    groups_of: GroupsOf = no_groups,
    memory: OwnedMemory | None = None,
    retriever: Retriever | None = None,
    toolboxes: Sequence[Toolbox] = (),
    layers: Sequence[Layer] = (),
    data: Path | None = None,
) -> AsyncIterator[Watched]:
    watch = TurnWatch(data, "a", limits=limits, crowd=crowd, groups_of=groups_of)
    async with Outbox(None) as outbox, watch.ledger:
        remembering = MemoryBehaviour(memory=memory, retriever=retriever, outbox=outbox)
        behaviour = LLMBehaviour(
            WatchedModel(model),
            strategy=NoContextManagement(),
            system_prompt="Be",
            memory=remembering,
            memory_offer=MemoryOffer(owner="a@x"),
            toolboxes=toolboxes,
            limits=TurnLimits(),
            layers=[*watch.layers, *layers],
        )
        watch.attach(behaviour.commands, Service(ONTOLOGY), remembering)
        yield Watched(behaviour=behaviour, watch=watch, groups_of=groups_of)
