"""Stanza router of the embedded server: sessions, offline messages, service discovery.

Replaces pyjabber's plugins and StanzaHandler. A session is anything that takes text. Every request
gets an answer, `service-unavailable` if it is not in the table; a message is delivered, stored, or
comes back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol
from xml.etree import ElementTree as ET

from spade_llm.xmpp.servers.embedded.account_store import EmbeddedStore, RosterContact
from spade_llm.xmpp.servers.embedded.presence import PresenceService
from spade_llm.xmpp.servers.embedded.stanza import (
    CLIENT,
    JidParts,
    error_of,
    result_of,
    stanza_text,
    tag_name,
)

logger = logging.getLogger(__name__)

INFO = "{http://jabber.org/protocol/disco#info}"
ITEMS = "{http://jabber.org/protocol/disco#items}"
ROSTER = "{jabber:iq:roster}"
FEATURES = (
    "http://jabber.org/protocol/disco#info",
    "http://jabber.org/protocol/disco#items",
    "jabber:iq:roster",
    "msgoffline",
    "urn:xmpp:ping",
)
DELAY = "{urn:xmpp:delay}delay"
SUBSCRIPTIONS = frozenset({"subscribe", "subscribed", "unsubscribe", "unsubscribed"})


class ServerServices:
    """Answers requests to the server, and to accounts on their behalf."""

    def __init__(self, domain: str, presences: PresenceService) -> None:
        self._domain = domain
        self._presences = presences
        self._of_server: dict[str, Callable[[ClientSession, ET.Element], ET.Element]] = {
            "{urn:xmpp:ping}ping": lambda _, iq: result_of(iq),
            # RFC 3921; some clients still ask for it.
            "{urn:ietf:params:xml:ns:xmpp-session}session": lambda _, iq: result_of(iq),
            f"{INFO}query": _server_info,
            f"{ITEMS}query": lambda _, iq: result_of(iq, ET.Element(f"{ITEMS}query")),
        }
        self._of_account: dict[str, Callable[[ClientSession, ET.Element], ET.Element]] = {
            **self._of_server,
            f"{INFO}query": _account_info,
            f"{ROSTER}query": self._roster,
        }

    def answer(self, session: ClientSession, iq: ET.Element, to: JidParts) -> ET.Element:
        """The result, or the error, of a get or set with one child."""
        handler = None
        if not to.user:
            handler = self._of_server.get(iq[0].tag)
        elif to.user == session.jid.user:
            handler = self._of_account.get(iq[0].tag)
        return handler(session, iq) if handler else error_of(iq, "service-unavailable")

    def _roster(self, session: ClientSession, iq: ET.Element) -> ET.Element:
        if iq.get("type") == "get":
            session.wants_roster = True
            return result_of(iq, self._presences.roster(session.jid.user))
        items = iq[0].findall(f"{ROSTER}item")
        if len(items) != 1:
            return error_of(iq, "bad-request")
        item, owner = items[0], session.jid.user
        try:
            contact = JidParts.parse(item.get("jid", ""))
        except ValueError:
            return error_of(iq, "jid-malformed")
        if contact.domain != self._domain or not contact.user:
            return error_of(iq, "not-acceptable")
        if item.get("subscription") == "remove":
            self._presences.forget(owner, contact.user)
            return result_of(iq)
        known = self._presences.contact(owner, contact.user) or RosterContact(user=contact.user)
        groups = tuple(group.text or "" for group in item.findall(f"{ROSTER}group"))
        updated = replace(known, name=item.get("name", ""), groups=groups)
        if not self._presences.update(owner, updated):
            return error_of(iq, "resource-constraint")
        return result_of(iq)


class SessionStream(Protocol):
    """Output stream of a session."""

    def send(self, text: str) -> None:
        """Write to the client; never blocks, and ends a client that does not read."""

    def end(self, condition: str) -> None:
        """Close with a stream error."""


@dataclass(eq=False, slots=True, kw_only=True)
class ClientSession:
    """Client that has logged in and bound a resource."""

    jid: JidParts
    stream: SessionStream
    presence: ET.Element | None = None
    """The last broadcast one; None while unavailable."""
    wants_roster: bool = False
    """It has asked for the roster, so that it is told of changes."""
    directed_to: set[str] = field(default_factory=set)

    @property
    def priority(self) -> int:
        text = self.presence.findtext(f"{{{CLIENT}}}priority") if self.presence is not None else ""
        try:
            return int(text or 0)
        except ValueError:
            return 0

    @property
    def takes_messages(self) -> bool:
        # A negative priority asks for no messages to the bare JID (RFC 6121 §8.5.2).
        return self.presence is not None and self.priority >= 0

    def send(self, stanza: ET.Element) -> None:
        self.stream.send(stanza_text(stanza))


class SessionTable:
    """Connected sessions, by user and resource."""

    def __init__(self) -> None:
        self._by_user: dict[str, dict[str, ClientSession]] = {}

    def add(self, session: ClientSession) -> ClientSession | None:
        """Add it; return the one that had the same full JID."""
        resources = self._by_user.setdefault(session.jid.user, {})
        replaced = resources.get(session.jid.resource)
        resources[session.jid.resource] = session
        return replaced

    def remove(self, session: ClientSession) -> bool:
        """False if it was not there, or was replaced before."""
        resources = self._by_user.get(session.jid.user, {})
        if resources.get(session.jid.resource) is not session:
            return False
        del resources[session.jid.resource]
        if not resources:
            del self._by_user[session.jid.user]
        return True

    def find(self, user: str, resource: str) -> ClientSession | None:
        return self._by_user.get(user, {}).get(resource)

    def of(self, user: str) -> list[ClientSession]:
        return list(self._by_user.get(user, {}).values())

    def available(self, user: str) -> Iterator[ClientSession]:
        return (session for session in self.of(user) if session.presence is not None)


class EmbeddedRouter:
    """Takes every stanza of every session, stamps its sender and sends it where it belongs."""

    def __init__(self, domain: str, store: EmbeddedStore) -> None:
        self._domain = domain
        self._store = store
        self._sessions = SessionTable()
        self._presences = PresenceService(domain, store, self._sessions)
        self._services = ServerServices(domain, self._presences)

    def open(self, session: ClientSession) -> None:
        """A client has bound its resource; an older one with the same full JID has to go."""
        replaced = self._sessions.add(session)
        if replaced is not None:
            # The newer one wins (RFC 6120 §7.7.2.2): a killed client's next process must get in.
            replaced.stream.end("conflict")

    def close(self, session: ClientSession) -> None:
        """The client has gone."""
        if self._sessions.remove(session):
            self._presences.gone(session)

    def route(self, session: ClientSession, stanza: ET.Element) -> None:
        """Stamp the sender and send it on. Never raises for what a client sent."""
        handlers = {
            f"{{{CLIENT}}}message": self._route_message,
            f"{{{CLIENT}}}presence": self._route_presence,
            f"{{{CLIENT}}}iq": self._route_iq,
        }
        handler = handlers.get(stanza.tag)
        if handler is None:
            logger.info("ignored an element %s of %s", stanza.tag[:80], session.jid)
            return
        # Whatever the client wrote: all checks of identity rest on it, and pyjabber stamps none.
        stanza.set("from", str(session.jid))
        to = self._addressee(session, stanza)
        if to is not None:
            handler(session, stanza, to)

    def _addressee(self, session: ClientSession, stanza: ET.Element) -> JidParts | None:
        """Return the receiver's JID, or None if the stanza was bounced to its sender."""
        try:
            # Without `to` it is for the sender's own account (RFC 6120 §10.3).
            to = JidParts.parse(stanza.get("to") or session.jid.bare)
        except ValueError:
            self._bounce(session, stanza, "jid-malformed")
            return None
        if to.domain != self._domain:
            self._bounce(session, stanza, "remote-server-not-found")
            return None
        return to

    def _route_message(self, session: ClientSession, message: ET.Element, to: JidParts) -> None:
        receivers = self._receivers(to)
        for receiver in receivers:
            receiver.send(message)
        # These are neither stored nor returned (RFC 6121 §8.5.2.2).
        if receivers or message.get("type") in ("error", "headline"):
            return
        if not self._keep(message, to):
            self._bounce(session, message, "service-unavailable")

    def _receivers(self, to: JidParts) -> list[ClientSession]:
        """The session named; if there is none, those of the user with the highest priority."""
        named = self._sessions.find(to.user, to.resource) if to.resource else None
        if named is not None:
            return [named]
        willing = [s for s in self._sessions.available(to.user) if s.takes_messages]
        highest = max((session.priority for session in willing), default=0)
        return [session for session in willing if session.priority == highest]

    def _keep(self, message: ET.Element, to: JidParts) -> bool:
        """Store a message for an offline user; False if that is impossible."""
        if not to.user or message.get("type") == "groupchat":
            return False
        if not self._store.has_account(to.user):
            return False
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ET.SubElement(message, DELAY, {"from": self._domain, "stamp": stamp})
        return self._store.keep_message(to.user, stanza_text(message))

    def _route_presence(self, session: ClientSession, presence: ET.Element, to: JidParts) -> None:
        kind = presence.get("type")
        if kind in SUBSCRIPTIONS:
            self._presences.subscription(session, presence, to)
        elif kind not in (None, "unavailable"):
            return
        elif presence.get("to") is not None:
            self._presences.directed(session, presence, to)
        else:
            took_messages = session.takes_messages
            self._presences.broadcast(session, presence)
            if session.takes_messages and not took_messages:
                for text in self._store.take_messages(session.jid.user):
                    session.stream.send(text)

    def _route_iq(self, session: ClientSession, iq: ET.Element, to: JidParts) -> None:
        is_request = iq.get("type") in ("get", "set")
        # RFC 6120 §8.2.3: a request has an id and exactly one child.
        if is_request and (len(iq) != 1 or not iq.get("id")):
            self._bounce(session, iq, "bad-request")
        elif to.resource and to.user:
            receiver = self._sessions.find(to.user, to.resource)
            if receiver is not None:
                receiver.send(iq)
            else:
                self._bounce(session, iq, "service-unavailable")
        elif is_request:
            session.send(self._services.answer(session, iq, to))

    def _bounce(self, session: ClientSession, stanza: ET.Element, condition: str) -> None:
        """Send it back. Errors and results never trigger an error (RFC 6120 §8.3.1)."""
        if stanza.get("type") in ("error", "result"):
            return
        logger.debug("%s of %s: %s", tag_name(stanza), session.jid, condition)
        session.send(error_of(stanza, condition))


def _server_info(_: ClientSession, iq: ET.Element) -> ET.Element:
    query = ET.Element(f"{INFO}query")
    identity = {"category": "server", "type": "im", "name": "spade-llm embedded server"}
    ET.SubElement(query, f"{INFO}identity", identity)
    for feature in FEATURES:
        ET.SubElement(query, f"{INFO}feature", {"var": feature})
    return result_of(iq, query)


def _account_info(_: ClientSession, iq: ET.Element) -> ET.Element:
    query = ET.Element(f"{INFO}query")
    ET.SubElement(query, f"{INFO}identity", {"category": "account", "type": "registered"})
    return result_of(iq, query)
