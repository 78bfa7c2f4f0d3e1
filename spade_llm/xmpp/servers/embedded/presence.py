"""Presence and rosters of the embedded server (RFC 6121).

Replaces pyjabber's Presence and Roster, for the accounts of one domain.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from spade_llm.xmpp.servers.embedded.account_store import EmbeddedStore, RosterContact
from spade_llm.xmpp.servers.embedded.stanza import JidParts, error_of, new_stanza

if TYPE_CHECKING:
    from spade_llm.xmpp.servers.embedded.router import ClientSession, SessionTable

ROSTER = "{jabber:iq:roster}"
DIRECTED_LIMIT = 1000
"""Addresses of directed presence that one session is remembered for."""


class PresenceService:
    """Rosters and presence of all accounts."""

    def __init__(self, domain: str, store: EmbeddedStore, sessions: SessionTable) -> None:
        self._domain = domain
        self._store = store
        self._sessions = sessions

    def broadcast(self, session: ClientSession, presence: ET.Element) -> None:
        """Send available or unavailable presence to all that may see it."""
        was_available = session.presence is not None
        session.presence = presence if presence.get("type") is None else None
        self._tell_watchers(session, presence)
        if session.presence is None:
            # Receivers of directed presence are told, too (RFC 6121 §4.6).
            for address in session.directed_to:
                for receiver in self._addressed(JidParts.parse(address)):
                    self._send_addressed(receiver, presence)
            session.directed_to.clear()
        elif not was_available:
            self._introduce(session)

    def gone(self, session: ClientSession) -> None:
        """The session ended, with or without saying so."""
        if session.presence is not None or session.directed_to:
            self.broadcast(
                session, new_stanza("presence", sender=str(session.jid), kind="unavailable")
            )

    def directed(self, session: ClientSession, presence: ET.Element, to: JidParts) -> None:
        """Presence for one address, roster or not."""
        receivers = self._addressed(to)
        for receiver in receivers:
            receiver.send(presence)
        if presence.get("type") == "unavailable":
            session.directed_to.discard(str(to))
        elif receivers and len(session.directed_to) < DIRECTED_LIMIT:
            session.directed_to.add(str(to))

    def subscription(self, session: ClientSession, presence: ET.Element, to: JidParts) -> None:
        """Process a subscription stanza: request, approval, or cancellation from either side."""
        user, contact = session.jid.user, to.user
        if not self._store.has_account(contact):
            session.send(error_of(presence, "item-not-found"))
            return
        steps = {
            "subscribe": self._ask,
            "subscribed": self._grant,
            "unsubscribe": self._end_own,
            "unsubscribed": self._end_theirs,
        }
        steps[presence.attrib["type"]](user, contact)

    def roster(self, owner: str) -> ET.Element:
        """The owner's contacts as a roster query."""
        query = ET.Element(f"{ROSTER}query")
        query.extend(self._item(contact) for contact in self._store.contacts(owner))
        return query

    def contact(self, owner: str, user: str) -> RosterContact | None:
        return self._store.contact(owner, user)

    def update(self, owner: str, contact: RosterContact) -> bool:
        """Store one contact and tell the owner's clients; False if the roster is full."""
        is_new = self._store.contact(owner, contact.user) is None
        if is_new and not self._store.has_room_for_contact(owner):
            return False
        self._store.set_contact(owner, contact)
        self._push(owner, self._item(contact))
        return True

    def forget(self, owner: str, user: str) -> None:
        """Remove a contact and what the two may see of each other."""
        if self._store.contact(owner, user) is None:
            return
        self._end_own(owner, user)
        self._end_theirs(owner, user)
        self._store.remove_contact(owner, user)
        removed = {"jid": self._bare(user), "subscription": "remove"}
        self._push(owner, ET.Element(f"{ROSTER}item", removed))

    def _ask(self, user: str, contact: str) -> None:
        self._change(user, contact, is_asked=True)
        theirs = self._store.contact(contact, user)
        # A contact that has approved before is not asked again (RFC 6121 §3.1.3).
        if theirs is not None and theirs.is_from:
            self._grant(contact, user)
            return
        self._store.keep_request(contact, user)
        self._notify(contact, user, "subscribe")

    def _grant(self, user: str, contact: str) -> None:
        asked = self._store.contact(contact, user)
        self._store.forget_request(user, contact)
        # An approval that was not asked for is ignored (RFC 6121 §3.1.6).
        if asked is None or not (asked.is_asked or asked.is_to):
            return
        self._change(user, contact, is_from=True)
        self._change(contact, user, is_to=True, is_asked=False)
        self._notify(contact, user, "subscribed")
        self._show(user, contact)

    def _end_own(self, user: str, contact: str) -> None:
        self._store.forget_request(contact, user)
        # Before the change: only who still sees the user is told.
        self._hide(contact, user)
        self._change_known(user, contact, is_to=False, is_asked=False)
        self._change_known(contact, user, is_from=False)
        self._notify(contact, user, "unsubscribe")

    def _end_theirs(self, user: str, contact: str) -> None:
        self._store.forget_request(user, contact)
        # Before the change: only who still sees the user is told.
        self._hide(user, contact)
        self._change_known(user, contact, is_from=False)
        self._change_known(contact, user, is_to=False, is_asked=False)
        self._notify(contact, user, "unsubscribed")

    def _change(self, owner: str, user: str, **changes: bool) -> None:
        known = self._store.contact(owner, user) or RosterContact(user=user)
        self.update(owner, replace(known, **changes))  # type: ignore[arg-type]  # all are bool

    def _change_known(self, owner: str, user: str, **changes: bool) -> None:
        if self._store.contact(owner, user) is not None:
            self._change(owner, user, **changes)

    def _tell_watchers(self, session: ClientSession, presence: ET.Element) -> None:
        user = session.jid.user
        watchers = [contact.user for contact in self._store.contacts(user) if contact.is_from]
        # The user's own resources see each other without a subscription (RFC 6121 §4.2.2).
        for watcher in [*watchers, user]:
            for receiver in self._sessions.available(watcher):
                self._send_addressed(receiver, presence)

    def _introduce(self, session: ClientSession) -> None:
        """Send a new session the presences that it may see, and the pending subscription
        requests."""
        user = session.jid.user
        seen = [contact.user for contact in self._store.contacts(user) if contact.is_to]
        for contact in [*seen, user]:
            for other in self._sessions.available(contact):
                if other is not session and other.presence is not None:
                    self._send_addressed(session, other.presence)
        for asking in self._store.requests(user):
            session.send(self._step(user, asking, "subscribe"))

    def _show(self, user: str, contact: str) -> None:
        for session in self._sessions.available(user):
            if session.presence is not None:
                for receiver in self._sessions.available(contact):
                    self._send_addressed(receiver, session.presence)

    def _hide(self, user: str, contact: str) -> None:
        """The contact sees the user go, if it saw the user at all."""
        known = self._store.contact(user, contact)
        if known is None or not known.is_from:
            return
        for session in self._sessions.available(user):
            unavailable = new_stanza("presence", sender=str(session.jid), kind="unavailable")
            for receiver in self._sessions.available(contact):
                self._send_addressed(receiver, unavailable)

    def _notify(self, user: str, sender: str, kind: str) -> None:
        for session in self._sessions.available(user):
            session.send(self._step(user, sender, kind))

    def _step(self, user: str, sender: str, kind: str) -> ET.Element:
        return new_stanza("presence", sender=self._bare(sender), to=self._bare(user), kind=kind)

    def _push(self, owner: str, item: ET.Element) -> None:
        for session in self._sessions.of(owner):
            if session.wants_roster:
                iq = new_stanza("iq", to=str(session.jid), kind="set", id=secrets.token_hex(8))
                ET.SubElement(iq, f"{ROSTER}query").append(item)
                session.send(iq)

    def _item(self, contact: RosterContact) -> ET.Element:
        attributes = {"jid": self._bare(contact.user), "subscription": contact.subscription}
        if contact.name:
            attributes["name"] = contact.name
        if contact.is_asked:
            attributes["ask"] = "subscribe"
        item = ET.Element(f"{ROSTER}item", attributes)
        for group in contact.groups:
            ET.SubElement(item, f"{ROSTER}group").text = group
        return item

    def _addressed(self, to: JidParts) -> list[ClientSession]:
        if not to.resource:
            return list(self._sessions.available(to.user))
        session = self._sessions.find(to.user, to.resource)
        return [session] if session is not None else []

    def _send_addressed(self, receiver: ClientSession, presence: ET.Element) -> None:
        copy = ET.Element(presence.tag, {**presence.attrib, "to": str(receiver.jid)})
        copy.extend(presence)
        receiver.send(copy)

    def _bare(self, user: str) -> str:
        return f"{user}@{self._domain}"
