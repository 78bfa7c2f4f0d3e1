"""XMPP agent: base class of all agents; a SPADE agent with its own connection.

Users' own behaviours and templates work as in SPADE; what they do not claim goes to the node.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from slixmpp.exceptions import XMPPError
from slixmpp.plugins.xep_0030 import DiscoInfo
from slixmpp.stanza import Presence

from spade_llm.core.arguments import check_private, check_type
from spade_llm.core.database_copy import refuse_unfinished_copy
from spade_llm.core.errors import ConfigurationError, PeerUnavailable
from spade_llm.core.postgres import database_server
from spade_llm.core.tracing import Tracer, TracingConfig
from spade_llm.messaging import (
    CHAT_TEXT,
    AclMessage,
    Encoding,
    Node,
    PersistentAnswerLog,
    VolatileAnswerLog,
    bare,
)
from spade_llm.messaging.answer_log import ANSWER_TABLES
from spade_llm.xmpp.admission_control import AdmissionPolicy, admission_control_of
from spade_llm.xmpp.connection.jids import check_agent_jid, resource_of
from spade_llm.xmpp.connection.settings import ConnectionSettings
from spade_llm.xmpp.connection.xmpp_client import answer_iq
from spade_llm.xmpp.connection.xmpp_connection import XmppConnection
from spade_llm.xmpp.features import peer_features
from spade_llm.xmpp.features.archive import MissedMessages
from spade_llm.xmpp.features.bounced_answers import BouncedAnswers
from spade_llm.xmpp.features.peer_features import PeerFeatures, PeerPresence
from spade_llm.xmpp.features.profile import Profile, StatusLine
from spade_llm.xmpp.features.replica_routing import ReplicaRouting
from spade_llm.xmpp.features.roster import Roster
from spade_llm.xmpp.spade_adapters import (
    Agent,
    Behaviour,
    PresenceManager,
    WireContainer,
    preserved_event_loop_policy,
)
from spade_llm.xmpp.stanza_router import StanzaRouter
from spade_llm.xmpp.stanzas import message_codec as codec
from spade_llm.xmpp.stanzas.announcement import (
    NODE,
    STANDARD,
    Announcement,
    current_time,
    feature_of,
    read_node,
    read_ver,
    software_version,
)
from spade_llm.xmpp.stanzas.namespaces import TIME, VERSION

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from slixmpp import ClientXMPP

    from spade_llm.core.database import DatabasePlace, DatabaseUrl, StoreTables
    from spade_llm.xmpp.stanzas.vcard import Identity

logger = logging.getLogger(__name__)

_SHOWN = frozenset({"available", "away", "chat", "dnd", "xa"})
"""Presence types, by slixmpp's names, that make the account visible."""

FindConnection: TypeAlias = "Callable[[str, str], Awaitable[ConnectionSettings]]"
"""Takes a bare JID and its password. Raises ConfigurationError."""

BEHAVIOUR_END_TIMEOUT_S = 1.0
BACKGROUND_END_S = 1.0


CONFIRM_TIMEOUT_S = 30.0
"""Timeout in seconds of the server's acknowledgement of a request; then it counts as sent."""
SHUTDOWN_GRACE_S = 3.0
"""Grace period in seconds for running work after `stop()`. Interrupted work that may be repeated (a
turn) is repeated after the next start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """Options common to all agents, in addition to the account."""

    connection: ConnectionSettings = ConnectionSettings()
    data: Path | None = None
    """Directory for what must survive; None: nothing does."""
    database: DatabaseUrl | None = None
    """Server for the small databases, instead of files in `data`."""
    is_replica: bool = False
    """True for one of several processes that answer for this account together (docs/scaling.md);
    it needs `database`, and a `data` of its own."""
    home: Path | None = None
    """Directory of the agent on this machine, which its replicas share; None: `data`."""
    allowed: tuple[str, ...] = ()
    """JIDs and domains that may subscribe to our presence, beside our own domain; `*`: all."""
    announce_to: tuple[str, ...] = ()
    """Bare JIDs that we ask to see each other's presence: they find us by it."""
    is_available: bool = True
    """False: no presence, so that the server brings us answers only, and none of the messages
    that are for the account's other clients (RFC 6121 §8.5.2)."""
    gateways: tuple[str, ...] = ()
    """Bare JIDs of gateways, which ask for others (docs/design/principals.md)."""
    admission: AdmissionPolicy = AdmissionPolicy()
    """Admission policy: allowed senders and rate limits."""
    telemetry: TracingConfig | None = None
    """Export of tracing spans; None: no export."""
    read_password: Callable[[], str] | None = None
    """Password to reconnect with, if it may be reset while the agent runs (raises
    ConfigurationError if there is none); None: the one of the start."""
    identity: Identity | None = None
    """Name, picture and status shown to people. None: the account belongs to a person, and its
    profile is left unchanged."""


def _check_arguments(kind: str, jid: object, password: object, options: object) -> None:
    check_agent_jid(jid, of=f"{kind}: jid")
    check_private(password, str, of=f"{kind}: password", fix="give a text")
    check_type(options, AgentOptions, of=f"{kind}: options", fix="give AgentOptions(…)")


class XmppAgent(Agent):
    """SPADE agent with its own connection; start with `await start()`, end with `await stop()`."""

    def __init__(
        self,
        jid: str,
        password: str,
        *,
        options: AgentOptions | None = None,
        find_connection: FindConnection | None = None,
    ) -> None:
        """`find_connection` is asked at the start for the connection that `options` has not."""
        self.options = options or AgentOptions()
        _check_arguments(type(self).__name__, jid, password, self.options)
        self._find_connection = find_connection
        with preserved_event_loop_policy():
            super().__init__(bare(jid), password, verify_security=True)
        WireContainer.adopt(self)
        data, local = self.options.data, str(self.jid.local)
        self._database = database_server(self.options.database, agent=str(self.jid))
        self.replicas = ReplicaRouting(self, self._database) if self.options.is_replica else None
        """Ownership of conversations among several processes of this account; None: it is alone."""
        self._log = (
            self.replicas.members.log
            if self.replicas
            else _answer_log(self.database_place(ANSWER_TABLES))
        )
        self._tracer = Tracer(self.options.telemetry, service=local, instance=str(self.jid))
        self.node = self._make_node()
        self.connection: XmppConnection | None = None
        self._router = StanzaRouter(self)
        self.on_peer_presence: list[Callable[[PeerPresence], None]] = []
        """Called with each presence of others; must not raise."""
        self.on_stanza_received: list[Callable[[Element], object]] = []
        """Told each stanza of the stream, also one that is refused then; must not raise."""
        self.message_filters: list[Callable[[Element], bool]] = []
        """Asked in turn with each `<message/>` of others before it is read; True: it is dealt with.
        They must not raise. Wrap one that is for certain child elements in `on_extension`
        (xmpp/stanza_router.py)."""
        self.admission = admission_control_of(self)
        self.on_client: list[Callable[[ClientXMPP], None]] = []
        """Called with the client of a connection that is about to be opened: handlers, plugins."""
        self.on_session: list[Callable[[], None]] = []
        """Called after each (re)connection. Our presence is sent before; that of an account of an
        agent's own follows once the server has told the roster."""
        self.on_presence: list[Callable[[Element], None]] = [self._add_caps]
        """Told each presence that shows us, before it leaves, to add to it."""
        self.on_sent: list[Callable[[AclMessage], None]] = []
        """Called with each chat message that was written to the stream; must not raise."""
        self.disco_nodes: list[Callable[[str], Element | None]] = []
        """Asked for disco#info of other nodes than our own; None: not theirs."""
        self.features: set[str] = set()
        """Supported features (XEP-0030 namespaces) beyond those of every agent."""
        self.peer_features = PeerFeatures(self)
        self.split_outgoing: Callable[[AclMessage], Awaitable[Iterable[AclMessage]]] = _split
        """Splits a message for a person's client into the messages to send; must not raise."""
        self.roster = Roster(self)
        # Replicas leave this to the server's offline storage: the position in the archive of each
        # would be behind what others have answered.
        if data and self.options.is_available and not self.replicas:
            MissedMessages(self, data / f"archive-{self.jid.local}.json")
        BouncedAnswers(self)
        self.status_line = self._present(self.options.identity)
        self.on_text: Callable[[AclMessage], None] | None = None
        """Takes text that answers none of our questions and that we serve not; must not raise."""
        self._facts: dict[str, str] = {}
        self._resource = ""
        self._resources = AsyncExitStack()
        self._background: set[asyncio.Task[None]] = set()
        self._submitted: set[asyncio.Task[None]] = set()

    def _make_node(self) -> Node:
        node = Node(self.send_acl, self._log, confirm=self._confirm_all, tracer=self._tracer)
        node.dispatcher.gateways = frozenset(map(str.lower, self.options.gateways))
        node.dispatcher.is_there = self._is_online
        node.dispatcher.delivery.has_arrived = self._confirm_delivery
        if (routing := self.replicas) is not None:
            node.dispatcher.delivery.is_connected = routing.is_connected
            node.dispatcher.delivery.is_settled = lambda: routing.members.is_settled
        return node

    def database_place(self, tables: StoreTables) -> DatabasePlace:
        """Place of a store's tables; None: nothing survives."""
        if self._database is not None:
            return self._database
        data = self.options.data
        return data / tables.file_name(str(self.jid.local)) if data else None

    def _present(self, identity: Identity | None) -> StatusLine | None:
        if identity is None:
            return None
        Profile(self, identity)
        if not (identity.shows_load and self.options.is_available):
            return None
        line = StatusLine(self, identity)
        self.add_behaviour(line)
        return line

    @property
    def address(self) -> str:
        """Our full JID; the bare one before the first connection."""
        return self.connection.address if self.connection else str(self.jid)

    async def start(self, auto_register: bool = False) -> None:
        """Connect, log in and begin to answer. SPADE's hooks and `setup()` run as usual.

        Raises:
            ConfigurationError: within the deadline, saying which part is wrong and what to do.
        """
        await self._async_start(auto_register)

    async def _async_start(self, auto_register: bool = False) -> None:
        await self._hook_plugin_before_connection()
        if self._find_connection is not None:
            connection = await self._find_connection(str(self.jid), self.password)
            self.options = replace(self.options, connection=connection)
        await self._open_resources()
        await self._open_connection(self._prepare_connection())
        if self.options.is_available:
            await self.roster.until_shown()
        await self._hook_plugin_after_connection()
        await self.setup()
        self._alive.set()
        for behaviour in self.behaviours:
            if not behaviour.is_running:
                behaviour.set_agent(self)
                behaviour.start()
        await self.node.dispatcher.resume()
        if self.replicas is not None:
            await self.replicas.members.join()

    async def _open_resources(self) -> None:
        """Open all resources; if one fails, close those already open."""
        try:
            await self._open_tracer()
            if self._database is not None:
                await self._resources.enter_async_context(self._database)
            await refuse_unfinished_copy(self._database, self.options.data)
            await self._resources.enter_async_context(self.admission)
            if isinstance(self._log, PersistentAnswerLog):
                self._resources.push_async_exit(self._log)
                # Only begun: a new SQLite file waits for the disk twice (6 to 10 ms); we connect
                # meanwhile.
                self._log.begin()
            self._resource = resource_of(self.options.data, str(self.jid.local))
            if self.replicas is not None:
                self.on_session.append(self.replicas.members.session_started)
                self._resources.push_async_callback(self.replicas.members.close)
                await self.replicas.members.open(self._resource)
            await self.open_resources(self._resources)
        except BaseException:
            await self._resources.aclose()
            raise

    async def _until_log(self) -> None:
        """Wait for the answer log. Raises ConfigurationError: it cannot be used."""
        if isinstance(self._log, PersistentAnswerLog):
            await self._log.until_open()

    async def _written_down(self) -> None:
        """Wait until what was received so far cannot be lost."""
        await self.node.dispatcher.written_down()
        if self._database is not None:
            await self._database.written_down()

    async def _open_tracer(self) -> None:
        try:
            await self._resources.enter_async_context(self._tracer)
        except ValueError as error:
            raise ConfigurationError(
                f"the OpenTelemetry settings (variables OTEL_…) are not valid: {error}"
            ) from error

    async def open_resources(self, stack: AsyncExitStack) -> None:
        """Override to open stores before the first message comes; they close after the last."""

    async def _async_stop(self) -> None:
        """Graceful shutdown: finish running work, end the behaviours, tell peers, disconnect, in
        this order. Messages that arrive meanwhile from senders that do not retry stay with the
        server until our next start."""
        self._alive.clear()
        if self.replicas is not None:
            await self.replicas.members.leave()
        if self.connection is not None:
            self.connection.freeze_acknowledgements()
        # Running work still needs behaviours, presence and the stream, so it finishes first.
        await self.node.dispatcher.close(patience_s=SHUTDOWN_GRACE_S)
        await self._end_behaviours()
        await self.node.requester.close()
        if self.presence and self.connection and self.connection.connected.is_set():
            self.presence.set_unavailable()
        await self.peer_features.close()
        if self._background:
            await asyncio.wait(self._background, timeout=BACKGROUND_END_S)
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        if self.connection is not None:
            await self.connection.close()
        await self._resources.aclose()

    def submit(self, coro: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start a background task as SPADE's method does; the agent ends it when it stops."""
        task = asyncio.create_task(coro)
        self._submitted.add(task)
        task.add_done_callback(self._submitted.discard)
        return task

    async def _end_behaviours(self) -> None:
        """Kill all behaviours; users' own may finish their step and `on_end` within
        BEHAVIOUR_END_TIMEOUT_S."""
        for behaviour in self.behaviours:
            behaviour.kill()
        if self._submitted and not all(isinstance(b, Behaviour) for b in self.behaviours):
            await asyncio.wait(self._submitted, timeout=BEHAVIOUR_END_TIMEOUT_S)
        for task in self._submitted:
            task.cancel()
        await asyncio.gather(*self._submitted, return_exceptions=True)

    async def send_acl(self, message: AclMessage) -> None:
        """Send a message of the node.

        Raises:
            PeerUnavailable: not connected, and not back in time.
        """
        if self.connection is None:
            raise RuntimeError(f"{self.jid} is not started")
        self.admission.note_request(message)
        is_plain = message.encoding is Encoding.PLAIN
        for piece in await self.split_outgoing(message) if is_plain else (message,):
            await self.connection.send(codec.encode(piece))
        if message.ontology == CHAT_TEXT:
            # Answers to people are confirmed: ask the server in the write that they leave with.
            self.connection.request_ack_soon()
            for note in self.on_sent:
                note(message)

    async def _confirm_delivery(self) -> None:
        """Wait until the server has all that was sent. Raises PeerUnavailable if unknown."""
        if self.connection is not None:
            await self.connection.confirm()

    async def _confirm_all(self) -> None:
        """Confirm what the node has sent: a dead connection is closed, and what was lost is sent
        again after the next connection."""
        with suppress(PeerUnavailable, TimeoutError):
            async with asyncio.timeout(CONFIRM_TIMEOUT_S):
                await self._confirm_delivery()

    async def _is_online(self, jid: str) -> bool:
        return self.connection is None or await self.connection.is_online(jid)

    def send_now(self, xml: str) -> None:
        """Send a stanza that may be lost (state, mark, presence); dropped without a connection."""
        if self.connection is not None:
            self.connection.send_now(xml)

    def send_state(self, message: AclMessage, state: str) -> None:
        """Send a chat state (XEP-0085), for instance `composing`, to the sender of a message."""
        self.send_now(codec.encode_state(message.sender, state, message.conversation_id))

    @property
    def announcement(self) -> Announcement:
        """Service discovery information (XEP-0030) of this agent."""
        spoken = self.node.dispatcher.ontologies - {CHAT_TEXT}
        features = frozenset((*STANDARD, *self.features, *map(feature_of, spoken)))
        name = self.roster.nick or str(self.jid.local)
        return Announcement(name=name, features=features, facts=dict(self._facts))

    def announce(self, **facts: str) -> None:
        """Add facts to the announcement; its changed hash goes to all that see our presence."""
        known = self.announcement.ver
        self._facts |= facts
        if self.announcement.ver != known:
            self.show_presence()

    def show_presence(self) -> None:
        """Send our presence again because its content has changed; nothing while unavailable."""
        if self.options.is_available and self.connection and self.connection.connected.is_set():
            self.client.send_presence(ppriority=self.roster.priority)

    def subscribe_presence(self, jid: str) -> None:
        """Subscribe to this bare JID's presence, now and after each connection; `on_peer_presence`
        reports it. A peer that declines stays invisible, without an error."""
        self.roster.subscribe_presence(jid)

    def is_subscribed_to(self, jid: str) -> bool:
        """True if this bare JID lets us see its presence, so that no presence means offline."""
        return self.roster.is_subscribed_to(jid)

    async def discover(
        self, jid: str, *, timeout_s: float = peer_features.DISCOVERY_TIMEOUT_S
    ) -> Announcement:
        """Query the announcement of a full JID (disco#info). Raises RequestError."""
        return await peer_features.discover(self.client, jid, timeout_s=timeout_s)

    async def software_of(
        self, jid: str, *, timeout_s: float = peer_features.DISCOVERY_TIMEOUT_S
    ) -> str:
        """Name of the software at this full JID; empty if it does not say in time."""
        return await peer_features.software_of(self.client, jid, timeout_s=timeout_s)

    async def find_online_agents(self, seconds: float) -> frozenset[str]:
        """Return the bare JIDs of contacts that are online and run this software.

        For an agent that is not available: it shows itself for this time, without drawing the
        messages for the account's other clients (negative priority, RFC 6121 §8.5.2).
        """
        found: set[str] = set()

        def note(seen: PeerPresence) -> None:
            if seen.is_ours and seen.is_available:
                found.add(bare(seen.jid))

        self.on_peer_presence.append(note)
        self.client.send_presence(ppriority=-1)
        await asyncio.sleep(seconds)
        self.client.send_presence(ptype="unavailable")
        self.on_peer_presence.remove(note)
        return frozenset(found)

    def _prepare_connection(self) -> XmppConnection:
        self.connection = connection = XmppConnection(
            str(self.jid),
            self.password,
            self.options.connection,
            resource=self._resource,
            is_resumed=self.options.is_available,
            # A server returns what waits for a replica that does not come back to the senders.
            is_managed=self.replicas is None,
            read_password=self.options.read_password,
        )
        self.client = connection.client
        self.client.until_ready = self._until_log
        self.client.is_refused = self._is_refused
        self.presence = PresenceManager(agent=self, approve_all=False)
        self._router.listen()
        self.client.add_event_handler("presence_available", self._report_presence)
        self.client.add_event_handler("presence_unavailable", self._report_presence)
        self.client.add_filter("out", self._extend_presence)
        self.client["xep_0030"].set_node_handler("get_info", handler=self._answer_disco_info)
        # slixmpp 1.12's plugin of XEP-0202 fails at each request.
        answer_iq(self.client, f"{{{VERSION}}}query", software_version)
        answer_iq(self.client, f"{{{TIME}}}time", current_time)
        connection.on_session.append(self._session_started)
        connection.on_resumed.append(self._resumed)
        connection.acknowledger.until_safe = self._written_down
        for prepare in self.on_client:
            prepare(self.client)
        return connection

    async def _open_connection(self, connection: XmppConnection) -> None:
        connecting = asyncio.create_task(connection.open())
        try:
            await self._until_log()
            await connecting
        except BaseException:
            # A cancelled start, too, must leave neither a connection nor an open file.
            connecting.cancel()
            await asyncio.wait({connecting})
            await connection.close()
            await self._resources.aclose()
            raise

    def _session_started(self) -> None:
        # Before the handlers, one of which asks the archive: Prosody delivers no offline messages
        # to a client that has asked it.
        if self.options.is_available:
            self.roster.appear()
        for tell in self.on_session:
            tell()
        # A replica sends them when it is a member, if no other one has taken them.
        if self.replicas is None:
            self.spawn(self.node.dispatcher.resend())
        # Open requests may be lost with the old stream; a resumed one sends them again by itself.
        self.spawn(self.node.requester.send_again())

    def _resumed(self) -> None:
        """Process a resumed stream: the server still has our presence; changes are sent once."""
        if self.options.is_available:
            self.roster.appear()
        self.spawn(self.node.dispatcher.resend())

    def receive_held(self, message: Element) -> None:
        """Process a `<message/>` of the stream that was held for another replica."""
        if not self.admission.is_rate_limited(message):
            self._router.take(message)

    def process_message(self, message: Element) -> None:
        """Process another JID's `<message/>` that came from the message archive."""
        self._router.take(message)

    def acts_for(self, jid: str) -> bool:
        """True if this process acts for this bare JID (person, program or room): it is alone, or
        the replica that owns it."""
        return self.replicas is None or self.replicas.members.owns(jid)

    def _is_refused(self, stanza: Element) -> bool:
        if self.replicas is not None and self.replicas.is_held(stanza):
            return True
        for note in self.on_stanza_received:
            note(stanza)
        return self.admission.is_rate_limited(stanza)

    def _extend_presence(self, stanza: object) -> object:
        if isinstance(stanza, Presence) and stanza["type"] in _SHOWN:
            for add in self.on_presence:
                add(stanza.xml)
        return stanza

    def _add_caps(self, presence: Element) -> None:
        """Add the hash of our announcement (XEP-0115)."""
        caps = self.announcement.caps()
        if presence.find(caps.tag) is None:
            presence.append(caps)

    def _answer_disco_info(self, _jid: object, node: str, _asker: object, _iq: object) -> DiscoInfo:
        for tell in self.disco_nodes if node else ():
            if (query := tell(node)) is not None:
                return DiscoInfo(xml=query)
        said = self.announcement
        # XEP-0115 §6.2 asks for `node#ver`; of an earlier `ver` nothing is known any more.
        if node not in ("", None, NODE, f"{NODE}#{said.ver}"):
            raise XMPPError("item-not-found")
        return DiscoInfo(xml=said.query())

    def _report_presence(self, presence: Presence) -> None:
        jid = str(presence["from"])
        if bare(jid) == str(self.jid):
            return
        is_available = presence["type"] != "unavailable"
        node = read_node(presence.xml)
        seen = PeerPresence(
            jid=jid,
            is_available=is_available,
            is_ours=node == NODE,
            ver=read_ver(presence.xml),
            node=node,
        )
        for tell in self.on_peer_presence:
            tell(seen)

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run a short background task; at the stop it is awaited for BACKGROUND_END_S."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _answer_log(place: DatabasePlace) -> PersistentAnswerLog | VolatileAnswerLog:
    return VolatileAnswerLog() if place is None else PersistentAnswerLog(place)


async def _split(message: AclMessage) -> Iterable[AclMessage]:
    return codec.split_message(message)
