"""Says which software this is (XEP-0092) and what time it has (XEP-0202). Not which system it runs
on: that is of use to attackers only."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from spade_llm.xmpp.iq_answers import answer_with
from spade_llm.xmpp.namespaces import TIME, VERSION

if TYPE_CHECKING:
    from slixmpp import ClientXMPP

    from spade_llm.xmpp.agent import XmppAgent

NAME = "spade-llm-agents"
_RUNNING = version(NAME)
"""Read once: each reading parses the package's metadata, which takes a millisecond."""


def tell_software(agent: XmppAgent) -> None:
    """To whoever knows our full JID: those who see our presence, or have had an answer."""
    agent.features.update((VERSION, TIME))
    agent.on_client.append(_listen)


def _listen(client: ClientXMPP) -> None:
    answer_with(client, "get", f"{{{VERSION}}}query", _software)
    answer_with(client, "get", f"{{{TIME}}}time", _time)


def _software(_asked: ET.Element) -> ET.Element:
    query = ET.Element(f"{{{VERSION}}}query")
    ET.SubElement(query, f"{{{VERSION}}}name").text = NAME
    ET.SubElement(query, f"{{{VERSION}}}version").text = _RUNNING
    return query


def _time(_asked: ET.Element) -> ET.Element:
    """Of UTC: in which zone it stands is nobody's business either."""
    time = ET.Element(f"{{{TIME}}}time")
    ET.SubElement(time, f"{{{TIME}}}tzo").text = "Z"
    ET.SubElement(time, f"{{{TIME}}}utc").text = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return time
