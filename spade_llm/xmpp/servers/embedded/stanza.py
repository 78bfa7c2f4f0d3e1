"""Stanzas of the embedded server: addresses, errors and serialisation."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

from spade_llm.xmpp.stanzas.namespaces import STANZA_ERRORS

CLIENT = "jabber:client"
XML = "http://www.w3.org/XML/1998/namespace"
ERROR_TYPES = {
    "bad-request": "modify",
    "jid-malformed": "modify",
    "not-acceptable": "modify",
    "resource-constraint": "wait",
}
"""RFC 6120 §8.3.3; all the others are `cancel`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JidParts:
    """A JID in its parts; `user` empty: the domain itself."""

    user: str = ""
    domain: str
    resource: str = ""

    @classmethod
    def parse(cls, text: str) -> JidParts:
        """Split a JID; raises ValueError if there is no domain in it."""
        bare, _, resource = text.partition("/")
        user, at, domain = bare.rpartition("@")
        if not domain or (at and not user) or "@" in user:
            raise ValueError(f"{text!r} is not a JID")
        return cls(user=user.lower(), domain=domain.lower(), resource=resource)

    @property
    def bare(self) -> str:
        return f"{self.user}@{self.domain}" if self.user else self.domain

    def __str__(self) -> str:
        return f"{self.bare}/{self.resource}" if self.resource else self.bare


def tag_name(element: ET.Element) -> str:
    """The tag without its namespace."""
    return element.tag.rpartition("}")[2]


def new_stanza(name: str, **attributes: str) -> ET.Element:
    """A stanza of the client namespace; write `from` as `sender`, it is a word of Python."""
    names = {"sender": "from", "kind": "type"}
    return ET.Element(
        f"{{{CLIENT}}}{name}", {names.get(key, key): value for key, value in attributes.items()}
    )


def result_of(iq: ET.Element, payload: ET.Element | None = None) -> ET.Element:
    """The answer to a get or set."""
    result = _reply(iq, "result")
    if payload is not None:
        result.append(payload)
    return result


def error_of(stanza: ET.Element, condition: str) -> ET.Element:
    """The stanza sent back as an error, without its content (which its sender knows)."""
    reply = _reply(stanza, "error")
    error = ET.SubElement(
        reply, f"{{{CLIENT}}}error", {"type": ERROR_TYPES.get(condition, "cancel")}
    )
    ET.SubElement(error, f"{{{STANZA_ERRORS}}}{condition}")
    return reply


def _reply(stanza: ET.Element, kind: str) -> ET.Element:
    reply = ET.Element(stanza.tag, {"type": kind})
    for theirs, ours in (("id", "id"), ("to", "from"), ("from", "to")):
        if theirs in stanza.attrib:
            reply.set(ours, stanza.attrib[theirs])
    return reply


def stanza_text(element: ET.Element, namespace: str = CLIENT) -> str:
    """Serialise as clients expect it: default namespaces, no invented prefixes on elements.

    `ElementTree.tostring` writes `<ns0:message xmlns:ns0=...>`, which some clients cannot read.
    """
    own_namespace, _, name = element.tag[1:].rpartition("}")
    start = f"<{name}" + (
        f" xmlns={quoteattr(own_namespace)}" if own_namespace != namespace else ""
    )
    start += "".join(_attribute_text(key, value) for key, value in element.attrib.items())
    content = _text(element.text) + "".join(
        stanza_text(child, own_namespace) + _text(child.tail) for child in element
    )
    return f"{start}>{content}</{name}>" if content else f"{start}/>"


def _attribute_text(key: str, value: str) -> str:
    namespace, _, name = key[1:].rpartition("}") if key.startswith("{") else ("", "", key)
    if not namespace:
        return f" {name}={quoteattr(value)}"
    if namespace == XML:
        return f" xml:{name}={quoteattr(value)}"
    return f" xmlns:a={quoteattr(namespace)} a:{name}={quoteattr(value)}"


def _text(text: str | None) -> str:
    return escape(text) if text else ""
