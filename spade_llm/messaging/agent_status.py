"""Agent status ontology (`spade-llm.agent/1`): health, load, version and recent requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import ClassVar, Protocol

from pydantic import Field

from spade_llm.core.errors import InvalidArguments
from spade_llm.messaging import AclMessage, Body, Dispatcher, HandledRequest, Request, RequestSender
from spade_llm.messaging.body import truncated_to_message
from spade_llm.messaging.rpc import RpcClient, RpcService

ONTOLOGY = "spade-llm.agent/1"
MAX_RECENT = 100


class StatusRequest(Body):
    op: ClassVar[str] = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLoad:
    """Load of one process of an agent that runs as replicas, as of its last heartbeat."""

    name: str
    """Resource of its full JID."""
    conversations: int = 0
    """Conversations that an assistant holds in RAM; of another agent, the requests that it answered
    in the last minute."""
    takeovers: int = 0
    """Requests that it took over from other replicas since its start."""
    is_leaving: bool = False
    """True if it finishes its requests, and takes no new ones."""


class AgentStatus(Body):
    kind: str
    """assistant, memory, rag, tools or gateway."""
    summary: str
    """Summary in one line, for instance `model gpt-5-mini, 3 conversations`."""
    running: int = 0
    """Requests that are being answered now, without this question."""
    queued: int = 0
    notes: tuple[str, ...] = ()
    """Sentences for people: services that are away, requests that wait for approval."""
    ontologies: tuple[str, ...] = ()
    """Ontologies that the agent serves; empty: an agent of 0.2.0 or before, which does not report
    them."""
    answered: int = 0
    """Requests since it began, without questions such as this one."""
    per_minute: int = 0
    """Requests answered within the last minute."""
    storage_failing: bool = False
    """A request failed within the last minute because the disk or a database refused."""
    facts: Mapping[str, str] = Field(default_factory=dict)
    """Machine-readable properties. assistant: `provider` and `model`; memory and rag: `storage`,
    and `embeddings` (empty: keyword search only). tools: `starting`, the MCP servers that have not
    listed their tools yet, with commas between them. A replica: `answered_by`, its name."""
    replicas: tuple[ReplicaLoad, ...] = ()
    """Living replicas, by name; empty: the agent is one process."""

    def share_of(self, replica: ReplicaLoad) -> float:
        """Share (0…1) of the agent's conversations or requests that this replica has; 0 if there
        are none."""
        total = sum(one.conversations for one in self.replicas)
        return replica.conversations / total if total else 0.0


class RecentRequestsQuery(Body):
    """Query for recent requests. A caller sees its own; a gateway without a principal sees all."""

    op: ClassVar[str] = "recent"
    limit: int = 50
    """1…100."""


class RecentRequests(Body):
    requests: tuple[HandledRequest, ...] = ()
    """Newest first."""


class ReplicaReport(Protocol):
    """Load of the processes of an agent that runs as replicas."""

    @property
    def name(self) -> str:
        """Name of this process."""

    def loads(self) -> Sequence[ReplicaLoad]:
        """Living replicas, by name."""


def serve_status(
    dispatcher: Dispatcher,
    *,
    kind: str,
    summary: Callable[[], Awaitable[str]],
    notes: Callable[[], Sequence[str]] = tuple,
    facts: Callable[[], Mapping[str, str]] = dict,
    operator_notes: Callable[[], Sequence[str]] = tuple,
    replicas: ReplicaReport | None = None,
) -> None:
    """`operator_notes`: added for a gateway of ours that asks for itself; it shows them to
    administrators. They may name servers."""

    def is_for_operator(message: AclMessage) -> bool:
        return message.owner in dispatcher.gateways and not message.principal

    async def status(request: Request, _body: StatusRequest) -> AgentStatus:
        load = dispatcher.load
        own = operator_notes() if is_for_operator(request.message) else ()
        return AgentStatus(
            kind=kind,
            summary=await summary(),
            running=load.running - 1,  # this question
            queued=load.queued,
            notes=(*notes(), *own),
            ontologies=tuple(sorted(dispatcher.ontologies)),
            answered=dispatcher.recent.answered,
            per_minute=dispatcher.recent.per_minute,
            storage_failing=dispatcher.recent.is_storage_failing,
            facts={**facts(), "answered_by": replicas.name} if replicas else facts(),
            replicas=tuple(replicas.loads()) if replicas else (),
        )

    async def recent(request: Request, body: RecentRequestsQuery) -> Body:
        if not 1 <= body.limit <= MAX_RECENT:
            raise InvalidArguments(f"limit is {body.limit}; it must be 1 to {MAX_RECENT}")
        message = request.message
        of = None if is_for_operator(message) else message.owner
        seen = dispatcher.recent.latest(body.limit, of=of)
        return truncated_to_message(seen, lambda some: RecentRequests(requests=tuple(some)))

    # Watching an agent must not change the numbers that are watched.
    dispatcher.recent.left_out.add(ONTOLOGY)
    service = RpcService(ONTOLOGY)
    service.on(StatusRequest, status)
    service.on(RecentRequestsQuery, recent)
    service.attach(dispatcher)


async def ask_status(requester: RequestSender, jid: str, *, timeout_s: float) -> AgentStatus:
    """Raises RequestError."""
    return await RpcClient(requester, jid, ONTOLOGY, timeout_s=timeout_s).ask(
        StatusRequest(), AgentStatus
    )


async def ask_recent(
    requester: RequestSender, jid: str, *, limit: int = 50, timeout_s: float
) -> Sequence[HandledRequest]:
    """Query the requests that an agent answered recently, newest first (RecentRequestsQuery says
    which); fewer than `limit` (1…100) if one message cannot carry them.

    Raises RequestError; RequestNotUnderstood: the agent is older than this op.
    """
    peer = RpcClient(requester, jid, ONTOLOGY, timeout_s=timeout_s)
    return (await peer.ask(RecentRequestsQuery(limit=limit), RecentRequests)).requests


async def locate_agent(
    requester: RequestSender, jid: str, *, timeout_s: float
) -> tuple[AgentStatus, str]:
    """The status, and the full JID that it came from: where to ask by service discovery.

    Raises RequestError.
    """
    peer = RpcClient(requester, jid, ONTOLOGY, timeout_s=timeout_s)
    async with aclosing(peer.stream(StatusRequest())) as answers:
        async for message in answers:
            if message.is_terminal:
                return peer.read(AgentStatus, message), message.sender
    raise RuntimeError("a stream ended without its terminal answer")
