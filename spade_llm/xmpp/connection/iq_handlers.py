"""IQ request handlers; answers on software version (XEP-0092) and time (XEP-0202).

slixmpp's plugins are used where they work. That of XEP-0202 in slixmpp 1.12 fails at every request,
and that of XEP-0050 keeps an unbounded number of sessions, open to any client that names their id.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.base import MatcherBase

from spade_llm.xmpp.stanzas.namespaces import TIME, VERSION

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from slixmpp import ClientXMPP
    from slixmpp.stanza import Iq

    from spade_llm.xmpp.agent import XmppAgent

IqAnswer = Callable[["Element"], "Element"]
"""Takes the payload of a request and gives that of the result; must not raise."""
DISTRIBUTION = "spade-llm-agents"
_RUNNING = version(DISTRIBUTION)
"""Read once: each reading parses the package's metadata, which takes a millisecond."""


def answer_iq(client: ClientXMPP, kind: str, tag: str, answer: IqAnswer) -> None:
    """Requests of this kind (`get`, `set`) for this tag (`{namespace}name`)."""

    def handle(iq: Iq) -> None:
        reply = iq.reply()
        reply.xml.append(answer(iq.xml[0]))
        reply.send()

    handle_iq(client, kind, tag, handle)


def handle_iq(client: ClientXMPP, kind: str, tag: str, handle: Callable[[Iq], None]) -> None:
    """Register a handler like `answer_iq`, but the handler may respond later."""
    client.register_handler(Callback(f"{kind} {tag}", _IqMatcher((kind, tag)), handle))


def answer_software_queries(agent: XmppAgent) -> None:
    """Register the answers on software version and time, for all that know our full JID: those that
    see our presence or have had an answer."""
    agent.features.update((VERSION, TIME))
    agent.on_client.append(_listen)


class _IqMatcher(MatcherBase):
    def match(self, stanza: Iq) -> bool:
        xml, (kind, tag) = stanza.xml, self._criteria
        is_asked = xml.tag == "{jabber:client}iq" and xml.get("type") == kind
        # A request has exactly one child (RFC 6120 §8.2.3).
        return bool(is_asked and len(xml) == 1 and xml[0].tag == tag)


def _listen(client: ClientXMPP) -> None:
    answer_iq(client, "get", f"{{{VERSION}}}query", _software)
    answer_iq(client, "get", f"{{{TIME}}}time", _time)


def _software(_asked: ET.Element) -> ET.Element:
    query = ET.Element(f"{{{VERSION}}}query")
    ET.SubElement(query, f"{{{VERSION}}}name").text = DISTRIBUTION
    ET.SubElement(query, f"{{{VERSION}}}version").text = _RUNNING
    return query


def _time(_asked: ET.Element) -> ET.Element:
    """Return the time in UTC only: the time zone of the machine is not disclosed."""
    time = ET.Element(f"{{{TIME}}}time")
    ET.SubElement(time, f"{{{TIME}}}tzo").text = "Z"
    ET.SubElement(time, f"{{{TIME}}}utc").text = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return time
