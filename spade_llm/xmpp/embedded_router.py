"""Where a stanza goes in the embedded server: to sessions, to the store, or back as an error.

Replaces pyjabber's StanzaHandler. Does not know sockets or streams: a session is something that
takes text. Every request gets an answer; a message is delivered, stored, or comes back.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol
from xml.etree import ElementTree as ET

from spade_llm.xmpp.embedded_presence import Presences
from spade_llm.xmpp.embedded_services import ServerServices
from spade_llm.xmpp.embedded_stanza import (
    CLIENT,
    Address,
    error_of,
    stanza_text,
    tag_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.xmpp.embedded_store import EmbeddedStore

logger = logging.getLogger(__name__)

DELAY = "{urn:xmpp:delay}delay"
SUBSCRIPTIONS = frozenset({"subscribe", "subscribed", "unsubscribe", "unsubscribed"})


class Stream(Protocol):
    """What a session writes to."""

    def send(self, text: str) -> None:
        """Write to the client; never blocks, and ends a client that does not read."""
        ...

    def end(self, condition: str) -> None:
        """Close with a stream error."""
        ...


@dataclass(eq=False, slots=True, kw_only=True)
class Session:
    """One client that has logged in and bound a resource."""

    jid: Address
    stream: Stream
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
        return self.presence is not None and self.priority >= 0

    def send(self, stanza: ET.Element) -> None:
        self.stream.send(stanza_text(stanza))


class Sessions:
    """Who is connected, by user and resource."""

    def __init__(self) -> None:
        self._by_user: dict[str, dict[str, Session]] = {}

    def add(self, session: Session) -> Session | None:
        """Add it; return the one that had the same full JID."""
        resources = self._by_user.setdefault(session.jid.user, {})
        replaced = resources.get(session.jid.resource)
        resources[session.jid.resource] = session
        return replaced

    def remove(self, session: Session) -> bool:
        """False if it was not there, or was replaced before."""
        resources = self._by_user.get(session.jid.user, {})
        if resources.get(session.jid.resource) is not session:
            return False
        del resources[session.jid.resource]
        if not resources:
            del self._by_user[session.jid.user]
        return True

    def find(self, user: str, resource: str) -> Session | None:
        return self._by_user.get(user, {}).get(resource)

    def of(self, user: str) -> list[Session]:
        return list(self._by_user.get(user, {}).values())

    def available(self, user: str) -> Iterator[Session]:
        return (session for session in self.of(user) if session.presence is not None)


class Router:
    """Takes every stanza of every session, stamps its sender and sends it where it belongs."""

    def __init__(self, domain: str, store: EmbeddedStore) -> None:
        self._domain = domain
        self._store = store
        self._sessions = Sessions()
        self._presences = Presences(domain, store, self._sessions)
        self._services = ServerServices(domain, self._presences)

    def open(self, session: Session) -> None:
        """A client has bound its resource; an older one with the same full JID has to go."""
        replaced = self._sessions.add(session)
        if replaced is not None:
            replaced.stream.end("conflict")

    def close(self, session: Session) -> None:
        """The client has gone."""
        if self._sessions.remove(session):
            self._presences.gone(session)

    def route(self, session: Session, stanza: ET.Element) -> None:
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
        stanza.set("from", str(session.jid))
        to = self._addressee(session, stanza)
        if to is not None:
            handler(session, stanza, to)

    def _addressee(self, session: Session, stanza: ET.Element) -> Address | None:
        """Whom it is for, or None if it went back to its sender instead."""
        try:
            to = Address.parse(stanza.get("to") or session.jid.bare)
        except ValueError:
            self._bounce(session, stanza, "jid-malformed")
            return None
        if to.domain != self._domain:
            self._bounce(session, stanza, "remote-server-not-found")
            return None
        return to

    def _route_message(self, session: Session, message: ET.Element, to: Address) -> None:
        receivers = self._receivers(to)
        for receiver in receivers:
            receiver.send(message)
        if receivers or message.get("type") in ("error", "headline"):
            return
        if not self._keep(message, to):
            self._bounce(session, message, "service-unavailable")

    def _receivers(self, to: Address) -> list[Session]:
        """The session named; if there is none, those of the user with the highest priority."""
        named = self._sessions.find(to.user, to.resource) if to.resource else None
        if named is not None:
            return [named]
        willing = [s for s in self._sessions.available(to.user) if s.takes_messages]
        highest = max((session.priority for session in willing), default=0)
        return [session for session in willing if session.priority == highest]

    def _keep(self, message: ET.Element, to: Address) -> bool:
        """Store it for a user who is away; False if that is impossible."""
        if not to.user or message.get("type") == "groupchat":
            return False
        if not self._store.has_account(to.user):
            return False
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ET.SubElement(message, DELAY, {"from": self._domain, "stamp": stamp})
        return self._store.keep_message(to.user, stanza_text(message))

    def _route_presence(self, session: Session, presence: ET.Element, to: Address) -> None:
        kind = presence.get("type")
        if kind in SUBSCRIPTIONS:
            self._presences.subscription(session, presence, to)
        elif kind not in (None, "unavailable"):
            return
        elif presence.get("to") is not None:
            self._presences.directed(session, presence, to)
        else:
            self._broadcast(session, presence)

    def _broadcast(self, session: Session, presence: ET.Element) -> None:
        took_messages = session.takes_messages
        self._presences.broadcast(session, presence)
        if session.takes_messages and not took_messages:
            for text in self._store.take_messages(session.jid.user):
                session.stream.send(text)

    def _route_iq(self, session: Session, iq: ET.Element, to: Address) -> None:
        is_request = iq.get("type") in ("get", "set")
        if is_request and (len(iq) != 1 or not iq.get("id")):
            self._bounce(session, iq, "bad-request")
        elif to.resource and to.user:
            self._relay_iq(session, iq, to)
        elif is_request:
            session.send(self._services.answer(session, iq, to))

    def _relay_iq(self, session: Session, iq: ET.Element, to: Address) -> None:
        receiver = self._sessions.find(to.user, to.resource)
        if receiver is not None:
            receiver.send(iq)
        else:
            self._bounce(session, iq, "service-unavailable")

    def _bounce(self, session: Session, stanza: ET.Element, condition: str) -> None:
        """Send it back. Errors and results never trigger an error (RFC 6120 §8.3.1)."""
        if stanza.get("type") in ("error", "result"):
            return
        logger.debug("%s of %s: %s", tag_name(stanza), session.jid, condition)
        session.send(error_of(stanza, condition))
