"""An assistant with its watch around, without a network."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.messages import ONTOLOGY
from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.middleware.quota import (
    NO_GROUP_QUOTAS,
    NO_QUOTA,
    GroupQuotas,
    PeerQuota,
    QuotaGroupsOf,
    no_quota_groups,
)
from spade_llm.assistant.middleware.usage_ledger import UsageTracking
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer
from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
from spade_llm.context import NoContextManagement
from spade_llm.messaging.rpc import RpcService
from tests.assistant.turn.test_turn_failures import an_utterance

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from spade_llm.assistant.turn.turn import TurnMiddleware
    from spade_llm.memory.contract import OwnedMemory
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.contract import Retriever
    from spade_llm.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    behaviour: LLMBehaviour
    watch: UsageTracking
    groups_of: QuotaGroupsOf

    async def say(self, text: str, *, peer: str = "you@x", thread: str = "") -> str:
        turn_input = replace(
            an_utterance(text, peer=peer),
            conversation=f"{peer}#{thread}",
            quota_groups=self.groups_of(peer),
        )
        return (await self.behaviour.answer(turn_input)).text


@asynccontextmanager
async def a_watched_assistant(
    model: ChatModel,
    *,
    limits: PeerQuota = NO_QUOTA,
    crowd: GroupQuotas = NO_GROUP_QUOTAS,
    groups_of: QuotaGroupsOf = no_quota_groups,
    memory: OwnedMemory | None = None,
    retriever: Retriever | None = None,
    toolboxes: Sequence[Toolbox] = (),
    layers: Sequence[TurnMiddleware] = (),
    data: Path | None = None,
) -> AsyncIterator[Watched]:
    watch = UsageTracking(
        data / "usage-a.db" if data else None, limits=limits, crowd=crowd, groups_of=groups_of
    )
    async with MemoryOutbox(None) as outbox, watch.ledger:
        remembering = MemoryBehaviour(memory=memory, retriever=retriever, outbox=outbox)
        behaviour = LLMBehaviour(
            InstrumentedModel(model),
            strategy=NoContextManagement(),
            system_prompt="Be",
            memory=remembering,
            memory_offer=MemoryOffer(owner="a@x"),
            toolboxes=toolboxes,
            limits=TurnLimits(),
            layers=[*watch.layers, *layers],
        )
        watch.attach(behaviour.commands, RpcService(ONTOLOGY), remembering)
        yield Watched(behaviour=behaviour, watch=watch, groups_of=groups_of)
