"""Announcement of an agent: service discovery (XEP-0030) and entity capabilities (XEP-0115).

With it the answers on software version (XEP-0092) and time (XEP-0202).

An announcement has a feature for each ontology that the agent serves, and a form (XEP-0128) with
facts of this package. `ver` is a hash over all of it: a client caches the result by `ver`, and a
new `ver` signals a change.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from xml.etree import ElementTree as ET

from spade_llm.xmpp.stanzas.forms import typed_form
from spade_llm.xmpp.stanzas.namespaces import DATA_FORM, DISCO_INFO, TIME, VERSION

CAPS = "http://jabber.org/protocol/caps"
FORM_TYPE = "urn:spade-llm:agent:1"
NODE = "urn:spade-llm"
CATEGORY, TYPE = "client", "bot"
STANDARD = (DISCO_INFO, CAPS, VERSION, TIME, "urn:xmpp:ping", "urn:spade-llm:acl:1")
DISTRIBUTION = "spade-llm-agents"
_RUNNING = version(DISTRIBUTION)
"""Read once: each reading parses the package's metadata, which takes a millisecond."""
MAX_FEATURES = 200
"""Maximum number of features read from a peer; the rest is ignored."""
MAX_FACT_CHARS = 200


def feature_of(ontology: str) -> str:
    """`spade-llm.tools/1` → `urn:spade-llm:tools:1`."""
    return "urn:" + ontology.replace(".", ":").replace("/", ":")


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """Data that an agent announces by its presence."""

    name: str
    """Name shown to people."""
    features: frozenset[str]
    is_bot: bool = True
    """Its identity is that of a program, as ours is."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """`kind`, and what else changes what others may want to know (`tools`: a hash of the list)."""

    @property
    def ver(self) -> str:
        """XEP-0115 §5.1, with SHA-1 as every client expects it."""
        # Between the two slashes would be the language, which our identity does not have.
        parts = [f"{CATEGORY}/{TYPE}//{self.name}", *sorted(self.features)]
        if self.facts:
            parts.append(FORM_TYPE)
            for key, value in sorted(self.facts.items()):
                parts += [key, value]
        text = "".join(f"{part}<" for part in parts)
        digest = hashlib.sha1(text.encode(), usedforsecurity=False).digest()
        return base64.b64encode(digest).decode()

    def caps(self) -> ET.Element:
        """The `<c/>` of a presence."""
        return ET.Element(f"{{{CAPS}}}c", {"hash": "sha-1", "node": NODE, "ver": self.ver})

    def query(self) -> ET.Element:
        """The answer to disco#info."""
        query = ET.Element(f"{{{DISCO_INFO}}}query")
        identity = {"category": CATEGORY, "type": TYPE, "name": self.name}
        ET.SubElement(query, f"{{{DISCO_INFO}}}identity", identity)
        for feature in sorted(self.features):
            ET.SubElement(query, f"{{{DISCO_INFO}}}feature", {"var": feature})
        if self.facts:
            query.append(typed_form("result", FORM_TYPE, dict(sorted(self.facts.items()))))
        return query


def read_announcement(query: ET.Element) -> Announcement:
    """Parse a peer's disco#info; software other than ours has no facts."""
    identity = query.find(f"{{{DISCO_INFO}}}identity")
    features = query.findall(f"{{{DISCO_INFO}}}feature")[:MAX_FEATURES]
    return Announcement(
        name=identity.get("name", "")[:MAX_FACT_CHARS] if identity is not None else "",
        features=frozenset(one.get("var", "")[:MAX_FACT_CHARS] for one in features),
        is_bot=any(
            (one.get("category"), one.get("type")) == (CATEGORY, TYPE)
            for one in query.findall(f"{{{DISCO_INFO}}}identity")[:MAX_FEATURES]
        ),
        facts=_facts(query),
    )


def read_ver(presence: ET.Element) -> str:
    """Return the `ver` of a presence's `<c/>`; empty if there is none."""
    return _caps_attribute(presence, "ver")


def read_node(presence: ET.Element) -> str:
    """Return the caps node of a presence, which identifies its software; NODE is ours."""
    return _caps_attribute(presence, "node")


def software_version() -> ET.Element:
    """Name and version of this package; operating system and Python are not disclosed."""
    query = ET.Element(f"{{{VERSION}}}query")
    ET.SubElement(query, f"{{{VERSION}}}name").text = DISTRIBUTION
    ET.SubElement(query, f"{{{VERSION}}}version").text = _RUNNING
    return query


def current_time() -> ET.Element:
    """Return the time in UTC only: the time zone of the machine is not disclosed."""
    time = ET.Element(f"{{{TIME}}}time")
    ET.SubElement(time, f"{{{TIME}}}tzo").text = "Z"
    ET.SubElement(time, f"{{{TIME}}}utc").text = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return time


def _caps_attribute(presence: ET.Element, name: str) -> str:
    caps = presence.find(f"{{{CAPS}}}c")
    return caps.get(name, "")[:MAX_FACT_CHARS] if caps is not None else ""


def _facts(query: ET.Element) -> dict[str, str]:
    for form in query.iterfind(f"{{{DATA_FORM}}}x"):
        found = {
            one.get("var", ""): (one.findtext(f"{{{DATA_FORM}}}value") or "")[:MAX_FACT_CHARS]
            for one in form.findall(f"{{{DATA_FORM}}}field")[:MAX_FEATURES]
        }
        if found.pop("FORM_TYPE", "") == FORM_TYPE:
            return found
    return {}
