"""Stanza router: hands each incoming message to the component that claims it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, TypeVar

from slixmpp.stanza import Message
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.base import MatcherBase

from spade_llm.core.errors import MalformedContent, RequestError
from spade_llm.messaging import (
    CHAT_TEXT,
    CHAT_TYPE,
    MESSAGE_TYPE,
    PRINCIPAL,
    AclMessage,
    Bounce,
    Encoding,
    ErrorBody,
    Performative,
)
from spade_llm.xmpp.spade_adapters import Behaviour, SpadeMessage
from spade_llm.xmpp.stanzas import message_codec as codec
from spade_llm.xmpp.stanzas.message_codec import encoding_of, read_metadata
from spade_llm.xmpp.stanzas.namespaces import MAX_NAME_CHARS

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from slixmpp import ClientXMPP

    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

T = TypeVar("T")


def on_extension(
    tags: Iterable[str], handle: Callable[[Element], T]
) -> Callable[[Element], T | Literal[False]]:
    """Stanza handler for stanzas with a child element of one of these tags; else False."""
    wanted = frozenset(tags)

    def handle_extension(xml: Element) -> T | Literal[False]:
        # Most messages have none of a feature's elements: one pass over a handful of children is
        # cheaper than to ask the feature.
        return False if wanted.isdisjoint([child.tag for child in xml]) else handle(xml)

    return handle_extension


def not_understood_reply(xml: Element, error: MalformedContent) -> AclMessage | None:
    """Return a not-understood response, as plain text for people; None for a response: no loops."""
    fields = read_metadata(xml)
    if fields.get("in-reply-to"):
        return None
    encoding = encoding_of(xml)
    is_person = encoding is Encoding.PLAIN
    return AclMessage(
        performative=Performative.NOT_UNDERSTOOD,
        sender="",
        receiver=xml.get("from", ""),
        content=str(error) if is_person else ErrorBody(code=error.code, detail=str(error)).encode(),
        ontology=_if_short(fields.get("ontology")),
        conversation_id=_if_short(fields.get("conversation-id")),
        in_reply_to=_if_short(fields.get("reply-with") or xml.get("id")),
        encoding=encoding,
    )


class StanzaRouter:
    """In this order: filters, bounces, answers to our requests, users' behaviours, dispatcher."""

    def __init__(self, agent: XmppAgent) -> None:
        self._agent = agent

    def listen(self) -> None:
        """Register the message handlers with the agent's current client."""
        client = self._agent.client
        client.register_handler(
            Callback("inbox", _AnyMessage(None), lambda one: self.take(one.xml))
        )
        client.on_acl = self._take_acl

    def _take_acl(self, xml: Element) -> None:
        """Process an ACL message; exceptions are logged and end no connection."""
        try:
            self.take(xml)
        except Exception:
            logger.exception("processing a message of %s failed", xml.get("from"))

    def take(self, xml: Element) -> None:
        """A `<message/>` as it came."""
        agent = self._agent
        if codec.is_from_self(xml, agent.address):
            return
        if any(take(xml) for take in agent.message_filters):
            return
        try:
            incoming = codec.decode(xml)
        except MalformedContent as error:
            if (reply := not_understood_reply(xml, error)) is not None:
                agent.spawn(self._send_quietly(reply))
            return
        self._route(incoming, xml)

    def _route(self, incoming: AclMessage | Bounce | None, xml: Element) -> None:
        agent = self._agent
        if isinstance(incoming, Bounce):
            agent.node.bounced(incoming)
            return
        message = incoming and agent.node.dispatcher.identified(incoming)
        if incoming is not None and message is None:
            return
        if message is not None and agent.node.is_awaited(message):
            return
        # A user's behaviour with a matching template takes the message.
        if not self._offer(xml, [b for b in agent.behaviours if b.template]):
            self._deliver(message, xml)

    def _offer(self, xml: Element, behaviours: list[object]) -> bool:
        if not behaviours:
            return False
        message = _spade_message(xml, self._agent.client)
        takers = [b for b in behaviours if b.match(message)]  # type: ignore[attr-defined]  # SPADE
        for behaviour in takers:
            self._agent.submit(behaviour.enqueue(message))  # type: ignore[attr-defined]  # SPADE
        return bool(takers)

    def _deliver(self, message: AclMessage | None, xml: Element) -> None:
        """Deliver a message to the handler of its ontology, else to `on_text` and to behaviours
        without a template. Any other message but chat goes to the dispatcher, which rejects it."""
        agent, dispatcher = self._agent, self._agent.node.dispatcher
        if message is None or not dispatcher.speaks(message.ontology):
            is_heard = False
            if message is not None and message.ontology == CHAT_TEXT and agent.on_text is not None:
                agent.on_text(message)
                is_heard = True
            # Our own behaviours (xmpp/spade_adapters.py) get their messages from the node.
            users = [b for b in agent.behaviours if not (b.template or isinstance(b, Behaviour))]
            is_taken = self._offer(xml, users)
            if message is None or is_heard or is_taken or _is_talk(message):
                return
        # While the agent stops, a sender that does not ask again is left to the server, which
        # stores what stays unacknowledged.
        is_frozen = agent.connection is not None and agent.connection.is_acknowledgement_frozen
        asks_again = message.encoding is Encoding.ACL or message.reply_by is not None
        if asks_again or not is_frozen:
            dispatcher.receive(message)

    async def _send_quietly(self, message: AclMessage) -> None:
        try:
            await self._agent.send_acl(message)
        except RequestError as error:
            logger.warning("not-understood reply to %s was not sent: %s", message.receiver, error)


def _if_short(name: str | None) -> str:
    return name if name and len(name) <= MAX_NAME_CHARS else ""


def _is_talk(message: AclMessage) -> bool:
    """True for a message from a person, or from a model of spade_llm 0.3. An agent without chat
    does not answer these: a model would take `not-understood` as text and answer it, in an endless
    loop."""
    return message.encoding is Encoding.PLAIN or message.extra.get(MESSAGE_TYPE) == CHAT_TYPE


class _AnyMessage(MatcherBase):
    def match(self, xml: Message) -> bool:
        return bool(xml.xml.tag == "{jabber:client}message")


def _spade_message(xml: Element, client: ClientXMPP) -> SpadeMessage:
    """Convert to SPADE's message, and add what SPADE drops (4.1.4; tests/test_facts.py): the
    thread, and the parameters of an `<acl/>`."""
    message = SpadeMessage.from_node(Message(client, xml, recv=True))
    message.thread = message.thread or xml.findtext("{jabber:client}thread")
    metadata = codec.read_metadata(xml)
    # In an `<acl/>` a gateway of ours has set the principal; in SPADE's own form any sender may
    # claim one.
    if codec.encoding_of(xml) is not Encoding.ACL:
        metadata.pop(PRINCIPAL, None)
    message._metadata.pop(PRINCIPAL, None)
    for key, value in metadata.items():
        message.set_metadata(key, value)
    return message
