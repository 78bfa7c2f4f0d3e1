"""Answers requests (`<iq type='get'>` or `set`) by the name of what is asked. Knows no XEP.

slixmpp's plugins are used where they are sound; 1.12's of XEP-0202 fails at every request, and
that of XEP-0050 keeps sessions without bound and for whoever names their id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.base import MatcherBase

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from slixmpp import ClientXMPP
    from slixmpp.stanza import Iq

Answer = Callable[["Element"], "Element"]
"""Takes the payload of a request and gives that of the result; must not raise."""


def answer_with(client: ClientXMPP, kind: str, tag: str, answer: Answer) -> None:
    """Requests of this kind (`get`, `set`) for this tag (`{namespace}name`)."""

    def handle(iq: Iq) -> None:
        reply = iq.reply()
        reply.xml.append(answer(iq.xml[0]))
        reply.send()

    hear(client, kind, tag, handle)


def hear(client: ClientXMPP, kind: str, tag: str, handle: Callable[[Iq], None]) -> None:
    """As `answer_with`, for who answers later."""
    client.register_handler(Callback(f"{kind} {tag}", _Asked((kind, tag)), handle))


class _Asked(MatcherBase):
    def match(self, stanza: Iq) -> bool:
        xml, (kind, tag) = stanza.xml, self._criteria
        is_asked = xml.tag == "{jabber:client}iq" and xml.get("type") == kind
        return bool(is_asked and len(xml) == 1 and xml[0].tag == tag)
