"""What the embedded server answers itself: ping, discovery, the roster. Nothing is left unanswered.

Replaces pyjabber's plugins. A request that is not in the table gets `service-unavailable`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from spade_llm.xmpp.embedded_stanza import Address, error_of, result_of
from spade_llm.xmpp.embedded_store import Contact

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.xmpp.embedded_presence import Presences
    from spade_llm.xmpp.embedded_router import Session

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


class ServerServices:
    """Answers requests to the server, and to accounts on their behalf."""

    def __init__(self, domain: str, presences: Presences) -> None:
        self._domain = domain
        self._presences = presences
        self._of_server: dict[str, Callable[[Session, ET.Element], ET.Element]] = {
            "{urn:xmpp:ping}ping": _empty_result,
            # RFC 3921; some clients still ask for it.
            "{urn:ietf:params:xml:ns:xmpp-session}session": _empty_result,
            f"{INFO}query": _server_info,
            f"{ITEMS}query": _no_items,
        }
        self._of_account: dict[str, Callable[[Session, ET.Element], ET.Element]] = {
            **self._of_server,
            f"{INFO}query": _account_info,
            f"{ROSTER}query": self._roster,
        }

    def answer(self, session: Session, iq: ET.Element, to: Address) -> ET.Element:
        """The result, or the error, of a get or set with one child."""
        handler = self._table(session, to).get(iq[0].tag)
        if handler is None:
            return error_of(iq, "service-unavailable")
        return handler(session, iq)

    def _table(
        self, session: Session, to: Address
    ) -> dict[str, Callable[[Session, ET.Element], ET.Element]]:
        if not to.user:
            return self._of_server
        return self._of_account if to.user == session.jid.user else {}

    def _roster(self, session: Session, iq: ET.Element) -> ET.Element:
        if iq.get("type") == "get":
            session.wants_roster = True
            return result_of(iq, self._presences.roster(session.jid.user))
        items = iq[0].findall(f"{ROSTER}item")
        if len(items) != 1:
            return error_of(iq, "bad-request")
        return self._roster_set(session, iq, items[0])

    def _roster_set(self, session: Session, iq: ET.Element, item: ET.Element) -> ET.Element:
        try:
            contact = Address.parse(item.get("jid", ""))
        except ValueError:
            return error_of(iq, "jid-malformed")
        if contact.domain != self._domain or not contact.user:
            return error_of(iq, "not-acceptable")
        if item.get("subscription") == "remove":
            self._presences.forget(session.jid.user, contact.user)
            return result_of(iq)
        return self._roster_update(session, iq, item, contact.user)

    def _roster_update(
        self, session: Session, iq: ET.Element, item: ET.Element, user: str
    ) -> ET.Element:
        known = self._presences.contact(session.jid.user, user)
        groups = tuple(group.text or "" for group in item.findall(f"{ROSTER}group"))
        updated = replace(known or Contact(user=user), name=item.get("name", ""), groups=groups)
        if not self._presences.update(session.jid.user, updated):
            return error_of(iq, "resource-constraint")
        return result_of(iq)


def _empty_result(_: Session, iq: ET.Element) -> ET.Element:
    return result_of(iq)


def _no_items(_: Session, iq: ET.Element) -> ET.Element:
    return result_of(iq, ET.Element(f"{ITEMS}query"))


def _server_info(_: Session, iq: ET.Element) -> ET.Element:
    query = ET.Element(f"{INFO}query")
    identity = {"category": "server", "type": "im", "name": "spade-llm embedded server"}
    ET.SubElement(query, f"{INFO}identity", identity)
    for feature in FEATURES:
        ET.SubElement(query, f"{INFO}feature", {"var": feature})
    return result_of(iq, query)


def _account_info(_: Session, iq: ET.Element) -> ET.Element:
    query = ET.Element(f"{INFO}query")
    ET.SubElement(query, f"{INFO}identity", {"category": "account", "type": "registered"})
    return result_of(iq, query)
