"""What an owner lets go of by itself, of `spade-llm.memory/1`: bodies, handlers and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.memory.store import DecayPolicy, DecayStatus
from spade_llm.runtime import Effect
from spade_llm.services.memory_body import Ids, MemoryBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.acl import Body
    from spade_llm.runtime import Request
    from spade_llm.services.memory_body import StoreOf
    from spade_llm.services.service import Peer, Service


class ConfigureDecay(MemoryBody):
    op: ClassVar[str] = "configure_decay"
    policy: DecayPolicy


class RunDecay(MemoryBody):
    op: ClassVar[str] = "run_decay"
    dry_run: bool = True


class AskDecayStatus(MemoryBody):
    op: ClassVar[str] = "decay_status"


class Decay(MemoryBody):
    status: DecayStatus


class DecayService:
    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: Service) -> None:
        service.on(ConfigureDecay, self._configure, effect=Effect.WRITE)
        service.on(RunDecay, self._run, effect=Effect.WRITE)
        service.on(AskDecayStatus, self._status)

    async def _configure(self, request: Request, body: ConfigureDecay) -> Decay:
        return Decay(status=await self._store(request).configure_decay(body.policy))

    async def _run(self, request: Request, body: RunDecay) -> Body:
        ids = await self._store(request).run_decay(dry_run=body.dry_run)
        return fitting(ids, lambda some: Ids(ids=tuple(some), total=len(ids)))

    async def _status(self, request: Request, _body: AskDecayStatus) -> Decay:
        return Decay(status=await self._store(request).decay_status())


class DecayClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def configure_decay(self, policy: DecayPolicy) -> DecayStatus:
        return (await self._peer.ask(ConfigureDecay(policy=policy), Decay)).status

    async def run_decay(self, *, dry_run: bool = True) -> Sequence[str]:
        """As many ids as fit into one answer (about 3000); `decay_status` says how many it were."""
        return (await self._peer.ask(RunDecay(dry_run=dry_run), Ids)).ids

    async def decay_status(self) -> DecayStatus:
        return (await self._peer.ask(AskDecayStatus(), Decay)).status
