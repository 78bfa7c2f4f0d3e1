"""What an assistant knows of its turns: their cost, their limits, what answers were built from.

Composition only.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spade_llm.behaviour.quota import Quota
from spade_llm.behaviour.usage_command import UsageCommand
from spade_llm.behaviour.watching import Watching
from spade_llm.behaviour.why_command import NOTHING, WhyCommand
from spade_llm.conversation.circles import no_groups
from spade_llm.conversation.peer_limits import NO_CROWD_LIMITS
from spade_llm.conversation.recorder import Recorder, recording
from spade_llm.conversation.usage_ledger import FILES, UsageLedger
from spade_llm.errors import NotFound
from spade_llm.services.chat_reports import ReportService, Why

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from spade_llm.behaviour.commands import Commands
    from spade_llm.behaviour.layers import Layer
    from spade_llm.behaviour.memory import MemoryBehaviour
    from spade_llm.behaviour.why_command import ReactionLine
    from spade_llm.conversation.circles import GroupsOf
    from spade_llm.conversation.peer_limits import CrowdLimits, PeerLimits
    from spade_llm.services.service import Service


class TurnWatch:
    def __init__(
        self,
        data: Path | None,
        name: str,
        *,
        limits: PeerLimits,
        crowd: CrowdLimits = NO_CROWD_LIMITS,
        groups_of: GroupsOf = no_groups,
    ) -> None:
        file = FILES.replace("*", name)
        self.ledger = UsageLedger(data / file if data else None)
        self._limits = limits
        self._crowd = crowd
        self._groups_of = groups_of
        self._watching = Watching(self.ledger)

    @property
    def layers(self) -> list[Layer]:
        """Around everything else: what is refused is not watched."""
        if self._limits.are_none and self._crowd.are_none:
            return [self._watching]
        quota = Quota(self.ledger, self._limits, crowd=self._crowd)
        return [quota, self._watching]

    def billing(self, peer: str) -> AbstractContextManager[None]:
        """Around what is done for this peer between its turns."""
        groups = self._groups_of(peer)
        return recording(Recorder(self.ledger, peer=peer, groups=groups, is_turn=False))

    def attach(
        self,
        commands: Commands,
        service: Service,
        memory: MemoryBehaviour,
        *,
        reaction: ReactionLine | None = None,
    ) -> None:
        memory.on_clear.append(self._watching.forget)
        memory.on_forget.append(self._watching.forget_peer)
        why = WhyCommand(self._watching, memory, reaction=reaction)
        why.add_to(commands)
        UsageCommand(self.ledger, self._limits).add_to(commands)
        reports = ReportService(
            usage=lambda peer, days: self.ledger.of_peer(peer, days=days),
            limits=self._limits,
            why=partial(self._explained, why),
        )
        reports.add_to(service)

    async def _explained(self, why: WhyCommand, conversation: str) -> Why:
        record = self._watching.last(conversation)
        if record is None:
            raise NotFound(NOTHING)
        return Why(record=record, texts=dict(await why.texts(record)))
