"""Agents behind the gateway: addresses, clients per principal (LRU), model names, liveness.

The XMPP server queues messages to an agent that has died. Without the liveness checks a long
request would wait for its whole deadline (minutes) before the HTTP client gets an answer.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.history.remote_sessions import CallerSessions, SessionsClient
from spade_llm.core.concurrency import next_or_none
from spade_llm.core.errors import Interrupted, PeerUnavailable, RequestError, RequestFailed
from spade_llm.core.limits import LruDict
from spade_llm.messaging import AclMessage, PrincipalRequester, RequestSender
from spade_llm.messaging.agent_status import AgentStatus, ask_status
from spade_llm.rag.remote import RagClient
from spade_llm.tools.remote import ToolsClient

if TYPE_CHECKING:
    from spade_llm.messaging.requester import OutgoingRequest

SHUTTING_DOWN = "The gateway is stopping; try again in a few seconds."
MAX_PRINCIPALS = 1000
"""Maximum number of principals with cached clients (LRU); clients hold no state that matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAddresses:
    """Bare JIDs of the agents behind a gateway."""

    assistants: tuple[str, ...]
    """Bare JIDs, at least one; /llm/chat uses the first."""
    memory: str | None = None
    rag: str | None = None
    tools: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        some = (self.memory, self.rag)
        return (*self.assistants, *(one for one in some if one), *self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentClients:
    """Clients of the agents; each request is made on behalf of one principal."""

    chats: dict[str, ChatClient]
    """Chat clients, keyed by the assistant's bare JID, in the order of AgentAddresses."""
    sessions_of: dict[str, CallerSessions]
    """Session clients, with the same keys in the same order."""
    rag: RagClient | None
    tools: tuple[ToolsClient, ...]

    @property
    def chat(self) -> ChatClient:
        return next(iter(self.chats.values()))

    @property
    def sessions(self) -> CallerSessions:
        """Session client of the first assistant."""
        return next(iter(self.sessions_of.values()))


class Network:
    """Cache of the clients of each principal (LRU)."""

    def __init__(self, requester: RequestSender, addresses: AgentAddresses) -> None:
        self.addresses = addresses
        self._requester = requester
        self._clients: LruDict[str, AgentClients] = LruDict(MAX_PRINCIPALS)

    def clients_for(self, principal: str) -> AgentClients:
        """Clients of a principal (a bare JID), from the cache or new; sends no request."""
        clients = self._clients.get(principal) or self._create_clients(principal)
        # Set again also from the cache: reading does not count as use in an LruDict.
        self._clients[principal] = clients
        return clients

    def _create_clients(self, principal: str) -> AgentClients:
        ask, to = PrincipalRequester(self._requester, principal), self.addresses
        return AgentClients(
            chats={jid: ChatClient(ask, jid) for jid in to.assistants},
            sessions_of={jid: SessionsClient(ask, jid) for jid in to.assistants},
            rag=RagClient(ask, to.rag) if to.rag else None,
            tools=tuple(ToolsClient(ask, jid) for jid in to.tools),
        )


def jids_by_model(addresses: AgentAddresses) -> Mapping[str, str]:
    """Bare JIDs of the assistants, keyed by model name, in their order. The name is the JID's local
    part, or the whole JID where assistants of two domains share it."""
    local_parts = {jid: jid.partition("@")[0] for jid in addresses.assistants}
    count = Counter(local_parts.values())
    return {name if count[name] == 1 else jid: jid for jid, name in local_parts.items()}


T = TypeVar("T")

LIVENESS_CHECK_INTERVAL_S = 2.0
"""Time in seconds without an answer after which the agent's liveness is checked, repeatedly."""
LIVENESS_TIMEOUT_S = 5.0
"""Deadline of a liveness check in seconds: an agent that does not respond by then is unavailable. A
restarted agent responds sooner."""

STATUS_TTL_S = 2.0
STATUS_TIMEOUT_S = 2.0

StatusByJid = dict[str, AgentStatus | None]
"""Status of each agent, keyed by bare JID; None if it did not respond."""


class FairYield:
    """Cooperative yielding (fair scheduling): one caller passes per iteration of the event loop.

    Reading and writing an answer takes a few milliseconds. If many answers arrive at once, other
    tasks (/health, a part of a stream) run between two of them.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def wait_turn(self) -> None:
        async with self._lock:
            await asyncio.sleep(0)


class LivenessRequester:
    """Requester whose requests fail when the agent goes down or the gateway stops. Close it
    (`aclose`) after the last request."""

    def __init__(self, requester: RequestSender) -> None:
        self._requester = requester
        self._fair_yield = FairYield()
        self._checks: dict[str, asyncio.Task[bool]] = {}
        """Running liveness checks by peer, one at a time, shared by all requests that wait."""
        self._in_flight: set[asyncio.Future[Any]] = set()
        """Requests to agents that wait for their answer; bounded by the HTTP requests in flight."""
        self._has_ended = False

    def end(self) -> None:
        """Fail all open requests to agents, and later ones: the gateway is stopping."""
        self._has_ended = True
        for working in self._in_flight:
            working.cancel()

    async def aclose(self) -> None:
        for check in self._checks.values():
            check.cancel()
        await asyncio.gather(*self._checks.values(), return_exceptions=True)

    async def ask(self, question: OutgoingRequest, *, timeout_s: float) -> AclMessage:
        """Send a request as `Requester.ask` does. Also raises PeerUnavailable if the agent goes
        down meanwhile, and RequestFailed (`interrupted`) after `end`."""
        asking = self._requester.ask(question, timeout_s=timeout_s)
        answer = await self._run_while_alive(question, asking)
        await self._fair_yield.wait_turn()
        return answer

    async def stream(
        self, question: OutgoingRequest, *, timeout_s: float
    ) -> AsyncGenerator[AclMessage]:
        """Stream responses as `Requester.stream` does; raises the same errors as `ask`."""
        answers = self._requester.stream(question, timeout_s=timeout_s)
        try:
            while (
                answer := await self._run_while_alive(question, next_or_none(answers))
            ) is not None:
                if answer.is_terminal:
                    await self._fair_yield.wait_turn()
                yield answer
        finally:
            await answers.aclose()

    async def _run_while_alive(
        self, question: OutgoingRequest, work: Coroutine[object, object, T]
    ) -> T:
        task = asyncio.ensure_future(work)
        self._in_flight.add(task)
        # A request may come between `end` and the close of its connection.
        if self._has_ended:
            task.cancel()
        try:
            # Unlike asyncio.wait_for, asyncio.wait leaves the task running when the time is over.
            await asyncio.wait([task], timeout=LIVENESS_CHECK_INTERVAL_S)
            while not task.done():
                await self._check_liveness(question, task)
                await asyncio.wait([task], timeout=LIVENESS_CHECK_INTERVAL_S)
            # Cancelled by `end`, not by our caller: its route has to word an answer.
            if self._has_ended and task.cancelled():
                raise RequestFailed(SHUTTING_DOWN, peer=question.peer, wire_code=Interrupted.code)
            return task.result()
        finally:
            self._in_flight.discard(task)
            # Wait for its end: a cancelled request tells the agent, which stops its work.
            task.cancel()
            await asyncio.wait([task])

    async def _check_liveness(self, question: OutgoingRequest, task: asyncio.Future[T]) -> None:
        """Return at once when the work is done. Raises PeerUnavailable."""
        peer = question.peer
        if (check := self._checks.get(peer)) is None:
            check = self._checks[peer] = asyncio.create_task(self._is_alive(peer))
            check.add_done_callback(lambda _: self._checks.pop(peer))
        both: set[asyncio.Future[Any]] = {check, task}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and not check.result():
            raise PeerUnavailable(
                f"no answer to a liveness check within {LIVENESS_TIMEOUT_S:.0f} s",
                peer=peer,
                conversation_id=question.conversation_id,
            )

    async def _is_alive(self, peer: str) -> bool:
        try:
            await ask_status(self._requester, peer, timeout_s=LIVENESS_TIMEOUT_S)
        except RequestError:
            return False
        return True


class AgentAvailability:
    """Cached status of the agents behind a gateway."""

    def __init__(
        self,
        requester: RequestSender,
        addresses: AgentAddresses,
        *,
        is_connected: Callable[[], bool],
    ) -> None:
        self._requester = requester
        self._addresses = addresses
        self._is_connected = is_connected
        self._statuses: StatusByJid = {}
        # Not 0: time.monotonic() may be less than STATUS_TTL_S soon after the machine's start.
        self._refreshed_at = -STATUS_TTL_S
        self._refresh_lock = asyncio.Lock()

    async def statuses(self) -> Mapping[str, AgentStatus | None]:
        """Status of all agents behind the gateway, at most STATUS_TTL_S old, within
        STATUS_TIMEOUT_S. Without an XMPP connection, all are unavailable."""
        if not self._is_connected():
            return dict.fromkeys(self._addresses.all)
        # Callers that wait here find the first one's result: each agent is asked once.
        async with self._refresh_lock:
            if time.monotonic() - self._refreshed_at >= STATUS_TTL_S:
                await self._refresh()
        return self._statuses

    async def _refresh(self) -> None:
        jids = tuple(dict.fromkeys(self._addresses.all))
        self._statuses = dict(zip(jids, await asyncio.gather(*map(self._ask, jids)), strict=True))
        self._refreshed_at = time.monotonic()

    async def _ask(self, jid: str) -> AgentStatus | None:
        try:
            return await ask_status(self._requester, jid, timeout_s=STATUS_TIMEOUT_S)
        except RequestError:
            return None
