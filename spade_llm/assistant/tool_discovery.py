"""Tool agents: discovery by presence, announcement of changed tools; tools bound to an agent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from spade_llm.core.errors import RequestError
from spade_llm.messaging import bare
from spade_llm.tools.remote import ONTOLOGY, ToolsClient
from spade_llm.xmpp.spade_adapters import Behaviour
from spade_llm.xmpp.stanzas.announcement import feature_of

if TYPE_CHECKING:
    from spade_llm.assistant.delegation.expert_questions import ExpertQuestions
    from spade_llm.messaging.outgoing_messages import OutgoingMessages
    from spade_llm.tools.toolbox import CombinedToolbox
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.features.peer_features import PeerPresence


logger = logging.getLogger(__name__)

MAX_DISCOVERED = 50
"""Tool agents beside those that are named; one more is not used."""


class ToolAgentDiscovery:
    """Discovery of tool agents: keeps a CombinedToolbox as the network is."""

    def __init__(
        self,
        agent: XmppAgent,
        toolbox: CombinedToolbox,
        *,
        named: Collection[ToolsClient],
        discover: Collection[str],
        run: Callable[[Coroutine[object, object, None]], object],
    ) -> None:
        """Create the discovery. `discover`: bare JIDs and domains of agents that may be discovered
        by presence; their tools are used."""
        self._agent = agent
        self._toolbox = toolbox
        self._clients = {client.jid: client for client in named}
        self._named = frozenset(self._clients)
        self._discover = frozenset(discover)
        self._vers: dict[str, dict[str, str]] = {}
        """Capability versions (XEP-0115) by bare JID and connection, of available agents only."""
        self._run = run
        agent.on_peer_presence.append(self._sight)
        for jid in (*self._named, *(one for one in discover if "@" in one)):
            agent.subscribe_presence(jid)

    def _sight(self, seen: PeerPresence) -> None:
        jid = bare(seen.jid)
        if jid not in self._named and not {jid, jid.rpartition("@")[2]} & self._discover:
            return
        if seen.is_available:
            self._appeared(jid, seen)
        else:
            self._left(jid, seen.jid)

    def _appeared(self, jid: str, seen: PeerPresence) -> None:
        vers = self._vers.setdefault(jid, {})
        if vers.get(seen.jid) == seen.ver:
            return
        vers[seen.jid] = seen.ver
        if jid in self._clients:
            # Another version or connection: the cached listing may be out of date.
            self._toolbox.forget(self._clients[jid])
        elif len(self._clients) - len(self._named) < MAX_DISCOVERED:
            self._run(self._look_at(jid, seen))

    async def _look_at(self, jid: str, seen: PeerPresence) -> None:
        """Query a newly discovered agent, and add its tools if it announces any."""
        client = ToolsClient(self._agent.node.requester, jid)
        has_tools = await self._has_tools(client, seen)
        # It may have left, or been added, while it was asked.
        is_still_there = seen.jid in self._vers.get(jid, {})
        if has_tools and is_still_there and jid not in self._clients:
            logger.info("%s was discovered; its tools are used", jid)
            self._clients[jid] = client
            self._toolbox.add(client)

    async def _has_tools(self, client: ToolsClient, seen: PeerPresence) -> bool:
        """True if the agent offers tools according to disco#info. If the server does not relay the
        query, the tool list is requested, but only from spade_llm software: in a person's chat a
        request would be a strange message."""
        try:
            said = await self._agent.discover(seen.jid)
        except RequestError as error:
            logger.info("%s was not discovered: %s", seen.jid, error)
        else:
            return feature_of(ONTOLOGY) in said.features
        if not seen.is_ours:
            return False
        try:
            return bool(await client.list())
        except RequestError:
            return False

    def _left(self, jid: str, address: str) -> None:
        vers = self._vers.get(jid, {})
        if vers.pop(address, None) is None or vers:
            return
        del self._vers[jid]
        if jid in self._named:
            # Not removed: another agent's tool of the same name must not take its place.
            self._toolbox.mark_unavailable(self._clients[jid], jid)
        elif jid in self._clients:
            self._toolbox.remove(self._clients.pop(jid))


LOOK_EVERY_S = 1.0
"""Tools change by themselves, for instance those of an MCP server; to look costs microseconds."""

ToolsDigest = Callable[[], Awaitable[str]]
"""Callback for the digest of all offered tools and their terms, at each change. Must not raise."""


class ToolChangeBehaviour(Behaviour):
    """Behaviour that announces changes of an agent's tools."""

    def __init__(self, agent: XmppAgent, digest: ToolsDigest) -> None:
        super().__init__()
        self._announcer = agent
        self._digest = digest

    async def run(self) -> None:
        self._announcer.announce(tools=await self._digest())
        await asyncio.sleep(LOOK_EVERY_S)


@runtime_checkable
class MessagingAgent(Protocol):
    """An agent that asks others by chat messages: LLMAgent, ToolAgent."""

    @property
    def letters(self) -> OutgoingMessages: ...

    @property
    def experts(self) -> ExpertQuestions: ...


@runtime_checkable
class BoundTool(Protocol):
    """Tool that sends messages as the agent that runs it."""

    def set_agent(self, agent_instance: MessagingAgent, /) -> None:
        """Set the agent that the tool sends messages as."""


def bind_tools(agent: MessagingAgent, tools: Iterable[object]) -> None:
    for tool in tools:
        if isinstance(tool, BoundTool):
            tool.set_agent(agent)
